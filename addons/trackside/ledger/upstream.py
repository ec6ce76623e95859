"""What is remembered of one upstream: its turns, its models, who is there now."""

from collections import deque

import msgspec

from trackside.ledger.calibration import Calibration
from trackside.ledger.case import Past
from trackside.ledger.facts import Facts

KEPT_TURNS = 512


class Running(msgspec.Struct, frozen=True):
    """A turn that has begun."""

    flow: str
    started_at: float  # Unix seconds
    digest: int  # of the request's body; 0: not read
    burnt_s: float | None  # see `Upstream.end`
    is_stopped: bool = False  # at the engine: a phase 2 goes on with it


class Upstream:
    """One engine, or whatever answers at one address."""

    def __init__(self) -> None:
        self.running: dict[str, Running] = {}
        self.past: deque[Past] = deque(maxlen=KEPT_TURNS)
        self.neutral: dict[tuple[str, str], int] = {}
        """Breaks (cause and sub) that the engine was seen to take no notice of."""
        self._models: dict[str, Calibration] = {}

    def begin(
        self, flow: str, started_at: float, digest: int, continues: str | None
    ) -> int:
        """Note that a turn begins; return how many others run. See `Book.begin`."""
        if continues in self.running:
            stopped = msgspec.structs.replace(self.running[continues], is_stopped=True)
            self.running[continues] = stopped
        in_flight = sum(not other.is_stopped for other in self.running.values())
        twins = [r for r in self.running.values() if digest and r.digest == digest]
        burnt_s = started_at - twins[-1].started_at if twins else None
        if burnt_s is None and (past := self._abandoned(digest)):
            burnt_s = past.facts.duration_s
        self.running[flow] = Running(flow, started_at, digest, burnt_s)
        return in_flight

    def end(self, facts: Facts) -> float | None:
        """Note that a turn is over.

        Returns the seconds burnt by a turn with the same body, which was running or
        left unanswered when this one came; None if it repeats none.
        """
        running = self.running.pop(facts.flow, None)
        return running.burnt_s if running else None

    def _abandoned(self, digest: int) -> Past | None:
        """Return the last turn with this body, if its client left it unanswered."""
        for past in reversed(self.past):
            if digest and past.facts.digest == digest:
                end = past.facts.end
                is_left = end.by == "client" and end.stage == "before_first_token"
                return past if is_left else None
        return None

    def model(self, name: str, engine: str | None) -> Calibration:
        """Return what is known of a model here."""
        if name not in self._models:
            self._models[name] = Calibration(engine)
        return self._models[name]

    def recent(self, model: str) -> list[Past]:
        """Return the turns of a model, the newest last."""
        return [p for p in self.past if p.facts.model == model]

    def between(self, previous: Past, started_at: float) -> list[Past]:
        """Return the turns of others since a turn ended, in order of their end."""
        begin = previous.facts.ended_at
        return [
            p
            for p in self.past
            if p.facts.flow != previous.facts.flow
            and p.facts.ended_at > begin
            and p.facts.started_at < started_at
            and (p.thread is None or p.thread != previous.thread)
            and not is_own_phase2(p, previous)
            and p.facts.end.by != "error"
        ]


def is_own_phase2(past: Past, of: Past) -> bool:
    """Tell whether a turn is what the guard went on with."""
    guard = past.facts.guard
    return guard is not None and guard.phase == 2 and guard.other == of.facts.flow
