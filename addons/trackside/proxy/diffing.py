"""Every request of a proxy, diffed: at once if that is quick, else behind its back."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import ctx, http
from mitmproxy.hooks import UpdateHook

from trackside.prefix.dialects import Dialect
from trackside.prefix.diffing import Differ, Outcome
from trackside.prefix.record import has_break, problem_record
from trackside.prefix.sentence import log_line
from trackside.prefix.spans import BodyError
from trackside.prefix.stats import Tallies, statistics_line
from trackside.proxy.answered import Answered, ending_of, read_answer
from trackside.proxy.arrivals import arrival_of, dialect_of_turn, is_encoded
from trackside.proxy.notes import MARKERS, annotate
from trackside.proxy.reading import reader_for
from trackside.proxy.tap import read_by

KEY = "trackside.diff"
TOLD_THREADS = 20
logger = logging.getLogger("diff")

_under_way: WeakKeyDictionary[http.HTTPFlow, asyncio.Task[None]] = WeakKeyDictionary()


def diff_under_way(flow: http.HTTPFlow) -> asyncio.Task[None] | None:
    """Return the task that a flow's diff still waits for; None if there is none."""
    task = _under_way.get(flow)
    return None if task is None or task.done() else task


class Diffing:
    """Diffs flows in the order in which they come.

    A request that goes on with a known one is diffed before it is forwarded: well
    below a millisecond. What takes longer waits its turn for a thread, and what comes
    meanwhile waits behind it: order is what threads are found by.
    """

    def __init__(self, memory_bytes: int, *, excerpts: bool) -> None:
        self.differ = Differ(memory_bytes, excerpts=excerpts)
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._answers: dict[str, Answered] = {}
        self._threads, self._agents = Tallies("thread"), Tallies("agent")
        self._turn = asyncio.Lock()  # first come, first served

    def request(self, flow: http.HTTPFlow) -> None:
        """Diff a request, or see to it that it is; whatever goes wrong, let it pass."""
        try:
            dialect = dialect_of_turn(flow)
            if dialect is None or _is_phase2(flow):
                return
            flow.metadata.pop(KEY, None)
            if not flow.live:
                self._settle(flow, self._diff(flow, dialect))
            elif self._pending or not self._quickly(flow, dialect):
                task = asyncio.ensure_future(self._later(flow, dialect))
                self._pending[flow.id] = _under_way[flow] = task
                task.add_done_callback(lambda _: self._pending.pop(flow.id, None))
        except Exception:
            logger.exception("diff: request not understood, passing it on")

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Observe the stream of a turn: what it says tells what may follow it."""
        dialect = dialect_of_turn(flow)
        if dialect is None or not flow.live or not flow.response or _is_phase2(flow):
            return
        if reader := reader_for(dialect.name, flow.response):
            answer = Answered(partial(self.differ.answered, flow.id))
            self._answers[flow.id] = answer
            read_by(flow, reader).observers.append(answer)

    async def finished(self, flow: http.HTTPFlow) -> None:
        """Note how a turn ended, once its request is diffed."""
        answer = self._answers.pop(flow.id, None)
        if task := self._pending.get(flow.id):
            await asyncio.wait([task])
        if KEY in flow.metadata:
            if answer is None:
                answer = read_answer(flow, flow.metadata[KEY]["dialect"])
            end = ending_of(flow, time.time(), answer)
            self.differ.answered(flow.id, end.response_id)
            self.differ.finish(
                flow.id,
                end.ended_s,
                has_failed=end.has_failed,
                is_abandoned=end.is_abandoned,
                has_reasoned=end.has_reasoned,
                prompt_tokens=end.prompt_tokens,
            )

    async def done(self) -> None:
        """Wait for what is still to be diffed; tell what the threads had in common."""
        if self._pending:
            await asyncio.wait(self._pending.values())
        for line in self.statistics():
            logger.info("diff %s", line)

    def statistics(self) -> list[str]:
        """Return a line for each thread of more than one turn, and for each agent.

        Of many threads, those that lost most are told.
        """
        found = [item for item in self._threads.figures().items() if item[1].turns > 1]
        told = sorted(found, key=lambda item: item[1].lost_bytes, reverse=True)
        lines = [statistics_line(f"thread {n}", f) for n, f in told[:TOLD_THREADS]]
        if len(told) > TOLD_THREADS:
            lines.append(f"threads: {len(told) - TOLD_THREADS} more")
        if lines:
            agents = self._agents.figures().items()
            lines += [statistics_line(f"agent {n or 'unnamed'}", f) for n, f in agents]
        return lines

    def _quickly(self, flow: http.HTTPFlow, dialect: Dialect) -> bool:
        if is_encoded(flow):
            return False
        outcome = self.differ.diff_quickly(arrival_of(flow, dialect))
        if outcome:
            self._settle(flow, outcome)
        return outcome is not None

    async def _later(self, flow: http.HTTPFlow, dialect: Dialect) -> None:
        try:
            async with self._turn:
                outcome = await asyncio.to_thread(self._diff, flow, dialect)
            self._settle(flow, outcome)
            await ctx.master.addons.trigger_event(UpdateHook([flow]))
        except Exception:
            logger.exception("diff: request not understood, it has been passed on")

    def _diff(self, flow: http.HTTPFlow, dialect: Dialect) -> Outcome:
        try:
            return self.differ.diff(arrival_of(flow, dialect))
        except BodyError as error:
            return _problem(flow, dialect, error)

    def _settle(self, flow: http.HTTPFlow, outcome: Outcome) -> None:
        record = outcome.record
        flow.metadata[KEY] = record
        self._threads.add(record)
        self._agents.add(record)
        line = log_line(record)
        logger.info("diff %s", line)
        annotate(flow, "diff", line, MARKERS["diff"] if has_break(record) else None)
        if outcome.dropped:
            logger.info(
                "diff: memory is full (diff_memory_mb), gave up thread %s",
                ", ".join(outcome.dropped),
            )


def _problem(flow: http.HTTPFlow, dialect: Dialect, error: BodyError) -> Outcome:
    size_bytes = len(flow.request.raw_content or b"")
    return Outcome(problem_record(dialect.name, str(error), size_bytes), ())


def _is_phase2(flow: http.HTTPFlow) -> bool:
    """Return whether the guard wrote this request: it is no harness's turn."""
    told: dict[str, Any] = flow.metadata.get("trackside.guard") or {}
    return "phase1" in told
