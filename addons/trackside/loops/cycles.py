"""Finds exact cycles: the same units over and over, from one token to a long page."""

from __future__ import annotations

from typing import ClassVar

from trackside.loops.finding import Detector, Finding
from trackside.loops.tape import TAPE_UNITS
from trackside.loops.units import Block, Reader


class Cycles(Detector):
    """Fires when the stream has repeated itself exactly for long enough.

    One candidate distance is followed as long as it holds and is found anew, from
    the last place where the current `gram` stood, when it breaks: O(1) a unit.

    Parameters:
        gram: units by which a candidate is found.
        copies: copies wanted, at least 2.
        chars: characters they must span together, so that rules ("-----"), tables
            and a rehearsed row of "??" do not count.
    """

    trips: ClassVar[bool] = True

    def __init__(self, *, gram: int = 3, copies: int = 4, chars: int = 400) -> None:
        self._gram = gram
        self._copies = copies
        self._chars = chars
        self._reader = Reader()
        self._ids: list[int] = []
        self._starts: list[int] = []
        self._dropped = 0  # units no longer in the lists
        self._where: dict[tuple[int, ...], int] = {}  # gram to index one past it
        self._distance = 0  # units from a copy to the next, 0 = none
        self._run = 0  # units that matched at this distance
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`. O(units of the block)."""
        if self._fired:
            return None
        ids = self._ids
        fresh = len(ids)
        ids += block.ids
        self._starts += block.starts
        finding = None
        for at in range(fresh, len(ids)):
            if self._distance and ids[at] == ids[at - self._distance]:
                self._run += 1
            else:
                self._acquire(at)
            if not finding and self._run >= (self._copies - 1) * self._distance > 0:
                finding = self._check(at, block.end)
            self._where[tuple(ids[at + 1 - self._gram : at + 1])] = (
                at + 1 + self._dropped
            )
        if len(ids) > 2 * TAPE_UNITS:
            self._drop(len(ids) - TAPE_UNITS)
        self._fired = finding is not None
        return finding

    def _acquire(self, at: int) -> None:
        """Find the distance to the last place where the current gram stood."""
        gram = tuple(self._ids[at + 1 - self._gram : at + 1])
        where = self._where.get(gram, 0) - self._dropped
        self._distance = at + 1 - where if self._gram <= where else 0
        self._run = self._gram if self._distance else 0

    def _check(self, at: int, end: int) -> Finding | None:
        first = at + 1 - self._run - self._distance
        start = self._starts[max(first, 0)]
        if end - start < self._chars:
            return None
        second = self._starts[at + 1 - self._run]
        copies = self._run // self._distance + 1
        return Finding("cycles", start, end, copies, second)

    def _drop(self, count: int) -> None:
        del self._ids[:count], self._starts[:count]
        self._dropped += count
        keep = self._dropped
        self._where = {gram: at for gram, at in self._where.items() if at > keep}
        if self._distance > len(self._ids):
            self._distance = self._run = 0
