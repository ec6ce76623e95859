"""Counts what comes back within a ring of the last segments."""

from __future__ import annotations

from collections import deque


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
