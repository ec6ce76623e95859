"""The one stream callable of a response: decodes once, shows it to every observer."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from mitmproxy import http

from trackside.handoff.whole import Whole, failed
from trackside.proxy.handoff import Handoff
from trackside.proxy.pace import Pace
from trackside.wire.stream import Message, Reader

logger = logging.getLogger(__name__)

KEEP_BYTES = 64 << 20
"""Most of a response that is kept for the saved flow; far above any real answer."""


class Observer(Protocol):
    """One addon's view of a response."""

    def see(self, messages: Sequence[Message], at_s: float) -> None:
        """Take complete messages; `at_s` is monotonic, of the chunk that ended them."""
        ...


class Tap:
    """Forwards a response's bytes and shows its messages to observers.

    O(new bytes) a chunk. Never raises and never returns an empty chunk: mitmproxy
    loses the data of the one and ends a chunked body at the other.

    Parameters:
        reader: cuts bytes into messages; None for a stream nobody can read.
        edit: what to forward for a message; None forwards the bytes received, at once.
        whole: makes one body of what would be forwarded; None forwards it.
    """

    def __init__(
        self,
        reader: Reader | None,
        edit: Callable[[Message], bytes] | None = None,
        whole: Whole | None = None,
    ) -> None:
        self.reader = reader
        self.edit = edit
        self.whole = whole
        self.observers: list[Observer] = []
        self.handoff: Handoff | None = None
        self.stop: Callable[[], Awaitable[None]] | None = None
        """Tells the engine to stop, before its connection is closed. See `splice`."""
        self.refused = False
        self.seen_bytes = 0
        self.first_byte_s: float | None = None
        """Monotonic time."""
        self.pace = Pace()
        """When how much of `body` went to the client."""
        self._pending = b""
        self._broken = False
        self._kept: list[bytes] = []
        self._kept_bytes = 0

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Return what goes to the client for a chunk; b"" is the end of the body."""
        self.seen_bytes += len(chunk)
        if self.first_byte_s is None and chunk:
            self.first_byte_s = time.monotonic()
        if self._broken or self.reader is None:
            return self.keep(chunk)
        pending = self._pending + chunk
        try:
            out = self._observe(chunk, self.reader)
        except Exception:  # raised from here it would lose the chunk: fail open
            self._broken = True
            logger.exception("tap: unreadable, passing the response through")
            out = pending if self.edit else chunk
        return self.keep(out)

    def _observe(self, chunk: bytes, reader: Reader) -> bytes:
        messages = reader.feed(chunk) if chunk else reader.flush()
        if messages:
            at_s = time.monotonic()
            for observer in tuple(self.observers):
                try:
                    observer.see(messages, at_s)
                except Exception:
                    self.observers.remove(observer)
                    logger.exception("tap: an observer failed and is left out")
        if self.edit is None:
            # What follows the last whole message must not reach the client any more
            # once something else goes on with its stream.
            held = reader.held if self.handoff else 0
            return chunk[: len(chunk) - held] if held else chunk
        whole = sum(len(message.raw) for message in messages)
        pending = self._pending + chunk
        self._pending = pending[whole:]
        out = b"".join(map(self.edit, messages))
        if not chunk:  # what an edit holds back for what may follow, then half events
            out += self.edit(Message(b"", ())) + self._pending
            self._pending = b""
        return out

    def keep(self, data: bytes) -> list[bytes]:
        """Note data that goes to the client; return it as mitmproxy wants it."""
        if not data:
            return []
        if self.whole:
            try:
                self.whole.add(data)
            except Exception:  # a chunk less is better than a stream that hangs
                logger.exception("tap: a part of a body could not be read")
            return []
        if self._kept_bytes < KEEP_BYTES:
            self._kept.append(data)
            self._kept_bytes += len(data)
            self.pace.add(time.monotonic(), len(data))
        return [data]

    @property
    def gathers(self) -> bool:
        """Nothing is forwarded: `put_whole` makes a body of it. See `splice`."""
        return self.whole is not None

    def put_whole(self, response: http.Response) -> None:
        """Make a response that was streamed the one that the client asked for."""
        assert self.whole
        if self.handoff is None:
            self(b"")
        for name in ("transfer-encoding", "x-accel-buffering", "cache-control"):
            response.headers.pop(name, None)
        try:
            status, content = self.whole.body()
        except Exception:
            logger.exception("tap: no body could be made of a stream")
            status, content = failed({"message": "no body could be made of a stream"})
        response.status_code, response.raw_content = status, content
        response.headers["content-type"] = self.whole.media_type
        response.headers["content-length"] = str(len(content))

    @property
    def body(self) -> bytes:
        """What the client was sent so far (up to `KEEP_BYTES`)."""
        return b"".join(self._kept)


def tap_of(flow: http.HTTPFlow) -> Tap | None:
    """Return the tap that observes this flow's response."""
    stream = flow.response.stream if flow.response else None
    return stream if isinstance(stream, Tap) else None


def read_by(flow: http.HTTPFlow, reader: Callable[[], Reader]) -> Tap:
    """Return the flow's tap, made if need be, with its stream read as `reader` does.

    Call it from `responseheaders`. An addon that only wants the stream unbuffered may
    have come first, with a tap that reads nothing.
    """
    assert flow.response
    tap = tap_of(flow) or Tap(None)
    if tap.reader is None:
        tap.reader = reader()
    flow.response.stream = tap
    return tap


def keep_body(flow: http.HTTPFlow) -> None:
    """Put what the client got into the flow: streamed bodies are not stored."""
    tap = tap_of(flow)
    if tap and flow.response and tap.seen_bytes and not tap.gathers:
        flow.response.raw_content = tap.body


KINDS = {"sse": "text/event-stream", "ndjson": "application/x-ndjson"}
"""The media type of each framing."""


def streams(response: http.Response, framing: str) -> bool:
    """Tell a stream that answers a request, in this framing."""
    kind = response.headers.get("content-type", "")
    return response.status_code == 200 and kind.startswith(KINDS[framing])


def unbound(response: http.Response) -> None:
    """Let a response become longer or shorter than its engine announced."""
    announced = response.headers.pop("content-length", None)
    if announced is not None and response.http_version == "HTTP/1.1":
        response.headers["transfer-encoding"] = "chunked"


def stream_unbounded(flow: http.HTTPFlow) -> None:
    """Have every response of unknown length streamed: mitmproxy would buffer it."""
    response = flow.response
    if response is None or not flow.live or response.stream:
        return
    if "content-length" not in response.headers and response.status_code != 101:
        response.stream = Tap(None)
