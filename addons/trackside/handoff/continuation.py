"""Continue the assistant's own message: the reasoning closed, the answer open.

Sources: llama.cpp tools/server (continue_final_message, 2026-10), vLLM 0.33
chat_completion/protocol.py, SGLang 0.5.23 serving_chat.py, oMLX api/utils.py,
DeepSeek's chat prefix completion (its API reference: `prefix`, `reasoning_content`).
What each was seen to do with it stands in the README.
"""

from collections.abc import Callable

import msgspec

from trackside.handoff.body import appended, join
from trackside.handoff.strategy import (
    THINK,
    Call,
    Calls,
    Engine,
    Turn,
    limited,
    streamed,
)
from trackside.handoff.text import closed_block
from trackside.handoff.tokenised import tail_in_sglang
from trackside.loops.tokens import count
from trackside.wire.errors import WireError

PATH = "/v1/chat/completions"
DEEPSEEK_PATH = "/beta/chat/completions"
"""Where DeepSeek's API continues a message, whatever base URL its client uses."""

LEAST_TELLING_TOKENS = 64
"""Less reasoning than this could not be told from the tags around it."""

type Form = tuple[dict[str, object], dict[str, object]]
"""The assistant message to append, and the request members that go with it."""

_OPEN = {"continue_final_message": True, "add_generation_prompt": False}


def _llama_cpp(kept: str) -> Form:
    # `true` with an empty content would go on inside the reasoning.
    message: dict[str, object] = {
        "role": "assistant",
        "reasoning_content": kept,
        "content": "",
    }
    return message, {**_OPEN, "continue_final_message": "content"}


def _vllm(kept: str) -> Form:
    return {"role": "assistant", "reasoning": kept, "content": ""}, dict(_OPEN)


def _deepseek(kept: str) -> Form:
    message = {"role": "assistant", "reasoning_content": kept, "content": ""}
    return {**message, "prefix": True}, {}


def _omlx(kept: str) -> Form:
    message = {"role": "assistant", "reasoning_content": kept, "content": ""}
    return {**message, "partial": True}, {}


def _prefill(kept: str) -> Form:
    content = closed_block("", kept)
    return {"role": "assistant", "content": content}, dict(_OPEN)


def _ollama(kept: str) -> Form:
    # Its parsers take what follows for an answer only behind content that is not empty.
    return {"role": "assistant", "reasoning": kept, "content": " "}, {}


def _by_sglang(turn: Turn) -> Calls:
    """Put the closed block, byte for byte, behind the generation prompt."""
    try:
        tail = yield from tail_in_sglang(turn.members)
    except (WireError, OSError):  # older: most templates that reason open the block
        tail = THINK[0]
    content = closed_block(tail, turn.kept)
    message: dict[str, object] = {"role": "assistant", "content": content}
    return _call(turn, (message, {"continue_final_message": True}))


def _call(turn: Turn, form: Form) -> Call:
    message, extra = form
    is_vllm = turn.engine == "vllm"
    members = limited(turn.members, turn.spent_tokens)
    members = streamed(members, running_usage=is_vllm)
    members["messages"] = appended(members["messages"], message)
    members |= {key: msgspec.json.encode(value) for key, value in extra.items()}
    return Call(
        DEEPSEEK_PATH if turn.engine == "deepseek" else PATH,
        join(members),
        least_prompt_tokens=_least_prompt_tokens(turn) if is_vllm else 0,
        # A build that does not heed `partial` opens a new turn, and thinks.
        may_reason=turn.engine != "omlx",
    )


def _least_prompt_tokens(turn: Turn) -> int:
    """Return what a prompt has at least if its template kept the reasoning."""
    kept_tokens = count(turn.kept)
    if turn.prompt_tokens is None or kept_tokens < LEAST_TELLING_TOKENS:
        return 0
    return turn.prompt_tokens + kept_tokens // 4  # by another vocabulary than ours


def _by_ollama(turn: Turn) -> Call:
    message = {"role": "assistant", "thinking": turn.kept, "content": " "}
    members = limited(turn.members, turn.spent_tokens)
    members["messages"] = appended(members["messages"], message)
    return Call("/api/chat", join(members), reads="ollama_chat")


FORMS: dict[Engine, Callable[[str], Form]] = {
    "llama.cpp": _llama_cpp,
    "vllm": _vllm,
    "omlx": _omlx,
    "ollama": _ollama,
    "deepseek": _deepseek,
    "openai": _prefill,
}


class Continuation:
    """The engine's message continuation; keeps tools and reasoning parsing."""

    def fits(self, turn: Turn) -> bool:
        """See `Strategy.fits`."""
        if turn.dialect == "ollama_chat":
            return "messages" in turn.members
        is_chat = turn.dialect == "chat" and "messages" in turn.members
        return is_chat and (turn.engine in FORMS or turn.engine == "sglang")

    def calls(self, turn: Turn) -> Calls:
        """See `Strategy.calls`."""
        if turn.dialect == "ollama_chat":
            return _by_ollama(turn)
        if turn.engine == "sglang":
            return (yield from _by_sglang(turn))
        return _call(turn, FORMS[turn.engine](turn.kept))
