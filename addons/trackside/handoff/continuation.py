"""Continue the assistant's own message: the reasoning closed, the answer open.

Sources: llama.cpp tools/server (continue_final_message, 2026-10), vLLM 0.33
chat_completion/protocol.py, SGLang 0.5.23 serving_chat.py, oMLX api/utils.py,
DeepSeek prefix completion. What each was seen to do with it stands in the README.
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

PATH = "/v1/chat/completions"

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


def _sglang(kept: str) -> Form:
    # The generation prompt is rendered and these bytes are put behind it; templates
    # that open the block there are the rule among those a parser is needed for.
    content = f"{kept}{THINK[1]}"
    return {"role": "assistant", "content": content}, {"continue_final_message": True}


def _omlx(kept: str) -> Form:
    message = {"role": "assistant", "reasoning_content": kept, "content": ""}
    return {**message, "partial": True}, {}


def _prefill(kept: str) -> Form:
    content = f"{THINK[0]}{kept}{THINK[1]}"
    return {"role": "assistant", "content": content}, dict(_OPEN)


def _ollama(kept: str) -> Form:
    # Its parsers take what follows for an answer only behind content that is not empty.
    return {"role": "assistant", "reasoning": kept, "content": " "}, {}


def _by_ollama(turn: Turn) -> Call:
    message = {"role": "assistant", "thinking": turn.kept, "content": " "}
    members = limited(turn.members, turn.spent_tokens)
    members["messages"] = appended(members["messages"], message)
    return Call("/api/chat", join(members), reads="ollama_chat")


FORMS: dict[Engine, Callable[[str], Form]] = {
    "llama.cpp": _llama_cpp,
    "vllm": _vllm,
    "sglang": _sglang,
    "omlx": _omlx,
    "ollama": _ollama,
    "openai": _prefill,
}


class Continuation:
    """The engine's message continuation; keeps tools and reasoning parsing."""

    def fits(self, turn: Turn) -> bool:
        """See `Strategy.fits`."""
        if turn.dialect == "ollama_chat":
            return "messages" in turn.members
        speaks_chat = turn.dialect == "chat" and turn.engine in FORMS
        return speaks_chat and "messages" in turn.members

    def calls(self, turn: Turn) -> Calls:
        """See `Strategy.calls`."""
        if turn.dialect == "ollama_chat":
            return _by_ollama(turn)
        message, extra = FORMS[turn.engine](turn.kept)
        members = streamed(limited(turn.members, turn.spent_tokens))
        members["messages"] = appended(members["messages"], message)
        members |= {key: msgspec.json.encode(value) for key, value in extra.items()}
        return Call(PATH, join(members))
        yield  # a generator that makes no helper call
