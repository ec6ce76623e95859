"""Finds a paragraph that comes back word for word."""

from __future__ import annotations

from trackside.loops.recurrence import Recurring
from trackside.loops.segments import PARAGRAPH


class Paragraphs(Recurring):
    """Fires when one paragraph keeps coming back; see `Recurring`."""

    name = "paragraphs"
    separator = PARAGRAPH

    def __init__(self, *, copies: int = 3, ring: int = 64, chars: int = 64) -> None:
        super().__init__(copies=copies, ring=ring, chars=chars)
