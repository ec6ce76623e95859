"""Finds a sentence that comes back word for word."""

from __future__ import annotations

from typing import ClassVar

from trackside.loops.finding import Detector, Finding
from trackside.loops.recurrence import Recurrence
from trackside.loops.segments import SENTENCE, Segments
from trackside.loops.units import Block, Reader


class Sentences(Detector):
    """Fires when one sentence has come `copies` times within the last `ring`.

    Healthy thinking restates its givens, so this is evidence, not a trip.

    Parameters:
        copies: times the sentence must stand there, at least 2.
        ring: sentences looked back on.
        chars: shorter sentences ("Wait, no.") never count, in characters.
    """

    trips: ClassVar[bool] = False

    def __init__(self, *, copies: int = 5, ring: int = 128, chars: int = 24) -> None:
        self._copies = copies
        self._chars = chars
        self._reader = Reader()
        self._segments = Segments(SENTENCE)
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
                    "sentences", places[0], block.end, len(places), places[1]
                )
        return None
