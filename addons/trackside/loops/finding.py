"""What a detector says, and what every detector is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from trackside.loops.units import Block, Reader


@dataclass(frozen=True, slots=True)
class Finding:
    """Evidence of a loop. Offsets count characters from the start of the reasoning.

    The text before `start` is free of the loop, so it may be handed on; the text
    from `start` to `second` is the first copy.
    """

    detector: str
    """Name of the detector, as in the options."""
    start: int
    """First character of the first copy."""
    end: int
    """One past the last character read when it fired."""
    copies: int
    """Copies seen, at least 2."""
    second: int
    """First character of the second copy, greater than `start`."""


class Detector(Protocol):
    """Reads one stream of text once, in bounded memory, and fires at most once.

    A detector decides at the ends of blocks, which lie at fixed offsets of the text:
    how the stream was cut into deltas cannot change what it finds.
    """

    trips: ClassVar[bool]
    """Whether a finding is enough to act on; if not, it is evidence and is reported."""
    _reader: Reader

    def read(self, block: Block) -> Finding | None:
        """Take the next block. Return the finding once, then None for ever."""
        ...

    def update(self, text: str) -> Finding | None:
        """Take the next piece of text. Return the finding once, then None for ever."""
        for block in self._reader.feed(text):
            if finding := self.read(block):
                return finding
        return None
