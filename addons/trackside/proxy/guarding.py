"""Every turn the guard has in hand: from a flow's request to its record."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec
from mitmproxy import http

from trackside.handoff import abort, asks, record, text
from trackside.handoff.dialects import FORMS, whole_for
from trackside.handoff.engines import by_server
from trackside.handoff.record import KEY
from trackside.handoff.strategy import Call, Engine
from trackside.handoff.watch import Watch
from trackside.loops.budget import Budgets
from trackside.loops.monitor import Monitor
from trackside.loops.repeats import repetition
from trackside.proxy.continuing import Continuing
from trackside.proxy.engine import credentials, recognised, upstream_of
from trackside.proxy.guarded import Guarded, Settings
from trackside.proxy.reading import new_reader, read_request, read_response, turn_of
from trackside.proxy.stopping import stopper
from trackside.proxy.tap import Tap, read_by, streams, unbound
from trackside.wire import DIALECTS, dialect_of
from trackside.wire.edit import add_members
from trackside.wire.request import Request

logger = logging.getLogger(__name__)


class Policy(Settings, frozen=True, kw_only=True):
    """All of the guard's options."""

    budgets: Budgets
    detectors: tuple[str, ...]
    engine: Engine | None  # None: ask the engine

    def limit_tokens(self, request: Request) -> int | None:
        """Return the reasoning budget; one that the client names may be higher."""
        limit = self.budgets.limit(request.effort)
        if limit is None or request.budget_tokens is None:
            return limit
        return max(limit, request.budget_tokens)

    def watch(
        self,
        request: Request,
        limit_tokens: int | None,
        tokens_per_char: float | None = None,
    ) -> Watch:
        """Return a watch over one response to this request."""
        return Watch(
            reasoning=Monitor(self.detectors),
            content=None if self.content == "off" else Monitor(self.detectors),
            limit_tokens=limit_tokens,
            has_tools=request.has_tools,
            tokens_per_char=tokens_per_char,
        )

    @property
    def ends_in_place(self) -> bool:
        """Requests are to be armed for llama.cpp's own way.

        Not by `auto`: the README has the figures.
        """
        return self.action == "continue" and self.strategy == "in_place"


class Guarding:
    """The turns that run now, by flow id."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._engines = recognised
        self._turns: dict[str, Guarded] = {}
        self._phase2: dict[str, Continuing] = {}
        self._leading: dict[tuple[str, str], str] = {}
        self._asking: set[asyncio.Task[Engine | None]] = set()

    async def engine_at(self, upstream: str) -> Engine | None:
        """Return the engine at an upstream, asking it if need be."""
        return self.policy.engine or await self._engines.recognise(upstream)

    async def request(self, flow: http.HTTPFlow) -> None:
        """Take charge of a live chat turn; whatever goes wrong, let it pass."""
        try:
            if continuing := self._phase2.get(flow.id):
                await continuing.prepare(flow)
            elif flow.live and not flow.response and not flow.error:
                self._take(flow)
        except Exception:
            logger.exception("guard: request not understood, passing it on")

    def _take(self, flow: http.HTTPFlow) -> None:
        flow.metadata.pop(KEY, None)
        dialect, request = read_request(flow)
        if request is None or request.n != 1:
            return
        if request.server_held:  # an aborted turn could not be referred to again
            return
        policy, upstream = self.policy, upstream_of(flow)
        engine = policy.engine or self._engines.get(upstream)
        if engine is None:
            headers = credentials(flow.request.headers)
            task = asyncio.ensure_future(self._engines.recognise(upstream, headers))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        content = flow.request.content or b""
        whole, streamed = None, content
        if not request.stream:
            whole = whole_for(engine, request, content)
            if whole is None:
                return
            request = msgspec.structs.replace(request, include_usage=True)
            asked = asks.ask_for_stream(content, dialect)
            streamed = add_members(content, {"stream": True})
        elif dialect == "chat":
            closing = policy.closing if policy.ends_in_place else None
            asked = asks.ask(content, request, engine, closing)
        elif dialect == "completions":
            asked = asks.ask_timings(content, engine)
        else:
            asked = asks.Asked(content, None)
        self._turns[flow.id] = Guarded(
            flow,
            settings=policy,
            request=request,
            form=FORMS[dialect]() if dialect in FORMS else None,
            opened=text.opened(content, dialect),
            asked=asked,
            whole=whole,
            turn=lambda: turn_of(
                dialect,
                streamed,
                request,
                policy.engine or self._engines.get(upstream) or "openai",
            ),
            limit_tokens=policy.limit_tokens(request),
            leading=self._leading.get((upstream, request.model)),
            watch=lambda limit_tokens: policy.watch(request, limit_tokens),
            register=lambda flow, continuing: self._phase2.update(
                {flow.id: continuing}
            ),
        )
        if asked.body is not content:
            flow.request.content = asked.body
        flow.request.anticomp()

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Put the tap on a stream that is ours to watch."""
        response = flow.response
        if response is None or not flow.live:
            return
        if continuing := self._phase2.get(flow.id):
            reads = DIALECTS[continuing.call.reads]
            if streams(response, reads.framing):
                tap = read_by(flow, reads.reader)
                watch = continuing.observe(tap)
                self._stop_before_closing(flow, tap, watch, continuing.call.reads)
        elif guarded := self._turns.get(flow.id):
            server = response.headers.get("server", "")
            self._engines.learn(upstream_of(flow), by_server(server))
            dialect = dialect_of(flow.request.path) or "chat"
            if streams(response, DIALECTS[dialect].framing):
                unbound(response)
                tap = read_by(flow, lambda: new_reader(flow))
                if guarded.asked.hide:
                    tap.edit = guarded.asked.hide
                tap.whole = guarded.whole
                tap.observers.append(guarded)
                self._stop_before_closing(flow, tap, guarded.watch, dialect)

    def _stop_before_closing(
        self, flow: http.HTTPFlow, tap: Tap, watch: Watch, dialect: str
    ) -> None:
        """Tell an engine to stop that does not notice when its client goes."""
        engine = self.policy.engine or self._engines.get(upstream_of(flow))
        if abort.call(engine, dialect, "?") is None:
            return

        def call() -> Call | None:
            started = watch.start if watch.stage != "complete" else None
            return abort.call(engine, dialect, started.id) if started else None

        tap.stop = stopper(flow, call)

    def finished(self, flow: http.HTTPFlow, error: str | None) -> dict[str, Any] | None:
        """Return the record of a flow that is over; None if there is none to keep.

        Parameters:
            error: mitmproxy's words for what broke the flow, None if nothing did.
        """
        if self._phase2.pop(flow.id, None):
            return flow.metadata[KEY]  # type: ignore[no-any-return] # ours
        if guarded := self._turns.pop(flow.id, None):
            self._learn_leading(guarded)
            told: dict[str, Any] | None = guarded.record(_ended_by(guarded, error))
        else:
            told = None if flow.live else self._replayed(flow)
        if told and "evidence" in told and "toolcalls" in self.policy.detectors:
            dialect = dialect_of(flow.request.path) or ""
            content = flow.request.get_content(strict=False) or b""
            record.add_repeats(told, repetition(dialect, content))
        return told

    def _learn_leading(self, guarded: Guarded) -> None:
        """Note per model whether a parser eats the line break that leads reasoning."""
        if guarded.lost_reasoning:
            key = (upstream_of(guarded.flow), guarded.request.model)
            self._leading[key] = "" if guarded.leading else "\n"

    def _replayed(self, flow: http.HTTPFlow) -> dict[str, Any] | None:
        """Analyse a response that did not stream through here: one from a file."""
        before: dict[str, Any] = flow.metadata.get(KEY) or {}
        _, request = read_request(flow)
        if request is None or flow.response is None or "phase1" in before:
            return before or None
        per_char = None
        if before.get("tokens_source") == "engine" and before.get("reasoning_chars"):
            per_char = before["reasoning_tokens"] / before["reasoning_chars"]
        limit_tokens = self.policy.limit_tokens(request)
        watch = self.policy.watch(request, limit_tokens, per_char)
        trip = None
        for pieces in read_response(flow):
            trip = trip or watch.read(pieces)
        acted = trip is not None and before.get("tripped", False)
        end = {"finish_reason": watch.finish_reason, "by": "engine"}
        return record.guard_record(
            watch,
            request,
            trip,
            budget_tokens=limit_tokens,
            action=(before["action"] if acted else "observe") if trip else None,
            strategy=before["strategy"] if acted else None,
            handoff=before["handoff"] if acted else None,
            usage=before.get("usage") or record.usage_dict(watch.counts, None),
            end=before.get("end") or end,
        )


def _ended_by(guarded: Guarded, error: str | None) -> str:
    """Tell who ended the turn: engine, client, guard or an error."""
    done = guarded.continuing
    if error is None or guarded.watch.stage == "complete":
        return "guard" if done and done.way == "end" else "engine"
    return "client" if "client" in error.lower() else "error"
