"""Finds exact cycles: the same units over and over, from one token to a page."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import ClassVar

from trackside.loops.finding import Detector, Finding
from trackside.loops.units import BLANK, BLOCK_BYTES, WORD, Block, Reader

_TAIL_UNITS = 2048  # looked back on: cycles up to 970 units; `Staleness` sees others
_KEY_UNITS = 8  # by which a distance is proposed
_TRIES = 8  # distances tried: what comes back within a cycle proposes false ones
_BYTES = 4  # of a unit on the tail
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
        self._starts = array("Q")
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`."""
        if self._fired:
            return None
        self._tail += array("I", block.ids).tobytes()
        self._starts.extend(block.starts)
        if len(self._starts) > 2 * _TAIL_UNITS:
            del self._starts[:-_TAIL_UNITS]
            del self._tail[: -_TAIL_UNITS * _BYTES]
        for distance in self._distances():
            span = distance + self._run(distance)
            # What is written in few characters, emoji above all, is many tokens.
            is_stutter = span >= _STUTTER * distance and len(block.text) < _FEW_CHARS
            enough = self._units // 2 if is_stutter else self._units
            if span >= self._copies * distance and (
                span >= enough or self._chars_of(span) >= self._chars
            ):
                self._fired = True
                first = len(self._starts) - span
                start, second = self._starts[first], self._starts[first + distance]
                copies = span // distance
                return Finding("cycles", start, block.end, copies, second)
        return None

    def _distances(self) -> Iterator[int]:
        """Yield how many units ago the last units stood before, nearest first."""
        end = len(self._tail)
        key = self._tail[-_BYTES * _KEY_UNITS :]
        at, oldest = end - 1, max(0, end - _TAIL_UNITS * _BYTES)
        tries = _TRIES if len(key) == _BYTES * _KEY_UNITS else 0
        while tries and (at := self._tail.rfind(key, oldest, at)) >= 0:
            if (end - at) % _BYTES == 0:
                yield (end - at) // _BYTES - _KEY_UNITS
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
        units = memoryview(bytes(self._tail)).cast("I")[-span:]
        starts = self._starts[-span:]
        return sum(
            end - start
            for unit, start, end in zip(units, starts, starts[1:], strict=False)
            if unit & WORD or unit == BLANK
        )
