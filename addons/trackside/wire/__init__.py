"""Bytes from an engine, cut into events and read as pieces."""

from collections.abc import Callable
from typing import Literal

import msgspec

from trackside.wire import chat, completions, messages, ollama, responses
from trackside.wire.pieces import Piece
from trackside.wire.request import Request, parse
from trackside.wire.stream import Message, Reader

__all__ = ["DIALECTS", "Dialect", "Message", "Reader", "Request", "dialect_of", "parse"]


class Dialect(msgspec.Struct, frozen=True):
    """How the responses of one dialect are read."""

    reader: Callable[[], Reader]  # makes a reader of streams
    read_body: Callable[[bytes], list[Piece]]  # reads what was not streamed
    framing: Literal["sse", "ndjson"]


DIALECTS: dict[str, Dialect] = {
    "chat": Dialect(chat.Reader, chat.read_body, "sse"),
    "responses": Dialect(responses.Reader, responses.read_body, "sse"),
    "messages": Dialect(messages.Reader, messages.read_body, "sse"),
    "completions": Dialect(completions.Reader, completions.read_body, "sse"),
    "llama_completion": Dialect(completions.Reader, completions.read_body, "sse"),
    "ollama_chat": Dialect(ollama.Reader, ollama.read_body, "ndjson"),
    "ollama_generate": Dialect(ollama.Reader, ollama.read_body, "ndjson"),
}

_ROUTES: dict[str, str] = {  # the first that fits
    "/chat/completions": "chat",
    "/completions": "completions",
    "/completion": "llama_completion",
    "/responses": "responses",
    "/v1/messages": "messages",
    "/api/chat": "ollama_chat",
    "/api/generate": "ollama_generate",
}


def dialect_of(path: str) -> str | None:
    """Return the dialect spoken at `path`, a request target, or None if unknown.

    Whatever stands before the route is a matter of the deployment, and ignored.

    Example:
        >>> dialect_of("/api/v0/chat/completions?api-version=1"), dialect_of("/props")
        ('chat', None)
    """
    route = path.partition("?")[0].rstrip("/")
    for suffix, dialect in _ROUTES.items():
        if route.endswith(suffix):
            return dialect
    return None
