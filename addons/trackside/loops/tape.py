"""Remembers the last units of a stream, and finds in them where a loop began."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from trackside.loops.units import WORD, Block, kinds_of

_TAPE_UNITS = 16384  # looked back on: about 60,000 characters of English
_GRAM_WORDS = 4  # by which copies are recognised; drifting copies share short ones


class Copies(NamedTuple):
    """Where the copies of a loop lie, in characters from the start of the stream."""

    start: int  # first character of the first copy
    second: int  # first character of the second copy
    copies: int


class Tape:
    """The last words of a stream and where they stand, in 0.2 MB."""

    def __init__(self) -> None:
        self._blocks: deque[tuple[int, bytes, bytes]] = deque()
        self._units = 0

    def extend(self, block: Block) -> None:
        """Append a block's units. O(1)."""
        self._blocks.append((block.start, block.joined, block.sizes))
        self._units += len(block.sizes)
        while self._units > _TAPE_UNITS:
            self._units -= len(self._blocks.popleft()[2])

    def last(self, units: int, since: int) -> list[tuple[int, bytes, bytes]]:
        """Return the blocks that hold the last `units` units, none before `since`.

        Each as where its first unit begins, its units and their sizes.
        """
        blocks = []
        for block in reversed(self._blocks):
            if units <= 0 or block[0] < since:
                break
            units -= len(block[2])
            blocks.append(block)
        return blocks[::-1]

    def copies(self, since: int, kind: int = WORD) -> Copies:
        """Find the copies of the loop that the text from offset `since` is made of.

        A word belongs to the loop if the short phrase that ends there is found in
        that text, too. The loop is the longest ending of the tape in which such
        words prevail; its second copy begins where phrases prevail that the loop has
        had before. O(tape), for use once a stream.

        Parameters:
            since: a character from which on there is nothing but copies.
            kind: what a word must be to be looked at, `LETTERS` or `WORD`.
        """
        units = [
            (unit, start)
            for at, joined, sizes in self._blocks
            for unit, start, found in zip(
                memoryview(joined).cast("I"),
                accumulate(sizes, initial=at),
                kinds_of(joined),
                strict=False,  # there is one start more
            )
            if found & kind
        ]
        words = [unit for unit, _ in units]
        starts = [start for _, start in units]
        grams = list(zip(*(words[n:] for n in range(_GRAM_WORDS)), strict=False))
        inside = Counter(
            gram for gram, start in zip(grams, starts, strict=False) if start >= since
        )
        first = _best_ending([gram in inside for gram in grams])
        had: set[tuple[int, ...]] = set()
        again = []
        for gram in grams[first:]:
            again.append(gram in had)
            had.add(gram)
        second = first + max(1, _best_ending(again))
        seen = sorted(Counter(g for g in grams[first:] if g in inside).values())
        return Copies(
            starts[min(first, len(starts) - 2)],
            starts[min(second, len(starts) - 1)],
            max(2, seen[len(seen) // 2] if seen else 0),
        )


def _best_ending(flags: Sequence[bool]) -> int:
    """Return where the ending begins that has most hits over misses."""
    best, best_at, total = 0, len(flags), 0
    for at in range(len(flags) - 1, -1, -1):
        total += 1 if flags[at] else -1
        if total > best:
            best, best_at = total, at
    return best_at
