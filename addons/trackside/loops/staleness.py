"""Finds text that says nothing new: nearly all of its n-grams were there before."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from trackside.loops.finding import Detector, Finding
from trackside.loops.tape import TAPE_UNITS, Tape
from trackside.loops.units import Block, Reader


class Staleness(Detector):
    """Fires when most of the last `window` units end an n-gram of old.

    Real loops drift: no block comes back verbatim, but the phrases do. A third
    occurrence is asked for because honest re-verification says things twice.

    Parameters:
        gram: units of an n-gram, at least 2.
        before: earlier occurrences that make it stale, at least 1.
        window: units over which the share is taken.
        share: share of stale units that fires, 0 to 1.
    """

    trips: ClassVar[bool] = True

    def __init__(
        self, *, gram: int = 6, before: int = 2, window: int = 450, share: float = 0.9
    ) -> None:
        self._gram = gram
        self._before = before
        self._window = window
        self._threshold = round(share * window)
        self._reader = Reader()
        self._tape = Tape()
        self._seen: dict[tuple[int, ...], int] = {}
        self._order: deque[tuple[int, ...]] = deque()
        self._last: list[int] = []  # units that the next gram begins with
        self._flags: deque[bool] = deque([False] * window, maxlen=window)
        self._stale = 0
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`. O(units of the block)."""
        if self._fired:
            return None
        self._tape.extend(block)
        ids = self._last + block.ids
        self._last = ids[1 - self._gram :]
        most = 0
        for gram in zip(*(ids[at:] for at in range(self._gram)), strict=False):
            count = self._seen.get(gram, 0)
            self._seen[gram] = count + 1
            self._order.append(gram)
            stale = count >= self._before
            self._stale += stale - self._flags[0]
            self._flags.append(stale)
            most = max(most, self._stale)
        while len(self._order) > TAPE_UNITS:
            gram = self._order.popleft()
            if self._seen[gram] == 1:
                del self._seen[gram]
            else:
                self._seen[gram] -= 1
        if most < self._threshold:
            return None
        self._fired = True
        start, second, copies = self._tape.copies(self._window, self._gram)
        return Finding("staleness", start, block.end, copies, second)
