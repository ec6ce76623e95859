"""How the requests and responses of a flow are read, by the dialect it speaks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

from mitmproxy.http import HTTPFlow, Response

from trackside.handoff import body
from trackside.handoff.dialects import ACTS_ON, TO_CHAT
from trackside.handoff.strategy import Engine, Turn
from trackside.proxy.asking import client_request
from trackside.proxy.tap import streams
from trackside.wire import DIALECTS, dialect_of, unread
from trackside.wire.errors import WireError
from trackside.wire.pieces import Piece
from trackside.wire.request import Request
from trackside.wire.stream import Reader

_UNREAD: dict[str, Callable[[], Reader]] = {
    "sse": unread.Events,
    "ndjson": unread.Lines,
}

logger = logging.getLogger(__name__)


def read_request(flow: HTTPFlow) -> tuple[str, Request | None]:
    """Return a turn's dialect and facts; None for anything the guard can't act on."""
    dialect = dialect_of(flow.request.path) or ""
    return dialect, client_request(flow) if dialect in ACTS_ON else None


def reader_for(api: str, response: Response) -> Callable[[], Reader] | None:
    """Return what reads this response piece by piece; None if it can't be read so."""
    dialect = DIALECTS.get(api)
    if dialect:
        return dialect.reader if streams(response, dialect.framing) else None
    return next((r for kind, r in _UNREAD.items() if streams(response, kind)), None)


def pieces_of(api: str, response: Response, body: bytes) -> list[Piece]:
    """Return what a whole response says; nothing if its dialect is not read."""
    if reader := reader_for(api, response):
        stream = reader()
        messages = [*stream.feed(body), *stream.flush()]
        return [piece for message in messages for piece in message.pieces]
    dialect = DIALECTS.get(api)
    return dialect.read_body(body) if dialect else []


def new_reader(flow: HTTPFlow) -> Reader:
    """Return a reader for the response to a request that `read_request` knows."""
    return DIALECTS[dialect_of(flow.request.path) or "chat"].reader()


def read_response(flow: HTTPFlow) -> Iterator[Sequence[Piece]]:
    """Yield what a response that is all there says, streamed or not."""
    assert flow.response
    content = flow.response.raw_content or b""
    if flow.response.headers.get("content-type", "").startswith("application/json"):
        dialect = DIALECTS[dialect_of(flow.request.path) or "chat"]
        # one by one: what follows a trip must not undo it
        yield from ((piece,) for piece in dialect.read_body(content))
        return
    reader = new_reader(flow)
    for message in (*reader.feed(content), *reader.flush()):
        yield message.pieces


def turn_of(dialect: str, content: bytes, request: Request, engine: Engine) -> Turn:
    """Return phase 1 as strategies see it, without what came of it."""
    try:
        members = body.split(content)
        if dialect in TO_CHAT:
            members, dialect = TO_CHAT[dialect](members, engine), "chat"
    except WireError as error:
        logger.info("guard: can't be continued: %s", error)
        members = {}
    return Turn(
        dialect=dialect,
        engine=engine,
        members=members,
        kept="",
        spent_tokens=0,
        has_tools=request.has_tools,
    )
