"""Every request of a proxy, diffed: at once if that is quick, else behind its back."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from mitmproxy import ctx, http
from mitmproxy.hooks import UpdateHook

from trackside.prefix.dialects import Dialect
from trackside.prefix.diffing import Differ, Outcome
from trackside.prefix.record import has_break, problem_record
from trackside.prefix.sentence import log_line
from trackside.prefix.spans import BodyError
from trackside.proxy.arrivals import (
    arrival_of,
    dialect_of_turn,
    ending_of,
    is_encoded,
)
from trackside.proxy.notes import annotate

KEY = "trackside.diff"
MARKER = ":warning:"
logger = logging.getLogger("diff")


class Diffing:
    """Diffs flows in the order in which they come.

    A request that goes on with a known one is diffed before it is forwarded: well
    below a millisecond. What takes longer waits its turn for a thread, and what comes
    meanwhile waits behind it: order is what threads are found by.
    """

    def __init__(self, memory_bytes: int, *, excerpts: bool) -> None:
        self.differ = Differ(memory_bytes, excerpts=excerpts)
        self._pending: dict[str, asyncio.Task[None]] = {}
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
                self._pending[flow.id] = task
                task.add_done_callback(lambda _: self._pending.pop(flow.id, None))
        except Exception:
            logger.exception("diff: request not understood, passing it on")

    async def finished(self, flow: http.HTTPFlow) -> None:
        """Note how a turn ended, once its request is diffed."""
        if task := self._pending.get(flow.id):
            await asyncio.wait([task])
        if KEY in flow.metadata:
            end = ending_of(flow, time.time())
            self.differ.finish(
                flow.id,
                end.ended_s,
                has_failed=end.has_failed,
                is_abandoned=end.is_abandoned,
                has_reasoned=end.has_reasoned,
                prompt_tokens=end.prompt_tokens,
            )

    async def done(self) -> None:
        """Wait for what is still to be diffed."""
        if self._pending:
            await asyncio.wait(self._pending.values())

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
        line = log_line(record)
        logger.info("diff %s", line)
        annotate(flow, "diff", line, MARKER if has_break(record) else None)
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
