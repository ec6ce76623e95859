"""Remembers the last units of a stream, and finds in them where a loop began."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from trackside.loops.units import Block

TAPE_UNITS = 8192
"""Units looked back on, about 25,000 characters of English."""


class Copies(NamedTuple):
    """Where the copies of a loop lie, in characters from the start of the stream."""

    start: int  # first character of the first copy
    second: int  # first character of the second copy
    copies: int


class Tape:
    """The last `TAPE_UNITS` units of a stream, at most twice as many for a while."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.starts: list[int] = []

    def extend(self, block: Block) -> None:
        """Append a block's units. Amortised O(units)."""
        self.ids += block.ids
        self.starts += block.starts
        if len(self.ids) > 2 * TAPE_UNITS:
            del self.ids[:-TAPE_UNITS]
            del self.starts[:-TAPE_UNITS]

    def copies(self, window: int, gram: int) -> Copies:
        """Find the copies of what the last `window` units are made of.

        A unit belongs to the loop if the `gram` units that end there are found in
        the window as well. The loop is the longest ending of the tape in which such
        units prevail; its second copy begins where grams prevail that the loop has
        had already. O(tape), for use once a stream.
        """
        grams = list(zip(*(self.ids[at:] for at in range(gram)), strict=False))
        current = Counter(grams[-window:])
        first = _best_ending([g in current for g in grams])
        had: set[tuple[int, ...]] = set()
        again = []
        for g in grams[first:]:
            again.append(g in had)
            had.add(g)
        second = first + max(1, _best_ending(again))
        repeated = Counter(g for g in grams[first:] if g in current)
        counts = sorted(repeated.values())
        return Copies(
            self.starts[first],
            self.starts[min(second, len(self.starts) - 1)],
            max(2, counts[len(counts) // 2] if counts else 0),
        )


def _best_ending(flags: Sequence[bool]) -> int:
    """Return where the ending begins that has most hits over misses."""
    best, best_at, total = 0, len(flags), 0
    for at in range(len(flags) - 1, -1, -1):
        total += 1 if flags[at] else -1
        if total > best:
            best, best_at = total, at
    return best_at
