"""Finds an n-gram that comes back often within a sliding window."""

from __future__ import annotations

from array import array
from collections import Counter, deque
from typing import ClassVar

from trackside.loops.finding import Detector, Finding
from trackside.loops.units import Block, Reader

_BYTES = 4  # of a unit


class Ngrams(Detector):
    """Fires when one n-gram stands `copies` times within the last `window` units.

    Tables and hand arithmetic do so by nature, so this is evidence, not a trip.

    Parameters:
        gram: units of an n-gram, at least 2.
        copies: times it must stand there, at least 2.
        window: units looked back on.
    """

    trips: ClassVar[bool] = False

    def __init__(self, *, gram: int = 8, copies: int = 6, window: int = 512) -> None:
        self._gram_bytes = gram * _BYTES
        self._copies = copies
        self._window = window
        self._reader = Reader()
        self._last = b""  # units that the next n-gram begins with
        self._last_starts: list[int] = []
        self._grams: deque[tuple[bytes, int]] = deque()
        self._counts: Counter[bytes] = Counter()
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`. O(units of the block)."""
        if self._fired:
            return None
        size = self._gram_bytes
        units = self._last + array("I", block.ids).tobytes()
        starts = self._last_starts + block.starts
        fresh = [
            units[at : at + size] for at in range(0, len(units) - size + 1, _BYTES)
        ]
        self._last = units[len(fresh) * _BYTES :]
        self._last_starts = starts[len(fresh) :]
        self._grams.extend(zip(fresh, starts, strict=False))
        counts = self._counts
        counts.update(fresh)
        while len(self._grams) > self._window:
            gram, _ = self._grams.popleft()
            if counts[gram] == 1:
                counts.pop(gram)  # del, but in C
            else:
                counts[gram] -= 1
        if max(map(counts.__getitem__, fresh), default=0) < self._copies:
            return None
        self._fired = True
        most = max(fresh, key=counts.__getitem__)
        places = [start for gram, start in self._grams if gram == most]
        return Finding("ngrams", places[0], block.end, len(places), places[1])
