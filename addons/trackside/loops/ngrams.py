"""Finds an n-gram that comes back often within a sliding window."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from trackside.loops.finding import Detector, Finding
from trackside.loops.units import Block, Reader


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
        self._gram = gram
        self._copies = copies
        self._window = window
        self._reader = Reader()
        self._last: list[int] = []
        self._last_starts: list[int] = []
        self._order: deque[tuple[int, ...]] = deque()
        self._places: dict[tuple[int, ...], deque[int]] = {}
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`. O(units of the block)."""
        if self._fired:
            return None
        ids = self._last + block.ids
        starts = self._last_starts + block.starts
        keep = 1 - self._gram
        self._last, self._last_starts = ids[keep:], starts[keep:]
        grams = zip(*(ids[at:] for at in range(self._gram)), strict=False)
        for gram, start in zip(grams, starts, strict=False):
            places = self._places.setdefault(gram, deque())
            places.append(start)
            self._order.append(gram)
            if len(self._order) > self._window:
                oldest = self._order.popleft()
                self._places[oldest].popleft()
                if not self._places[oldest]:
                    del self._places[oldest]
            if len(places) >= self._copies:
                self._fired = True
                return Finding("ngrams", places[0], block.end, len(places), places[1])
        return None
