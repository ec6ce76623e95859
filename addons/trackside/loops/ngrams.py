"""Finds an n-gram that comes back often within a sliding window."""

from __future__ import annotations

from array import array
from typing import ClassVar

from trackside.loops.finding import Detector, Finding
from trackside.loops.units import Block, Reader

_BYTES = 4  # of a unit


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
        self._starts = array("Q")
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`."""
        if self._fired:
            return None
        self._units = (self._units + array("I", block.ids).tobytes())[
            -_BYTES * self._window :
        ]
        self._starts.extend(block.starts)
        del self._starts[: -self._window]
        size, units = _BYTES * self._gram, self._units
        fresh = max(0, len(units) - _BYTES * len(block.ids) - size + _BYTES)
        for at in range(fresh, len(units) - size + 1, size):
            gram = units[at : at + size]
            if units.count(gram) < self._copies:
                continue
            places = self._places(gram)
            if len(places) >= self._copies:
                self._fired = True
                return Finding("ngrams", places[0], block.end, len(places), places[1])
        return None

    def _places(self, gram: bytes) -> list[int]:
        """Return the offsets at which the n-gram begins, copies that overlap once."""
        places, at = [], self._units.find(gram)
        while at >= 0:
            if at % _BYTES == 0:
                places.append(self._starts[at // _BYTES])
            at = self._units.find(gram, at + (1 if at % _BYTES else len(gram)))
        return places
