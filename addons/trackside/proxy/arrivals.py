"""Requests as the diff takes them, from mitmproxy's flows."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass

from mitmproxy import http

from trackside.ledger.request import read_asked
from trackside.prefix.arrival import Arrival
from trackside.prefix.dialects import Dialect, recognise_path
from trackside.prefix.hints import read_hints
from trackside.prefix.spans import BodyError
from trackside.proxy.engine import upstream_of
from trackside.wire import dialect_of

OTHER = "other"
"""The dialect of a turn that nobody here reads."""
INFLATED_LIMIT_BYTES = 256 << 20
"""Most that a compressed body may grow to: beyond any real request."""

_CREDENTIALS = ("authorization", "x-api-key", "api-key")
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


def dialect_of_turn(flow: http.HTTPFlow) -> Dialect | None:
    """Return the dialect of a request to an engine; None for every other request."""
    if flow.request.method != "POST" or flow.request.raw_content is None:
        return None
    return recognise_path(flow.request.path)


def api_of_turn(flow: http.HTTPFlow) -> str | None:
    """Return the name of a turn's dialect, also of one whose prompts are not diffed.

    On a path that is not known, what asks for a stream is a turn, too.
    """
    if dialect := dialect_of_turn(flow):
        return dialect.name
    if flow.request.method != "POST" or flow.request.raw_content is None:
        return None
    known = dialect_of(flow.request.path)
    return known or (
        OTHER if read_asked(flow.request.raw_content, "").streamed else None
    )


def is_encoded(flow: http.HTTPFlow) -> bool:
    """Return whether the body is compressed, so that reading it takes a while."""
    return _encoding(flow) not in ("", "identity")


def arrival_of(flow: http.HTTPFlow, dialect: Dialect) -> Arrival:
    """Return a flow's request as it came in.

    Raises:
        BodyError: a body that is compressed in a way not read here.
    """
    headers = {name.lower(): value for name, value in flow.request.headers.items()}
    return Arrival(
        flow=flow.id,
        raw=_inflate(flow.request.raw_content or b"", _encoding(flow)),
        dialect=dialect,
        key=f"{upstream_of(flow)} {dialect.name} {_caller(headers)}",
        hints=read_hints(headers),
        arrived_s=flow.request.timestamp_start,
    )


def _encoding(flow: http.HTTPFlow) -> str:
    return str(flow.request.headers.get("content-encoding", "")).strip().lower()


def _caller(headers: dict[str, str]) -> str:
    """Return a digest that tells callers apart, and their credentials to nobody."""
    told = "\n".join(headers.get(name, "") for name in _CREDENTIALS)
    return hashlib.blake2b(told.encode(), digest_size=4).hexdigest()


def _inflate(raw: bytes, encoding: str) -> bytes:
    if encoding in ("", "identity"):
        return raw
    if encoding not in _WINDOW_BITS:
        raise BodyError(f"a body in {encoding}, which is not read here")
    inflater = zlib.decompressobj(_WINDOW_BITS[encoding])
    try:
        content = inflater.decompress(raw, INFLATED_LIMIT_BYTES)
    except zlib.error as error:
        raise BodyError(f"a body said to be {encoding}, but it is not") from error
    if inflater.unconsumed_tail:
        raise BodyError(
            f"a {encoding} body that grows beyond {INFLATED_LIMIT_BYTES >> 20} MiB"
        )
    if not inflater.eof:
        raise BodyError(f"a {encoding} body that is truncated")
    return content


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended, as far as the flow tells."""

    ended_s: float  # Unix time
    has_failed: bool  # no whole answer came
    is_abandoned: bool  # the client left before the first token
    has_reasoned: bool | None  # None if nothing tells
    prompt_tokens: int | None  # None if nothing tells
    response_id: str = ""  # "" if nothing tells
