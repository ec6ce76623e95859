"""Finds an n-gram that comes back often within a sliding window."""

from __future__ import annotations

from typing import ClassVar

from trackside.loops.finding import Detector, Finding
from trackside.loops.units import UNIT_BYTES, Block, Reader


class Ngrams(Detector):
    """Fires when one n-gram stands `copies` times within the last `window` units.

    Tables and hand arithmetic do so by nature, so this is evidence, not a trip.
    A block's units are looked for n by n, as what comes back is mostly longer than n:
    O(window) each, done in C.

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
        self._units = b""
        self._sizes = b""
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`."""
        if self._fired:
            return None
        self._units = (self._units + block.joined)[-UNIT_BYTES * self._window :]
        self._sizes = (self._sizes + block.sizes)[-self._window :]
        size, units = UNIT_BYTES * self._gram, self._units
        fresh = max(0, len(units) - len(block.joined) - size + UNIT_BYTES)
        for at in range(fresh, len(units) - size + 1, size):
            gram = units[at : at + size]
            if units.count(gram) < self._copies:
                continue
            places = self._places(gram, block.reach)
            if len(places) >= self._copies:
                self._fired = True
                return Finding("ngrams", places[0], block.end, len(places), places[1])
        return None

    def _places(self, gram: bytes, reach: int) -> list[int]:
        """Return the offsets at which the n-gram begins, copies that overlap once."""
        places, at = [], self._units.find(gram)
        while at >= 0:
            if at % UNIT_BYTES == 0:
                places.append(reach - sum(self._sizes[at // UNIT_BYTES :]))
            at = self._units.find(gram, at + (1 if at % UNIT_BYTES else len(gram)))
        return places
