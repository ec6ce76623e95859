"""What the turns of a thread, or of an agent, have in common."""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from trackside.prefix.sentence import cause_name

_FLOOR_SHARE = 4  # of the last six broken turns that end at one byte: a pinned floor
_FLOOR_TURNS = 6
_MEDIAN_TURNS = 1024  # the last ones, that medians are taken of
_HEADS_KEPT = 4096  # different ones that are told apart
_GROUPS_KEPT = 1024  # threads or agents with figures, the last to have had a turn

type Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures over the turns of one thread or agent."""

    turns: int
    compared: int  # turns that have a request before them
    append_only: int  # of those compared
    head_hashes: int  # different heads seen, up to 4096
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

    @property
    def habits(self) -> list[str]:
        """Return in words what comes again and again."""
        told = [f"{cause} x{count}" for cause, count in self.causes.items()]
        if self.stamp:
            told.append(self.stamp)
        if self.pinned_floor is not None:
            told.append(f"pinned at byte {self.pinned_floor:,}, {self.pinned_path}")
        if self.resends:
            told.append(f"{self.resends} resends")
        return told


class Tally:
    """Counts the records of one thread or agent, in bounded memory."""

    def __init__(self) -> None:
        self._turns = self._compared = self._append_only = 0
        self._lost_bytes = self._resends = 0
        self._heads: set[str] = set()
        self._causes: Counter[str] = Counter()
        self._stamps: Counter[str] = Counter()
        self._resolutions: Counter[str | None] = Counter()
        self._gaps: deque[float] = deque(maxlen=_MEDIAN_TURNS)
        self._added: deque[int] = deque(maxlen=_MEDIAN_TURNS)
        self._floors: deque[tuple[int, str]] = deque(maxlen=_FLOOR_TURNS)

    def add(self, record: Record) -> None:
        """Take a `trackside.diff` record of a request that could be read."""
        self._turns += 1
        if len(self._heads) < _HEADS_KEPT:
            self._heads.add(record["head_hash"])
        rows = record["breaks"]
        self._resends += sum(found["cause"] == "resend" for found in rows)
        if record["previous"] is None:
            return
        self._compared += 1
        self._append_only += bool(record["append_only"])
        if record["gap_s"] is not None:
            self._gaps.append(record["gap_s"])
        effective = record["effective"]
        self._added.append(effective["bytes"] - effective["previous_bytes"])
        self._break([found for found in rows if found["side"] == "harness"])

    def _break(self, rows: list[Record]) -> None:
        self._causes.update(map(cause_name, rows))
        self._lost_bytes += max((found["lost_bytes"] for found in rows), default=0)
        if rows:
            self._floors.append((rows[0]["offset"], rows[0]["path"]))
        for found in rows:
            if found["cause"] == "volatile_stamp":
                self._stamps[found["sub"]] += 1
                self._resolutions[found.get("resolution")] += 1
                break

    def figures(self) -> Statistics:
        """Return what was counted so far."""
        floor, path = self._pinned_floor()
        return Statistics(
            turns=self._turns,
            compared=self._compared,
            append_only=self._append_only,
            head_hashes=len(self._heads),
            lost_bytes=self._lost_bytes,
            causes=dict(self._causes.most_common()),
            cadence_s=median(self._gaps) if self._gaps else None,
            added_bytes=median(self._added) if self._added else None,
            stamp=self._stamp(),
            tool_flaps=self._causes["tools_changed/flap"],
            pinned_floor=floor,
            pinned_path=path,
            resends=self._resends,
        )

    def _stamp(self) -> str | None:
        if not self._stamps:
            return None
        kind = self._stamps.most_common(1)[0][0]
        told = f"{kind} changes in {self._stamps.total()} of {self._compared} turns"
        finest = self._resolutions.most_common(1)[0][0]
        return f"{told}, by the {finest}" if finest else told

    def _pinned_floor(self) -> tuple[int, str] | tuple[None, None]:
        """Return where most of the last breaks begin, if they begin at one byte."""
        if not self._floors:
            return None, None
        offsets = Counter(offset for offset, _ in self._floors)
        offset, count = offsets.most_common(1)[0]
        if count < _FLOOR_SHARE:
            return None, None
        return offset, next(path for at, path in self._floors if at == offset)


class Tallies:
    """The tallies of all threads, or of all agents.

    Parameters:
        member: of a record, that tells them apart: `thread` or `agent`.
    """

    def __init__(self, member: str) -> None:
        self._member = member
        self._tallies: OrderedDict[str, Tally] = OrderedDict()

    def add(self, record: Record) -> None:
        """Take a `trackside.diff` record."""
        if "problem" in record:
            return
        name = str(record[self._member])
        self._tallies.setdefault(name, Tally()).add(record)
        self._tallies.move_to_end(name)
        if len(self._tallies) > _GROUPS_KEPT:
            self._tallies.popitem(last=False)

    def figures(self) -> dict[str, Statistics]:
        """Return the figures by name: a2 before a10, and a10 before aa1."""
        names = sorted(self._tallies, key=lambda name: (len(name), name))
        return {name: self._tallies[name].figures() for name in names}


def statistics(records: Iterable[Record], member: str) -> dict[str, Statistics]:
    """Return the figures of each thread or agent, from records in order.

    Parameters:
        member: `thread` or `agent`.
    """
    tallies = Tallies(member)
    for record in records:
        tallies.add(record)
    return tallies.figures()


def statistics_line(name: str, figures: Statistics) -> str:
    """Return the figures of a thread or agent in one line.

    Example:
        >>> statistics_line("thread a1", Tally().figures())
        'thread a1: 0 turns, 0 heads'
    """
    words = [f"{figures.turns} turn{'' if figures.turns == 1 else 's'}"]
    if figures.append_only_share is not None:
        words.append(f"{figures.append_only_share:.0%} append-only".replace("%", " %"))
    words.append(f"{figures.head_hashes} head{'' if figures.head_hashes == 1 else 's'}")
    if figures.added_bytes is not None:
        words.append(f"{figures.added_bytes:+,.0f} B a turn")
    if figures.cadence_s is not None:
        words.append(f"one every {figures.cadence_s:.1f} s")
    if figures.lost_bytes:
        words.append(f"{figures.lost_bytes:,} B lost")
    return f"{name}: {'; '.join([', '.join(words), *figures.habits])}"
