"""The figures of groups of turns, from their records."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

from trackside.report.line import FAULTS
from trackside.report.numbers import average_at_once, percentile

type Record = Mapping[str, Any]
type Figures = dict[str, Any]

LONG_WAIT_S = 60.0
LEAST_TURNS = 3
"""A thread with fewer is no measure for others."""


def _thread(record: Record) -> str:
    agent = record["agent"] or record["model"] or "?"
    return f"{agent} {record['thread'] or '?'} {record['run'][:4]}".strip()


KEYS: dict[str, Callable[[Record], str]] = {
    "agent": lambda record: record["agent"] or "?",
    "session": lambda record: record["session"] or f"run {record['run']}",
    "thread": _thread,
    "model": lambda record: record["model"] or "?",
}
"""What turns can be grouped by."""


def agent_turns(records: Iterable[Record]) -> list[Record]:
    """Return the turns that agents asked for: all but the guard's phase 2."""
    return [r for r in records if (r["guard"] or {}).get("phase") != 2]


def tables(records: Sequence[Record], by: str) -> dict[str, Any]:
    """Return the figures of each group and of all turns together.

    Parameters:
        records: `trackside.turn` records.
        by: a key of `KEYS`.
    """
    turns = agent_turns(records)
    threads = _grouped(turns, KEYS["thread"])
    best = best_cost(threads.values())
    groups = _grouped(turns, KEYS[by])
    rows = [{"name": name, **figures(rows, best)} for name, rows in groups.items()]
    rows.sort(key=lambda row: -(row["ttft_total_s"] or 0.0))
    return {"by": by, "groups": rows, "total": {"name": "all", **figures(turns, best)}}


def _grouped(
    turns: Iterable[Record], key: Callable[[Record], str]
) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for turn in turns:
        groups.setdefault(key(turn), []).append(turn)
    return groups


def figures(turns: Sequence[Record], best: float | None) -> Figures:
    """Return the figures of some turns.

    Parameters:
        best: tokens a turn that the best thread has prefilled; None if there is none.
    """
    contexts = [size for t in turns if (size := context_of(t))]
    waits = [t["ttft_s"] for t in turns if t["ttft_s"] is not None]
    cost = cost_of(turns)
    return {
        "turns": len(turns),
        "context_avg": round(mean(contexts)) if contexts else None,
        "context_max": max(contexts, default=None),
        "estimated": sum(t["usage"]["prompt"] is None for t in turns),
        "ttft_p50_s": percentile(waits, 50) if waits else None,
        "ttft_p95_s": percentile(waits, 95) if waits else None,
        "ttft_max_s": max(waits, default=None),
        "ttft_total_s": sum(waits) if waits else None,
        "long_wait_share": (
            sum(wait > LONG_WAIT_S for wait in waits) / len(waits) if waits else None
        ),
        "in_flight_avg": average_at_once(
            [(t["started_at"], t["started_at"] + t["duration_s"]) for t in turns]
        ),
        "hit_rate": hit_rate(turns),
        "inferred": sum(t["cache"]["source"] == "inferred" for t in turns),
        "states": dict(Counter(t["cache"]["state"] for t in turns)),
        "lost": _lost(turns),
        "ended": _ended(turns),
        "resends": _resends(turns),
        "guard": _guard(turns),
        "prefilled_per_turn": cost,
        "cost_factor": cost / best if cost is not None and best else None,
    }


def context_of(turn: Record) -> int:
    """Return the tokens of a turn's prompt, estimated where they were not told."""
    told = turn["usage"]["prompt"]
    return int(turn["estimate"]["prompt_tokens"] if told is None else told)


def hit_rate(turns: Iterable[Record]) -> float | None:
    """Return the share of prompt tokens that came from the cache; None: not told."""
    told = [t for t in turns if t["cache"]["cached_tokens"] is not None]
    prompts = sum(map(context_of, told))
    cached = sum(min(t["cache"]["cached_tokens"], context_of(t)) for t in told)
    return cached / prompts if prompts else None


def cost_of(turns: Sequence[Record]) -> float | None:
    """Return the tokens that a turn had prefilled on average; None: not told."""
    told = [
        max(context_of(t) - t["cache"]["cached_tokens"], 0)
        for t in turns
        if t["cache"]["cached_tokens"] is not None
    ]
    return mean(told) if told else None


def best_cost(threads: Iterable[Sequence[Record]]) -> float | None:
    """Return the least cost of a turn among threads that are long enough."""
    costs = [cost_of(turns) for turns in threads if len(turns) >= LEAST_TURNS]
    return min((cost for cost in costs if cost), default=None)


def _lost(turns: Iterable[Record]) -> dict[str, dict[str, float | None]]:
    """Return tokens and seconds prefilled again, by whose fault it was.

    Seconds are None where no turn's are known; `unpriced` turns lack theirs.
    """
    lost = {fault: _Lost() for fault in (*FAULTS, "none")}
    for turn in turns:
        verdict = turn["verdict"]
        total = verdict["lost_tokens"]
        for fault, tokens in verdict["lost"].items():
            lost[fault].add(tokens, verdict["lost_s"], total)
    return {fault: vars(row) for fault, row in lost.items()}


class _Lost:
    def __init__(self) -> None:
        self.tokens, self.turns, self.unpriced = 0, 0, 0
        self.s: float | None = None

    def add(self, tokens: int, lost_s: float | None, total_tokens: int) -> None:
        """Take a turn's share of the seconds that its whole loss took."""
        self.tokens += tokens
        self.turns += 1
        if lost_s is None:
            self.unpriced += 1
        elif total_tokens:
            self.s = (self.s or 0.0) + lost_s * tokens / total_tokens


def _ended(turns: Iterable[Record]) -> dict[str, dict[str, int]]:
    """Return how many turns did not complete, by whom and at which stage."""
    ended: dict[str, dict[str, int]] = {}
    for turn in turns:
        by, stage = turn["end"]["by"], turn["end"]["stage"]
        if by in ("client", "error"):
            stages = ended.setdefault(by, {})
            stages[stage] = stages.get(stage, 0) + 1
    return ended


def _resends(turns: Iterable[Record]) -> dict[str, float]:
    burnt = [turn["resend"]["burnt_s"] for turn in turns if turn["resend"]]
    return {"turns": len(burnt), "burnt_s": sum(burnt)}


def _guard(turns: Iterable[Record]) -> dict[str, int]:
    trips = [turn["guard"] for turn in turns if (turn["guard"] or {}).get("tripped")]
    saved = [trip["saved_tokens"] for trip in trips if trip["saved_tokens"] is not None]
    return {
        "trips": len(trips),
        "saved_tokens": sum(saved),
        "unpriced": len(trips) - len(saved),
    }
