"""Finds paragraphs that keep opening the same way ("Actually, I think I found …")."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from rapidfuzz import fuzz, process

from trackside.loops.finding import Detector, Finding
from trackside.loops.segments import PARAGRAPH, Segments
from trackside.loops.units import Block, Reader


class Openings(Detector):
    """Fires when `copies` of the last `ring` paragraphs open nearly alike.

    Case analyses and lists do so by nature, so this is evidence, not a trip.

    Parameters:
        copies: paragraphs that must open alike, this one included, at least 2.
        ring: paragraphs looked back on.
        chars: length of an opening, in characters; shorter paragraphs never count.
        alike: how similar two openings must be, 0 to 100 (`fuzz.ratio`).
    """

    trips: ClassVar[bool] = False

    def __init__(
        self, *, copies: int = 5, ring: int = 20, chars: int = 40, alike: int = 88
    ) -> None:
        self._copies = copies
        self._chars = chars
        self._alike = alike
        self._reader = Reader()
        self._segments = Segments(PARAGRAPH, chars)
        self._openings: deque[str] = deque(maxlen=ring)
        self._starts: deque[int] = deque(maxlen=ring)
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`. O(characters of the block + ring)."""
        if self._fired:
            return None
        for segment in self._segments.feed(block.text):
            opening = segment.opening(self._chars)
            if len(opening) < self._chars:
                continue
            alike = process.extract(
                opening,
                self._openings,
                scorer=fuzz.ratio,
                score_cutoff=self._alike,
                limit=None,
            )
            if len(alike) + 1 >= self._copies:
                self._fired = True
                first, second = sorted(at for _, _, at in alike)[:2]
                return Finding(
                    "openings",
                    self._starts[first],
                    block.end,
                    len(alike) + 1,
                    self._starts[second],
                )
            self._openings.append(opening)
            self._starts.append(segment.start)
        return None
