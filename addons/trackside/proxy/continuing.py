"""Phase 2 of a guarded turn: which request goes out, and what the client gets."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from urllib.parse import quote

import msgspec
from mitmproxy import http

from trackside.handoff.dialects import Writer
from trackside.handoff.heed import Heed
from trackside.handoff.plan import WAYS, strategy_of
from trackside.handoff.record import KEY, phase2_record
from trackside.handoff.strategy import Call, Turn
from trackside.handoff.watch import Watch
from trackside.proxy.engine import ask_for, path_for
from trackside.proxy.tap import Tap, tap_of
from trackside.wire.errors import WireError
from trackside.wire.stream import Message

logger = logging.getLogger(__name__)

SLOT_RELEASE_S = 0.06
"""llama.cpp frees the slot 7-38 ms after the close; before that phase 2 would be
given another slot, without the cache (2 of 6 runs without a pause)."""

HELPER_TIMEOUT_S = 5.0
"""The client waits in silence for a helper call; a long prompt is rendered in less."""


class Ways(msgspec.Struct, frozen=True):
    """How a turn may go on."""

    names: tuple[str, ...]  # of `plan.WAYS`, to try in order; none ends the turn
    handoffs: int  # how often they may be gone through
    cuts_content: bool  # a loop in the answer ends the turn


class Continuing:
    """A `handoff.Handoff`: tries the ways left, and closes the response in form.

    Parameters:
        turn: phase 1 as strategies see it.
        write: makes what writes phase 2 by a way, anew for each attempt.
        watch: a fresh watch over phase 2, made anew for each attempt.
        register: told of each phase-2 flow before it runs.
    """

    def __init__(
        self,
        flow: http.HTTPFlow,
        *,
        turn: Turn,
        write: Callable[[str], Writer],
        ways: Ways,
        watch: Callable[[], Watch],
        register: Callable[[http.HTTPFlow, Continuing], None],
    ) -> None:
        self.flow, self.turn, self.ways = flow, turn, ways
        self.way = "end"
        self.call = Call("", b"")  # phase 2's, once it is known
        self.error: str | None = None
        self.ttft_s: float | None = None
        self.phase2: http.HTTPFlow | None = None
        self.writer = write(self.way)
        self._write, self._watch, self._register = write, watch, register
        self._started_s = 0.0
        self._handoffs = 0
        self._untried: list[str] = []
        self.line_up()

    @property
    def strategy(self) -> str:
        """The strategy whose way is gone, in the words of `guard_strategy`."""
        return strategy_of(self.way)

    @property
    def has_others(self) -> bool:
        """There are ways left to try."""
        return bool(self._untried)

    def line_up(self) -> None:
        """Make all ways open again, as long as handoffs are left."""
        more = self._handoffs < self.ways.handoffs and not self.writer.said
        self._untried = list(self.ways.names) if more else []
        self._handoffs += 1

    def next_flow(self) -> http.HTTPFlow | None:
        """See `handoff.Handoff`: one flow per way that is left."""
        if self.phase2 and self.error is None:
            self.error = self.writer.error or _refusal(self.phase2)
        if not self._untried:
            self.way = "end"
            return None
        self.way = self._untried.pop(0)
        flow = http.HTTPFlow(self.flow.client_conn, self.flow.server_conn)
        flow.request = self.flow.request.copy()
        for name in ("x-conversation-id", "transfer-encoding"):
            flow.request.headers.pop(name, None)
        if key := flow.request.headers.get("x-api-key"):  # as Anthropic's clients say
            flow.request.headers.setdefault("authorization", f"Bearer {key}")
        flow.metadata[KEY] = phase2_record(self.flow.id)
        self.phase2, self.ttft_s = flow, None
        self.writer = self._write(self.way)
        self._register(flow, self)
        return flow

    async def prepare(self, flow: http.HTTPFlow) -> None:
        """Write phase 2's request; a response of our own says that it can't be."""
        if self.turn.engine == "llama.cpp":
            await self._release()
        try:
            self.call = await self._made()
            flow.request.path = path_for(self.flow, self.call.path)
            flow.request.content = self.call.body
        except (WireError, OSError) as error:
            flow.response = http.Response.make(502, str(error))
        except Exception as error:  # else phase 1's request would go out again
            logger.exception("guard: phase 2's request could not be written")
            flow.response = http.Response.make(502, repr(error))
        self._started_s = time.monotonic()

    async def _made(self) -> Call:
        """Make phase 2's call, and the helper calls that it takes."""
        calls = WAYS[self.way].calls(self.turn)
        try:
            call = next(calls)
            while True:
                try:
                    body = await self._ask(call)
                except (WireError, OSError) as error:
                    call = calls.throw(error)
                else:
                    call = calls.send(body)
        except StopIteration as done:
            made: Call = done.value
            return made

    async def _ask(self, call: Call) -> bytes:
        status, _, body = await ask_for(
            self.flow, call.path, body=call.body, timeout_s=HELPER_TIMEOUT_S
        )
        if status != 200:
            raise WireError(f"{call.path} answered {status}: {body[:200]!r}")
        return body

    async def _release(self) -> None:
        """See to it that llama.cpp stops phase 1 and frees its slot."""
        conversation = self.flow.request.headers.get("x-conversation-id")
        if conversation:  # with it, a generation outlives its client
            path = f"/v1/stream?conv_id={quote(conversation, safe='')}"
            try:
                await ask_for(self.flow, path, method="DELETE")
            except OSError as error:
                logger.info("guard: phase 1 could not be stopped: %s", error)
        await asyncio.sleep(SLOT_RELEASE_S)

    def observe(self, tap: Tap) -> Watch:
        """Rewrite phase 2's response, and watch it: return that watch."""
        writer, watch = self.writer, self._watch()

        def edit(message: Message) -> bytes:
            out = writer.edit(message)
            tap.refused = writer.refused
            return out

        tap.edit, tap.refused = edit, writer.refused
        tap.observers.append(_Phase2(self, tap, watch))
        return watch

    def started(self, at_s: float) -> None:
        """Note that phase 2 said its first piece."""
        if self.ttft_s is None:
            self.ttft_s = at_s - self._started_s

    def sent(self, data: bytes) -> None:
        """See `handoff.Handoff`."""
        if tap := tap_of(self.flow):
            tap.keep(data)

    def end(self, error: str | None) -> bytes:
        """See `handoff.Handoff`."""
        if self.way == "end":
            return self.writer.end()
        self.error = self.error or error
        return self.writer.end(error)


def _refusal(flow: http.HTTPFlow) -> str | None:
    """Tell why this phase 2 was of no use."""
    if flow.error:
        return flow.error.msg
    if flow.response is None or flow.response.status_code == 200:
        return None
    return f"{flow.response.status_code} {(flow.response.raw_content or b'')[:200]!r}"


class _Phase2:
    """Observes phase 2: when it starts, and whether it is what was asked for."""

    def __init__(self, continuing: Continuing, tap: Tap, watch: Watch) -> None:
        self._continuing, self._tap, self._watch = continuing, tap, watch
        self._heed = Heed(continuing.call)

    def see(self, messages: Sequence[Message], at_s: float) -> None:
        """See `tap.Observer`."""
        continuing = self._continuing
        for message in messages:
            trip = self._watch.read(message.pieces)
            if self._watch.stage not in ("before_first_token", "complete"):
                continuing.started(at_s)
            runs_away = trip and (
                trip.channel == "reasoning" or continuing.ways.cuts_content
            )
            if self._tap.handoff is not None:
                return
            others = continuing.has_others
            if fault := self._heed.fault(message.pieces, others=others):
                continuing.writer.error = fault  # so that nothing of it is forwarded
                self._tap.handoff = continuing
            elif runs_away:
                continuing.line_up()
                self._tap.handoff = continuing
