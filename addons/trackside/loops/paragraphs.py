"""Finds a paragraph that comes back word for word."""

from __future__ import annotations

from typing import ClassVar

from trackside.loops.finding import Detector, Finding
from trackside.loops.recurrence import Recurrence
from trackside.loops.segments import PARAGRAPH, Segments
from trackside.loops.units import Block, Reader


class Paragraphs(Detector):
    """Fires when one paragraph has come `copies` times within the last `ring`.

    Healthy thinking restates its givens, so this is evidence, not a trip.

    Parameters:
        copies: times the paragraph must stand there, at least 2.
        ring: paragraphs looked back on.
        chars: shorter paragraphs ("Wait.") never count, in characters.
    """

    trips: ClassVar[bool] = False

    def __init__(self, *, copies: int = 3, ring: int = 64, chars: int = 64) -> None:
        self._copies = copies
        self._chars = chars
        self._reader = Reader()
        self._segments = Segments(PARAGRAPH)
        self._recurrence = Recurrence(ring)
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`. O(characters of the block)."""
        if self._fired:
            return None
        for segment in self._segments.feed(block.text):
            if len(segment.text) < self._chars:
                continue
            places = self._recurrence.add(segment.fingerprint, segment.start)
            if len(places) >= self._copies:
                self._fired = True
                return Finding(
                    "paragraphs", places[0], block.end, len(places), places[1]
                )
        return None
