"""What acting needs of each dialect: how its streams go on, and what it is as chat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from trackside.handoff import translate_messages, translate_responses
from trackside.handoff.body import Members
from trackside.handoff.phases import Phase1
from trackside.handoff.rewrite import Rewriter
from trackside.handoff.strategy import Engine
from trackside.handoff.usage import Counts
from trackside.handoff.whole import Whole, WholeMessage, WholeResponse
from trackside.handoff.whole_chat import WholeChat
from trackside.handoff.whole_ollama import WholeGenerated, WholeLines
from trackside.handoff.whole_text import WholeNative, WholeText
from trackside.handoff.write_messages import Messages
from trackside.handoff.write_ollama import Generated, Lines
from trackside.handoff.write_responses import Responses
from trackside.handoff.write_text import Native, Text
from trackside.handoff.writing import Form, Writing
from trackside.wire.request import Request
from trackside.wire.stream import Message


class Writer(Protocol):
    """Turns phase 2's messages into the rest of phase 1's response."""

    counts: Counts
    """Phase 2's own."""
    said: bool
    """Some text or tool call of phase 2 went to the client."""
    error: str | None
    finish_reason: str | None

    @property
    def merged(self) -> Counts:
        """The counts of both phases."""
        ...

    @property
    def refused(self) -> bool:
        """The engine answered with nothing but an error: another way may work."""
        ...

    def edit(self, message: Message) -> bytes:
        """Return the bytes that stand for one message of phase 2."""
        ...

    def end(self, error: str | None = None) -> bytes:
        """Return what the client's response lacks; `error` says why it is cut."""
        ...


FORMS: Mapping[str, type[Form]] = {
    "messages": Messages,
    "responses": Responses,
    "completions": Text,
    "llama_completion": Native,
    "ollama_chat": Lines,
    "ollama_generate": Generated,
}
"""How a client's stream goes on, where phase 2 speaks another dialect."""

ACTS_ON = ("chat", *FORMS)

TO_CHAT: Mapping[str, Callable[[Members, Engine], Members]] = {
    "messages": translate_messages.to_chat,
    "responses": translate_responses.to_chat,
}
"""The chat request that asks for the same, where phase 2 goes by chat."""


WHOLES: Mapping[tuple[Engine, str], Callable[[], Whole]] = {
    ("llama.cpp", "chat"): WholeChat,
    ("llama.cpp", "messages"): WholeMessage,
    ("llama.cpp", "responses"): WholeResponse,
    ("llama.cpp", "completions"): WholeText,
    ("llama.cpp", "llama_completion"): WholeNative,
    ("ollama", "ollama_chat"): WholeLines,
    ("ollama", "ollama_generate"): WholeGenerated,
}
"""What makes one body of a stream, by engine and dialect; others are not streamed."""

_ONLY_WHOLE = (b'"return_tokens"', b'"response_fields"')
"""Members of llama.cpp's requests that make a whole answer differ from a stream."""

SHORT_TOKENS = 32
"""An answer below this can't run away, and may end before its stream says anything."""


def whole_for(engine: Engine | None, request: Request, body: bytes) -> Whole | None:
    """Return what makes the body that a request wants; None where it can't be exact.

    llama.cpp repeats a prefilled message only in whole answers, and a stream lacks text
    that might have become a stop word when the limit came.

    Parameters:
        engine: None if it is not known.
    """
    make = WHOLES.get((engine, request.dialect)) if engine else None
    limit = request.max_tokens
    if make is None or request.logprobs or (limit and limit < SHORT_TOKENS):
        return None
    if engine == "llama.cpp":
        is_prefilled = request.last_role == "assistant"
        differs = any(name in body for name in _ONLY_WHOLE)
        if is_prefilled or request.stop_words or differs:
            return None
    if request.dialect == "ollama_chat":
        return WholeLines(has_tools=request.has_tools)
    return make()


def writer(phase1: Phase1, form: Form | None, engine: Engine) -> Writer:
    """Return what writes phase 2; chat, without a form, is edited in place."""
    if isinstance(form, Messages):
        form.engine = engine
    return Writing(phase1, form) if form else Rewriter(phase1)
