"""Every turn of a proxy: from a flow's request to its record, exactly once."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import msgspec
from mitmproxy import http

from trackside.handoff import asks
from trackside.ledger.book import Book
from trackside.ledger.facts import Facts
from trackside.ledger.request import read_asked
from trackside.ledger.turn import Judged, turn_record
from trackside.proxy.arrivals import api_of_turn
from trackside.proxy.asking import client_request
from trackside.proxy.diffing import diff_under_way
from trackside.proxy.engine import credentials, recognised, upstream_of
from trackside.proxy.reading import pieces_of, reader_for
from trackside.proxy.replayed import replayed_facts
from trackside.proxy.tap import read_by, tap_of, unbound
from trackside.proxy.turned import Turned, engine_of

KEY = "trackside.turn"
SETTLE_S = 0.25
"""After the terminator, mitmproxy is given so long to say that the flow is over."""

logger = logging.getLogger(__name__)

type Record = dict[str, Any]
type Told = Callable[[http.HTTPFlow | None, Record, bool], None]


class Turning:
    """The turns that run now, by flow id, and the book of those that are over.

    Parameters:
        asks_usage: whether to ask engines for usage where the client does not.
        told: called with each record as it is made, and again when it is revised:
            by then nobody may hold its flow any more.
    """

    def __init__(self, *, asks_usage: bool, told: Told) -> None:
        self.asks_usage = asks_usage
        self.run = uuid.uuid4().hex[:8]
        self.book = Book()
        self._told = told
        self._turns: dict[str, Turned] = {}
        self._hides: dict[str, asks.Edit] = {}
        self._flows: WeakValueDictionary[str, http.HTTPFlow] = WeakValueDictionary()
        self._asking: set[asyncio.Task[Any]] = set()

    def request(self, flow: http.HTTPFlow) -> None:
        """Take note of a turn; whatever goes wrong, let it pass."""
        try:
            if flow.live and not flow.response and not flow.error:
                self._take(flow)
        except Exception:
            logger.exception("turns: request not understood, passing it on")

    def _take(self, flow: http.HTTPFlow) -> None:
        api = api_of_turn(flow)
        if api is None:
            return
        flow.metadata.pop(KEY, None)
        self._flows.pop(flow.id, None)
        upstream = upstream_of(flow)
        body = flow.request.get_content(strict=False) or b""
        request = client_request(flow)
        self._recognise(flow, upstream)
        turned = Turned(
            flow,
            upstream=upstream,
            api=api,
            asked=read_asked(body, api),
            body=body,
            settle=lambda: self._settle_soon(flow),
        )
        phase1 = (flow.metadata.get("trackside.guard") or {}).get("phase1")
        turned.in_flight = self.book.begin(
            upstream, flow.id, turned.sent_at, turned.digest, continues=phase1
        )
        self._turns[flow.id] = turned
        if self.asks_usage and request and phase1 is None:
            wished = asks.ask_usage(body, request, recognised.get(upstream))
            if wished.hide:
                flow.request.content = wished.body
                self._hides[flow.id] = wished.hide
        flow.request.anticomp()

    def _recognise(self, flow: http.HTTPFlow, upstream: str) -> None:
        if recognised.get(upstream) is None:
            headers = credentials(flow.request.headers)
            task = asyncio.ensure_future(recognised.recognise(upstream, headers))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Observe the stream of a turn."""
        turned, response = self._turns.get(flow.id), flow.response
        if turned is None or response is None or not flow.live:
            return
        recognised.learn(turned.upstream, engine_of(flow))
        tap = tap_of(flow)
        if reader := reader_for(turned.api, response):
            tap = read_by(flow, reader)
        if tap is not None and tap.reader is not None:
            tap.observers.append(turned)
            hide = self._hides.get(flow.id)
            if hide and tap.edit is None:  # else the guard hides the same and more
                unbound(response)
                tap.edit = hide

    def _settle_soon(self, flow: http.HTTPFlow) -> None:
        """Settle a turn whose terminator came, even if its flow never ends."""

        def settle(_: object = None) -> None:
            if tasks := self._pending(flow):
                tasks[0].add_done_callback(settle)
            elif flow.id in self._turns:
                self.finished(flow, None)

        asyncio.get_running_loop().call_later(SETTLE_S, settle)

    def _pending(self, flow: http.HTTPFlow) -> list[asyncio.Task[Any]]:
        """Return what a verdict still waits for."""
        turned = self._turns.get(flow.id)
        tasks = (diff_under_way(flow), turned and turned.outlining)
        return [task for task in tasks if task and not task.done()]

    async def readied(self, flow: http.HTTPFlow) -> None:
        """Wait until all is read that a verdict needs, which large bodies take."""
        if tasks := self._pending(flow):
            await asyncio.wait(tasks)

    def finished(self, flow: http.HTTPFlow, error: str | None) -> None:
        """Settle a turn that is over, if that has not been done yet.

        Parameters:
            error: mitmproxy's words for what broke the flow, None if nothing did.
        """
        if flow.id in self._turns and _waits_for_guard(flow):
            asyncio.get_running_loop().call_soon(self._settle, flow, error)
        else:
            self._settle(flow, error)

    def _settle(self, flow: http.HTTPFlow, error: str | None) -> None:
        self._hides.pop(flow.id, None)
        turned = self._turns.pop(flow.id, None)
        try:
            if turned:
                _read_whole(turned)
                self._add(flow, turned.facts(recognised.get(turned.upstream), error))
            elif flow.live or self._flows.get(flow.id) is flow:
                return  # it is accounted already, or it is no turn
            elif api := api_of_turn(flow):
                before = flow.metadata.pop(KEY, None) or {}
                facts = replayed_facts(flow, api, before)
                self.book.begin(facts.upstream, flow.id, facts.started_at, facts.digest)
                self._add(flow, facts)
        except Exception:
            logger.exception("turns: a turn could not be accounted")
            if turned:
                self.book.drop(turned.upstream, flow.id)

    def close(self) -> None:
        """Settle what still runs: the proxy ends."""
        for turned in list(self._turns.values()):
            self._settle(turned.flow, "the proxy was stopped")

    def _add(self, flow: http.HTTPFlow, facts: Facts) -> None:
        facts = msgspec.structs.replace(facts, run=self.run)
        added = self.book.add(facts, flow.metadata.get("trackside.diff"))
        self._flows[flow.id] = flow
        self._tell(flow, added.turn, is_new=True)
        for judged in added.revised:
            self._tell(self._flows.get(judged.facts.flow), judged, is_new=False)

    def _tell(
        self, flow: http.HTTPFlow | None, judged: Judged, *, is_new: bool
    ) -> None:
        record = turn_record(judged)
        if flow is not None:
            flow.metadata[KEY] = record
        self._told(flow, record, is_new)


def _waits_for_guard(flow: http.HTTPFlow) -> bool:
    """Tell whether a guard that was loaded later has yet to say what it did."""
    tap = tap_of(flow)
    told = flow.metadata.get("trackside.guard") or {}
    return tap is not None and tap.handoff is not None and "tripped" not in told


def _read_whole(turned: Turned) -> None:
    """Read a response that was not shown to the turn piece by piece."""
    response, account = turned.flow.response, turned.account
    if response is None or account.first_token_s is not None or account.counts.prompt:
        return
    if account.finish_reason or response.status_code >= 400:
        return
    body = response.get_content(strict=False) or b""
    account.see(pieces_of(turned.api, response, body), turned.sent_s)
    account.ended_s = None
