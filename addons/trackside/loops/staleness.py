"""Finds text that says nothing new: most of its phrases were there before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from trackside.loops.finding import Detector, Finding
from trackside.loops.stale import Copied, Reworded, Rule
from trackside.loops.suspicion import Suspicion
from trackside.loops.tape import Tape
from trackside.loops.units import Block, Reader

RULES: tuple[Rule, ...] = (
    # A page that is said a third time. Honest re-verification has new text between
    # its copies, or one copy less.
    Copied(words=12, page=512, cost=1.0, limit=50, suspicion=110),
    # Shorter phrases, so they must prevail for pages. Hand arithmetic and tables do
    # so for one.
    Reworded(words=7, before=3, memory=8192, cost=0.25, limit=330, suspicion=300),
    # Shuffled and with words dropped: pairs of words, nearly all of them.
    Reworded(words=2, before=5, memory=4096, cost=4.0, limit=250, suspicion=300),
)
"""Each limit is a fifth to a third above the worst of 650 healthy traces."""


class Staleness(Detector):
    """Fires when text is suspect and one of its rules finds it stale for long enough.

    Real loops drift: no block comes back verbatim, but phrases do. Punctuation does
    not count, so tables, formulas and code, which are made of it, stay quiet. The
    rules read what the tape holds once suspicion asks for it: O(1) a word and rule.

    Parameters:
        rules: any of them fires.

    Example:
        >>> step = "Then light the other end, and wait until it has burnt down. "
        >>> Staleness().update(20 * step)
        Finding(detector='staleness', start=0, end=768, copies=13, second=59)
    """

    trips: ClassVar[bool] = True

    def __init__(self, *, rules: Sequence[Rule] = RULES) -> None:
        self._reader = Reader()
        self._tape = Tape()
        self._suspicion = Suspicion()
        self._scores = [rule.score() for rule in rules]
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`. O(units of the block), amortised."""
        if self._fired:
            return None
        self._tape.extend(block)
        self._suspicion.read(block)
        for score in self._scores:
            is_asked = self._suspicion.score >= score.rule.suspicion
            if is_asked and score.read(self._tape, block):
                self._fired = True
                since = max(self._suspicion.since, score.since - score.copy_chars)
                start, second, copies = self._tape.copies(
                    min(since, score.since), score.kind
                )
                return Finding("staleness", start, block.end, copies, second)
        return None
