"""Finds exact cycles: the same units over and over, from one token to a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from trackside.loops.finding import Detector, Finding
from trackside.loops.units import (
    BLANK,
    BLOCK_BYTES,
    UNIT_BYTES,
    Block,
    Reader,
    kinds_of,
)

_TAIL_UNITS = 2048  # looked back on: cycles up to 970 units; `Staleness` sees others
_KEY_UNITS = 8  # by which a distance is proposed
_TRIES = 8  # distances tried: what comes back within a cycle proposes false ones
_STUTTER = 16  # copies
_FEW_CHARS = BLOCK_BYTES // 2  # in a block


class Cycles(Detector):
    """Fires when the stream has repeated itself exactly, without a gap.

    Healthy text says things twice in a row but does not go on with them: in 650
    traces no third copy got far. List ordinals do not matter. At the end of each
    block the tail is searched for its last units: O(tail) a block, done in C.

    Parameters:
        copies: copies wanted, the last one need not be whole.
        units: units that they must span, half of them in a stutter of symbols, or
        chars: letters, digits and blanks that they must span. Rules ("-----") and a
            grid of zeros do not come to this.

    Example:
        >>> Cycles().update("What now" + 200 * "?!")
        Finding(detector='cycles', start=8, end=256, copies=123, second=10)
    """

    trips: ClassVar[bool] = True

    def __init__(
        self, *, copies: float = 2.1, units: int = 128, chars: int = 700
    ) -> None:
        self._copies = copies
        self._units = units
        self._chars = chars
        self._reader = Reader()
        self._tail = bytearray()  # of units
        self._sizes = bytearray()  # of them, in characters
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`."""
        if self._fired:
            return None
        self._tail += block.joined
        self._sizes += block.sizes
        if len(self._sizes) > 2 * _TAIL_UNITS:
            del self._sizes[:-_TAIL_UNITS]
            del self._tail[: -_TAIL_UNITS * UNIT_BYTES]
        for distance in self._distances():
            span = distance + self._run(distance)
            # What is written in few characters, emoji above all, is many tokens.
            is_stutter = span >= _STUTTER * distance and len(block.text) < _FEW_CHARS
            enough = self._units // 2 if is_stutter else self._units
            if span >= self._copies * distance and (
                span >= enough or self._chars_of(span) >= self._chars
            ):
                self._fired = True
                start = block.reach - sum(self._sizes[-span:])
                second = block.reach - sum(self._sizes[distance - span :])
                copies = span // distance
                return Finding("cycles", start, block.end, copies, second)
        return None

    def _distances(self) -> Iterator[int]:
        """Yield how many units ago the last units stood before, nearest first."""
        end = len(self._tail)
        key = self._tail[-UNIT_BYTES * _KEY_UNITS :]
        at, oldest = end - 1, max(0, end - _TAIL_UNITS * UNIT_BYTES)
        tries = _TRIES if len(key) == UNIT_BYTES * _KEY_UNITS else 0
        while tries and (at := self._tail.rfind(key, oldest, at)) >= 0:
            if (end - at) % UNIT_BYTES == 0:
                yield (end - at) // UNIT_BYTES - _KEY_UNITS
                tries -= 1
            at += len(key) - 1

    def _run(self, distance: int) -> int:
        """Return how many of the last units equal those `distance` before them."""
        units = memoryview(bytes(self._tail)).cast("I")
        end = len(units)
        run = 0
        while (
            run < end - distance and units[end - 1 - run] == units[-1 - run - distance]
        ):
            run += 1
        return run

    def _chars_of(self, span: int) -> int:
        """Return how many characters the last `span` units have, marks aside."""
        tail = bytes(self._tail[-span * UNIT_BYTES : -UNIT_BYTES])
        units, sizes = memoryview(tail).cast("I"), self._sizes[-span:-1]
        return sum(
            size
            for unit, kind, size in zip(units, kinds_of(tail), sizes, strict=True)
            if kind or unit == BLANK
        )
