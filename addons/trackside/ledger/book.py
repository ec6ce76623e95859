"""Every turn of a proxy in its order: judged against the past, and learnt from."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import msgspec

from trackside.ledger.cache import found_cached
from trackside.ledger.case import Past, prompts_of
from trackside.ledger.causes.rendering import calls_tools
from trackside.ledger.facts import Facts
from trackside.ledger.hindsight import reconsider
from trackside.ledger.judging import Look, find_break, judge_turn, turns_between
from trackside.ledger.knots import Knots
from trackside.ledger.sizing import Sized, size_up
from trackside.ledger.turn import Judged
from trackside.ledger.upstream import Upstream

KEPT_FLOWS = 4096
KEPT_UNITS = 1 << 20
"""Of the outlines of those flows; 8 MB."""
KEPT_THREADS = 1024
KEPT_LEVELS = 8
REVISABLE_TURNS = 32


class Added(msgspec.Struct, frozen=True):
    """What came of one turn."""

    turn: Judged
    revised: list[Judged]  # earlier turns that it shed light on


class Book:
    """Judges turns in the order in which they end. Bounded memory; has no clock."""

    def __init__(self) -> None:
        self._upstreams: dict[str, Upstream] = {}
        self._flows: OrderedDict[str, Past] = OrderedDict()
        self._knots: OrderedDict[str, Knots] = OrderedDict()
        self._judged: OrderedDict[str, Judged] = OrderedDict()  # by flow, the newest
        self._units = 0  # of the outlines in `_flows`

    def begin(
        self,
        upstream: str,
        flow: str,
        started_at: float,
        digest: int,
        *,
        continues: str | None = None,
    ) -> int:
        """Note that a turn begins; return how many others run at its upstream.

        Parameters:
            started_at: Unix seconds.
            digest: of the request's body; 0 if it was not read.
            continues: the flow that this one is phase 2 of; its engine has stopped.
        """
        there = self._upstreams.setdefault(upstream, Upstream())
        return there.begin(flow, started_at, digest, continues)

    def drop(self, upstream: str, flow: str) -> None:
        """Forget that a turn began: it can't be accounted."""
        if there := self._upstreams.get(upstream):
            there.running.pop(flow, None)

    def add(self, facts: Facts, diff: Mapping[str, Any] | None) -> Added:
        """Judge a turn that is over. At worst O(turns remembered)."""
        there = self._upstreams.setdefault(facts.upstream, Upstream())
        burnt_s = there.end(facts)
        previous = self._previous(diff)
        look = Look(
            facts=facts,
            diff=diff,
            there=there,
            model=there.model(facts.model, facts.engine),
            knots=self._knots_of(diff),
            previous=previous,
            levels=self._levels(previous),
        )
        sized = size_up(facts, diff, look.previous, look.model, look.knots)
        found = found_cached(facts, sized.prompt, look.model)
        sized, broken = find_break(look, sized, found)
        judged = judge_turn(look, sized, found, broken, burnt_s)
        self._remember(look, judged, sized, broken)
        revised = reconsider(judged, list(self._judged.values())[-REVISABLE_TURNS:])
        for one in revised:
            self._judged[one.facts.flow] = one
        _put(self._judged, facts.flow, judged, REVISABLE_TURNS)
        return Added(judged, revised)

    def _previous(self, diff: Mapping[str, Any] | None) -> Past | None:
        """Return the turn that this one goes on from, as the engine saw it.

        An engine that failed at once has seen nothing: then it is the one before.
        """
        flow = diff.get("previous") if diff else None
        past = self._flows.get(flow) if flow else None
        while past and past.previous and past.facts.end.by == "error":
            if past.facts.end.stage != "before_first_token":
                break
            past = self._flows.get(past.previous)
        return past

    def _levels(self, past: Past | None) -> list[int]:
        """Return the prompts of the turns before one, the newest first."""
        found: list[int] = []
        while past and past.previous and len(found) < KEPT_LEVELS:
            past = self._flows.get(past.previous)
            if past and past.prompt is not None:
                found.append(past.prompt)
        return found

    def _knots_of(self, diff: Mapping[str, Any] | None) -> Knots:
        thread = diff.get("thread") if diff else None
        if thread is None:
            return Knots()
        knots = self._knots.get(thread) or Knots()
        _put(self._knots, thread, knots, KEPT_THREADS)
        return knots

    def _remember(
        self,
        look: Look,
        judged: Judged,
        sized: Sized,
        broken: Mapping[str, Any] | None,
    ) -> None:
        facts, previous = look.facts, look.previous
        fresh = facts.outline.behind(previous.facts.outline) if previous else ()
        outline = facts.outline
        if previous:
            outline = outline.sharing(previous.facts.outline)
        others = turns_between(look)
        past = Past(
            facts=msgspec.structs.replace(facts, chunks=[], outline=outline),
            thread=judged.thread,
            previous=previous.facts.flow if previous else None,
            is_extension=previous is not None
            and broken is None
            and judged.role == "main",
            gap_s=judged.gap_s,
            prompt=sized.prompt,
            cached=judged.cached,
            expected=sized.expected,
            is_told=facts.usage.cached is not None,
            state=judged.state,
            cause=judged.verdict.cause or "",
            adds_user=any(unit.role == "user" for unit in fresh),
            calls_tools=calls_tools(fresh),
            crowd_tokens=sum(prompts_of(others).values()),
        )
        self._keep(past)
        look.there.past.append(past)
        _learn(look, judged, sized)

    def _keep(self, past: Past) -> None:
        replaced = self._flows.pop(past.facts.flow, None)
        self._flows[past.facts.flow] = past
        self._units += _units_of(past) - (_units_of(replaced) if replaced else 0)
        while len(self._flows) > KEPT_FLOWS or self._units > KEPT_UNITS:
            _, oldest = self._flows.popitem(last=False)
            self._units -= _units_of(oldest)


def _learn(look: Look, judged: Judged, sized: Sized) -> None:
    facts, model = look.facts, look.model
    told, prefill_s = facts.usage, facts.prefill_s
    if told.prompt is not None:
        look.knots.add(sized.size_bytes, told.prompt)
        if not facts.is_phase2 and not _is_held(look.diff):
            model.learn_size(sized.size_bytes, told.prompt, sized.estimate)
    if told.cached is not None:
        model.learn_cached(told.cached)
        if prefill_s is not None:
            model.learn_prefill(sized.prompt - told.cached, prefill_s)
    elif prefill_s is not None and judged.verdict.cause == "first_request":
        model.learn_prefill(sized.prompt, prefill_s)
    diff, verdict = look.diff, judged.verdict
    if diff and verdict.fault == "healthy" and verdict.because and verdict.cause:
        for row in diff.get("breaks", ()):
            if row["side"] == "harness" and row["cause"] == verdict.cause:
                look.there.neutral[row["cause"], row["sub"]] = 1


def _is_held(diff: Mapping[str, Any] | None) -> bool:
    """Tell whether the engine holds a part of the prompt that no request showed."""
    notes = diff.get("notes", ()) if diff else ()
    return "chained_by_id" in notes or "server_held_history" in notes


def _units_of(past: Past) -> int:
    return len(past.facts.outline.units)


def _put[V](kept: OrderedDict[str, V], key: str, value: V, most: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)
