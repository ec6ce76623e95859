"""A line now and then, about the turns since the last one."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from trackside.ledger.sentence import percent
from trackside.report.line import FAULTS, tokens
from trackside.report.numbers import percentile

KEPT = 10_000


class Summary:
    """Collects records until a line is due."""

    def __init__(self) -> None:
        self._since: float | None = None  # Unix seconds
        self._records: list[Mapping[str, Any]] = []

    def add(self, record: Mapping[str, Any], every_s: int) -> str | None:
        """Take a record; return a line about all since the last, if one is due.

        Parameters:
            record: a `trackside.turn` record.
            every_s: seconds between lines; 0 for none.
        """
        ended_at = record["started_at"] + record["duration_s"]
        self._since = ended_at if self._since is None else self._since
        if len(self._records) < KEPT:
            self._records.append(record)
        if not every_s or ended_at - self._since < every_s:
            return None
        line = summary_line(self._records, ended_at - self._since)
        self._since, self._records = ended_at, []
        return line


def summary_line(records: list[Mapping[str, Any]], span_s: float) -> str:
    """Return one line about turns.

    Parameters:
        records: `trackside.turn` records, at least one.
        span_s: seconds in which they ended.
    """
    turns = [r for r in records if (r["guard"] or {}).get("phase") != 2]
    words = [f"{len(turns)} turns in {span_s / 60:.0f} min"]
    waits = [r["ttft_s"] for r in turns if r["ttft_s"] is not None]
    if waits:
        words.append(
            f"ttft p50 {percentile(waits, 50):.2f} s, p95 {percentile(waits, 95):.2f} s"
        )
    told = [r for r in turns if r["cache"]["cached_tokens"] is not None]
    prompts = sum(r["usage"]["prompt"] or 0 for r in told)
    if prompts:
        cached = sum(r["cache"]["cached_tokens"] for r in told)
        words.append(f"{percent(min(cached / prompts, 1.0))} cached")
    lost: Counter[str] = Counter()
    for record in turns:
        lost.update(record["verdict"]["lost"])
    words += [f"{tokens(lost[f])} tokens lost to {f}" for f in FAULTS if lost[f]]
    trips = sum(bool((r["guard"] or {}).get("tripped")) for r in turns)
    if trips:
        words.append(f"{trips} guard trips")
    ended = Counter(r["end"]["by"] for r in turns)
    words += [f"{ended[by]} ended by {by}" for by in ("client", "error") if ended[by]]
    return "; ".join(words)
