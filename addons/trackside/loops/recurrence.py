"""Finds a segment of text that comes back word for word, within a ring of the last."""

from __future__ import annotations

import re
from collections import deque
from typing import ClassVar

from trackside.loops.finding import Detector, Finding
from trackside.loops.segments import Segments
from trackside.loops.units import Block, Reader


class Recurrence:
    """Remembers where each key of the last `ring` stood."""

    def __init__(self, ring: int) -> None:
        self._ring = ring
        self._order: deque[str] = deque()
        self._places: dict[str, deque[int]] = {}

    def add(self, key: str, place: int) -> deque[int]:
        """Return the places of the key within the ring, this one last. O(1)."""
        self._order.append(key)
        places = self._places.setdefault(key, deque())
        places.append(place)
        if len(self._order) > self._ring:
            oldest = self._order.popleft()
            self._places[oldest].popleft()
            if not self._places[oldest]:
                del self._places[oldest]
        return places


class Recurring(Detector):
    """Fires when one segment has come `copies` times within the last `ring`.

    Healthy thinking restates its givens, so this is evidence, not a trip.

    Parameters:
        copies: times the segment must stand there, at least 2.
        ring: segments looked back on.
        chars: shorter segments ("Wait.") never count, in characters.
    """

    trips: ClassVar[bool] = False
    name: ClassVar[str]
    """The detector's public name."""
    separator: ClassVar[re.Pattern[str]]
    """What stands between segments."""

    def __init__(self, *, copies: int, ring: int, chars: int) -> None:
        self._copies = copies
        self._reader = Reader()
        self._segments = Segments(self.separator, chars)
        self._recurrence = Recurrence(ring)
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`. O(characters of the block)."""
        if self._fired:
            return None
        for segment in self._segments.feed(block.text):
            places = self._recurrence.add(segment.fingerprint, segment.start)
            if len(places) >= self._copies:
                self._fired = True
                return Finding(self.name, places[0], block.end, len(places), places[1])
        return None
