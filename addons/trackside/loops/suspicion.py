"""Says for how long a stream has said nothing new."""

from __future__ import annotations

from zlib import crc32

from trackside.loops.units import UNIT_BYTES, Block, phrases

_PHRASE_WORDS = 5
_MEMORY_WORDS = 8192  # at most twice as many
_SLOTS = 1 << 18  # of phrases, 3 to 6 % of them in use
_AGED = bytes(max(0, age - 1) for age in range(256))


class Suspicion:
    """Scores words that say nothing new.

    Each phrase of five words that stood there before adds one, others take one away;
    all numbers are the same. Healthy text comes to half a page in 3 % of its blocks, so
    this only says when to look closer. Holds 0.3 MB.
    """

    def __init__(self) -> None:
        self.since = 0  # offset of the block in which the score last left zero
        self.score = 0  # in words
        self._words = b""  # that begin phrases to come
        self._seen = bytearray(_SLOTS)  # 2 since memory was last renewed, 1 before
        self._counted = 0  # words since then

    def read(self, block: Block) -> None:
        """Take the next block. O(units)."""
        words = self._words + block.masked()
        self._words = words[-(_PHRASE_WORDS - 1) * UNIT_BYTES :]
        seen = self._seen
        # A checksum, unlike hash(), is the same in every process.
        slots = [crc32(phrase) % _SLOTS for phrase in phrases(words, _PHRASE_WORDS)]
        fresh = [seen[slot] for slot in slots].count(0)
        for slot in slots:
            seen[slot] = 2
        self._counted += len(slots)
        if self._counted >= _MEMORY_WORDS:
            self._seen = seen.translate(_AGED)
            self._counted = 0
        if not self.score and fresh < len(slots):
            self.since = block.start
        self.score = max(0, self.score + len(slots) - 2 * fresh)
