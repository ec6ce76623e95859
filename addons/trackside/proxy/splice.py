"""Continue one client's response with another upstream request, inside the proxy core.

No public hook can stop an engine and keep its client: the layers can. A stream
callable that sets `handoff` is asked for flows to go on with; each is an ordinary
flow (with every hook, seen by every addon) whose response data is sent to the client
that is already waiting. These are mitmproxy's internals: `mitmproxy>=12.3,<13`, and
tests/proxy/test_splice.py fails loudly where they move.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from typing import Any, cast

from mitmproxy import ctx, flow
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import DropStream, HttpLayer, HttpStream, SendHttp
from mitmproxy.proxy.layers.http._base import HttpEvent, ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._hooks import HttpErrorHook

from trackside.proxy.handoff import Handoff
from trackside.proxy.stopping import stop

logger = logging.getLogger(__name__)

type Commands = Generator[commands.Command, Any, None]


def install(nextlayer: layer.NextLayer) -> None:
    """Let every HTTP layer below this decision make streams that can be spliced."""
    chooser = cast(Any, ctx.master.addons.get("nextlayer"))
    chooser.next_layer(nextlayer)
    below: layer.Layer | None = nextlayer.layer
    while below is not None:
        if type(below) is HttpLayer:
            below.__class__ = SplicingHttpLayer
            cast(SplicingHttpLayer, below).continued = {}
        below = getattr(below, "child_layer", None)


class SplicingHttpLayer(HttpLayer):
    """An HTTP layer whose streams may be continued by streams of their own."""

    continued: dict[int, SplicingStream]
    """Stream ids reserved for continuations, and whose they are."""
    last_id: int = 0

    def reserve(self, parent: SplicingStream) -> int:
        """Return a stream id for a continuation, never one twice.

        Negative, as no peer numbers so; HTTP/2 upstreams remember every id.
        """
        self.last_id -= 1
        self.continued[self.last_id] = parent
        return self.last_id

    def make_stream(self, stream_id: int) -> Commands:
        """See `HttpLayer.make_stream`."""
        context = self.context.fork()
        parent = self.continued.pop(stream_id, None)
        self.streams[stream_id] = (
            SplicingStream(context, stream_id)
            if parent is None
            else ContinuationStream(context, stream_id, parent)
        )
        yield from self.event_to_child(self.streams[stream_id], events.Start())


class SplicingStream(HttpStream):
    """The client's stream: after a handoff it takes its data from a continuation."""

    handoff: Handoff | None = None
    continuation_id: int | None = None
    accepted: bool = False
    """The continuation's answer is of use, and some of it may have been sent."""
    completing: bool = False
    """The `response` hook has begun: no `error` hook may follow it."""

    def start_response_stream(self) -> Commands:
        """Begin; a client that waits for a whole body gets its headers with it."""
        if self.gathers:
            self.server_state = self.state_stream_response_body
        else:
            yield from super().start_response_stream()

    def state_stream_response_body(self, event: events.Event) -> Commands:
        """Stream as ever; after each piece of data see if a handoff is wanted."""
        if self.gathers and isinstance(event, ResponseEndOfMessage):
            yield from self.send_gathered()
            return
        yield from super().state_stream_response_body(event)
        if isinstance(event, ResponseData) and self.flow.response:
            handoff = getattr(self.flow.response.stream, "handoff", None)
            if handoff is not None:
                self.handoff = handoff
                self.server_state = self.state_spliced
                yield from stop(self.flow)
                cancel = RequestProtocolError(
                    self.stream_id, "handed off", ErrorCode.CANCEL
                )
                yield SendHttp(cancel, self.context.server)
                yield from self.attempt()

    def state_spliced(self, _: events.Event) -> Commands:
        """Ignore what phase 1's engine still says."""
        yield from ()

    def state_done(self, event: events.Event) -> Commands:
        """Expect nothing more, but for what came while phase 1's engine was told."""
        if self.handoff is None:
            yield from super().state_done(event)

    def attempt(self) -> Commands:
        """Send the next request that could continue this response, if there is one."""
        assert self.handoff
        self.accepted = False
        try:
            attempt = self.handoff.next_flow()
        except Exception:
            logger.exception("splice: no continuation could be made, ending the turn")
            attempt = None
        if attempt is None:
            yield from self.complete("no continuation was accepted")
            return
        layers = self.context.layers
        parent = cast(SplicingHttpLayer, layers[layers.index(self) - 1])
        self.continuation_id = child = parent.reserve(self)
        yield ReceiveHttp(
            RequestHeaders(child, attempt.request, False, replay_flow=attempt)
        )
        yield ReceiveHttp(RequestData(child, attempt.request.raw_content or b""))
        yield ReceiveHttp(RequestEndOfMessage(child))

    def take(self, child: ContinuationStream, event: HttpEvent) -> Commands:
        """Take what a continuation would have sent to its client."""
        if child.stream_id != self.continuation_id:
            return
        tap = child.flow.response.stream if child.flow.response else None
        if isinstance(event, ResponseHeaders):
            self.accepted = bool(tap)
        elif isinstance(event, ResponseData) and self.accepted:
            yield from self.send(event.data)
        elif isinstance(event, ResponseEndOfMessage | ResponseProtocolError):
            if not self.accepted or getattr(tap, "refused", False):
                yield from self.attempt()
            elif isinstance(event, ResponseProtocolError):
                yield from self.complete(event.message)
            else:
                yield from self.complete(None)

    def go_on(self, child: ContinuationStream) -> Commands:
        """Give up a continuation that asks for another."""
        tap = child.flow.response.stream if child.flow.response else None
        if child.stream_id != self.continuation_id or not getattr(tap, "handoff", None):
            return
        self.continuation_id = None
        cancel = RequestProtocolError(child.stream_id, "handed off", ErrorCode.CANCEL)
        yield ReceiveHttp(cancel)
        yield from self.attempt()

    def send(self, data: bytes) -> Commands:
        """Send data to the client; nothing at all for nothing (it would end a body)."""
        assert self.handoff
        if data:
            self.handoff.sent(data)
        if data and not self.gathers:
            yield SendHttp(ResponseData(self.stream_id, data), self.context.client)

    def complete(self, error: str | None) -> Commands:
        """End the client's response well."""
        assert self.handoff
        self.continuation_id, self.completing = None, True
        try:
            closing = self.handoff.end(error)
        except Exception:
            logger.exception("splice: the response could not be closed in form")
            closing = b""
        yield from self.send(closing)
        if self.gathers:
            yield from self.send_gathered()
        else:
            yield from self.send_response(already_streamed=True)

    @property
    def gathers(self) -> bool:
        """The stream is not for the client, who gets one body made of it."""
        stream = self.flow.response and self.flow.response.stream
        return bool(getattr(stream, "gathers", False))

    def send_gathered(self) -> Commands:
        """Send the response that the stream callable made of the stream."""
        assert self.flow.response
        self.completing = True
        cast(Any, self.flow.response.stream).put_whole(self.flow.response)
        yield from self.send_response()

    def handle_protocol_error(
        self, event: RequestProtocolError | ResponseProtocolError
    ) -> Commands:
        """Pass a leaving client on to the continuation; phase 1's engine is done."""
        if self.handoff is None:
            if isinstance(event, RequestProtocolError):
                yield from stop(self.flow)
            yield from super().handle_protocol_error(event)
        elif isinstance(event, RequestProtocolError):
            child, self.continuation_id = self.continuation_id, None
            if child is not None:
                yield ReceiveHttp(
                    RequestProtocolError(child, event.message, event.code)
                )
            if not self.completing:
                self.flow.error = flow.Error(event.message)
                yield HttpErrorHook(self.flow)
            self.client_state = self.server_state = self.state_errored
            self.flow.live = False
            yield DropStream(self.stream_id)


class ContinuationStream(HttpStream):
    """An ordinary stream whose client is another stream's client."""

    def __init__(
        self, context: Context, stream_id: int, parent: SplicingStream
    ) -> None:
        super().__init__(context, stream_id)
        self.parent = parent

    def handle_protocol_error(
        self, event: RequestProtocolError | ResponseProtocolError
    ) -> Commands:
        """Stop the engine when the client, or the guard, does not want more."""
        if isinstance(event, RequestProtocolError):
            yield from stop(self.flow)
        yield from super().handle_protocol_error(event)

    def _handle_event(self, event: events.Event) -> Commands:
        inner = super()._handle_event(event)
        reply: Any = None
        while True:
            try:
                command = inner.send(reply)
            except StopIteration:
                break
            if (
                isinstance(command, SendHttp)
                and command.connection is self.context.client
            ):
                reply = None
                yield from self.parent.take(self, command.event)
            else:
                reply = yield command
        if isinstance(event, ResponseData):
            yield from self.parent.go_on(self)
