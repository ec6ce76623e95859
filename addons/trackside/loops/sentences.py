"""Finds a sentence that comes back word for word."""

from __future__ import annotations

from trackside.loops.recurrence import Recurring
from trackside.loops.segments import SENTENCE


class Sentences(Recurring):
    """Fires when one sentence keeps coming back; see `Recurring`."""

    name = "sentences"
    separator = SENTENCE

    def __init__(self, *, copies: int = 5, ring: int = 128, chars: int = 24) -> None:
        super().__init__(copies=copies, ring=ring, chars=chars)
