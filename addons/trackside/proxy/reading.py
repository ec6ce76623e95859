"""How the responses of a turn are read, by the dialect it speaks."""

from __future__ import annotations

from mitmproxy import http

from trackside.proxy.tap import is_event_stream
from trackside.wire import DIALECTS
from trackside.wire.chat import Reader, read_body
from trackside.wire.pieces import Piece


def reader_for(api: str, response: http.Response) -> type[Reader] | None:
    """Return what reads this response piece by piece; None if it can't be read so."""
    return DIALECTS.get(api) if is_event_stream(response) else None


def pieces_of(api: str, response: http.Response, body: bytes) -> list[Piece]:
    """Return what a whole response says; nothing if its dialect is not read."""
    if reader := reader_for(api, response):
        stream = reader()
        messages = [*stream.feed(body), *stream.flush()]
        return [piece for message in messages for piece in message.pieces]
    return read_body(body) if DIALECTS.get(api) is Reader else []
