"""llama.cpp's own way: tell the running stream to close its reasoning.

No abort and no second prefill, but the loop stays in the context the answer is
written from. The request must have been armed for it.
Source: llama.cpp tools/server, PR 23971 (June 2026).
"""

import msgspec

from trackside.handoff.strategy import Call
from trackside.wire.edit import JSON

PATH = "/v1/chat/completions/control"


def arming(closing: str) -> dict[str, JSON]:
    """Return the members that let a request be told later, with the last words of
    the reasoning.
    """
    return {"reasoning_control": True, "reasoning_budget_message": closing}


def call(completion_id: str) -> Call:
    """Return the call that ends the reasoning of a running completion."""
    body = {"id": completion_id, "action": "reasoning_end"}
    return Call(PATH, msgspec.json.encode(body))


class _Answer(msgspec.Struct):
    success: bool
    message: str | None = None


def refusal(answer: bytes) -> str | None:
    """Return why the engine did not do it, or None if it did.

    The status is 200 either way: only the body tells.

    Example:
        >>> refusal(b'{"success":true}')
        >>> refusal(b'{"success":false,"message":"no active completion for this id"}')
        'no active completion for this id'
    """
    try:
        told = msgspec.json.decode(answer, type=_Answer)
    except msgspec.DecodeError:
        return f"wanted a JSON object with `success`, got {answer[:60]!r}"
    return None if told.success else told.message or "refused without a reason"
