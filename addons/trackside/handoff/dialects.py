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
from trackside.handoff.whole import Whole, WholeChat, WholeMessage, WholeResponse
from trackside.handoff.write_messages import Messages
from trackside.handoff.write_ollama import Generated, Lines
from trackside.handoff.write_responses import Responses
from trackside.handoff.write_text import Native, Text
from trackside.handoff.writing import Form, Writing
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


WHOLES: Mapping[tuple[Engine, str], type[Whole]] = {
    ("llama.cpp", "chat"): WholeChat,
    ("llama.cpp", "messages"): WholeMessage,
    ("llama.cpp", "responses"): WholeResponse,
}
"""What makes one body of a stream, by engine and dialect; others are not streamed."""


def writer(phase1: Phase1, form: Form | None) -> Writer:
    """Return what writes phase 2; chat, without a form, is edited in place."""
    return Writing(phase1, form) if form else Rewriter(phase1)
