"""What the turns of a thread, or of an agent, have in common."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from trackside.prefix.sentence import cause_name

_FLOOR_SHARE = 4  # of the last six broken turns that end at one byte: a pinned floor
_FLOOR_TURNS = 6


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures over the turns of one thread or agent."""

    turns: int
    compared: int  # turns that have a request before them
    append_only: int  # of those compared
    head_hashes: int  # different heads seen
    lost_bytes: int  # of prompts that could have been reused
    causes: dict[str, int]  # harness breaks by cause and sub, most frequent first
    cadence_s: float | None  # median from one request to the next
    added_bytes: float | None  # median growth of the prompt a turn
    stamp: str | None  # as in "clock changes in 9 of 10 turns, by the minute"
    tool_flaps: int  # turns in which tools came back
    pinned_floor: int | None  # byte at which most of the last breaks begin
    pinned_path: str | None  # what stands there
    resends: int

    @property
    def append_only_share(self) -> float | None:
        """Return the append-only part of the turns compared, 0 to 1."""
        return self.append_only / self.compared if self.compared else None


def thread_statistics(records: Iterable[Mapping[str, Any]]) -> dict[str, Statistics]:
    """Return the statistics of each thread, from `trackside.diff` records in order."""
    return _grouped(records, "thread")


def agent_statistics(records: Iterable[Mapping[str, Any]]) -> dict[str, Statistics]:
    """Return the statistics of each agent, from `trackside.diff` records in order."""
    return _grouped(records, "agent")


def _grouped(records: Iterable[Mapping[str, Any]], name: str) -> dict[str, Statistics]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        if "problem" not in record:
            groups.setdefault(str(record[name]), []).append(record)
    return {group: statistics(rows) for group, rows in groups.items()}


def statistics(records: list[Mapping[str, Any]]) -> Statistics:
    """Return the figures over some records."""
    compared = [row for row in records if row["previous"] is not None]
    broken = [
        [found for found in row["breaks"] if found["side"] == "harness"]
        for row in compared
    ]
    causes = Counter(cause_name(found) for row in broken for found in row)
    gaps = [row["gap_s"] for row in compared if row["gap_s"] is not None]
    added = [
        row["effective"]["bytes"] - row["effective"]["previous_bytes"]
        for row in compared
    ]
    floor, path = _pinned_floor([row[0] for row in broken if row])
    return Statistics(
        turns=len(records),
        compared=len(compared),
        append_only=sum(bool(row["append_only"]) for row in compared),
        head_hashes=len({row["head_hash"] for row in records}),
        lost_bytes=sum(
            max((found["lost_bytes"] for found in row), default=0) for row in broken
        ),
        causes=dict(causes.most_common()),
        cadence_s=median(gaps) if gaps else None,
        added_bytes=median(added) if added else None,
        stamp=_stamp(broken),
        tool_flaps=causes["tools_changed/flap"],
        pinned_floor=floor,
        pinned_path=path,
        resends=sum(
            found["cause"] == "resend" for row in records for found in row["breaks"]
        ),
    )


def _stamp(broken: list[list[Mapping[str, Any]]]) -> str | None:
    stamps = [
        next((found for found in row if found["cause"] == "volatile_stamp"), None)
        for row in broken
    ]
    seen = [stamp for stamp in stamps if stamp]
    if not seen:
        return None
    kind = Counter(stamp["sub"] for stamp in seen).most_common(1)[0][0]
    told = f"{kind} changes in {len(seen)} of {len(broken)} turns"
    finest = Counter(stamp.get("resolution") for stamp in seen).most_common(1)[0][0]
    return f"{told}, by the {finest}" if finest else told


def _pinned_floor(
    firsts: list[Mapping[str, Any]],
) -> tuple[int, str] | tuple[None, None]:
    """Return where most of the last breaks begin, if they begin at one byte."""
    last = firsts[-_FLOOR_TURNS:]
    if not last:
        return None, None
    offset, count = Counter(found["offset"] for found in last).most_common(1)[0]
    if count < _FLOOR_SHARE:
        return None, None
    return offset, next(f["path"] for f in last if f["offset"] == offset)
