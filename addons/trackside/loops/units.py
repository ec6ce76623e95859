"""Cuts a text stream into blocks of units: words, CJK characters, punctuation."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

BLOCK_CHARS = 128
"""Characters a block spans. Work for a block amortises over about 32 tokens."""

_ALONE = (
    "\u0e00-\u0eff"  # Thai and Lao write no spaces between words
    "\u1000-\u109f\u1780-\u17ff"  # nor do Burmese and Khmer
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # nor Japanese, Chinese
    "\U00020000-\U0003ffff"
)
# Every piece ends in its core and begins with the white space before it, so that the
# pieces tile the text. The bounds keep what must be held back short.
_PIECE = re.compile(
    r"\s{0,16}(?:[A-Za-z]{1,24}|[0-9]{1,9}|[!-~]"  # plain ones first: it is quicker
    rf"|[^\W\d_{_ALONE}]{{1,24}}|\S)|\s{{1,16}}"
)
_HELD_PIECES = 2  # the last may yet grow; the one before may yet become an ordinal
_MARKS = frozenset(".:)、．：）")  # what follows an ordinal
_STOPS = frozenset(".!?。！？")

ORDINAL = 1
"""The unit of every list ordinal."""


@dataclass(frozen=True, slots=True)
class Block:
    """What one stretch of text completed. Lists have one item per unit."""

    end: int
    """One past the block's last character, a multiple of `BLOCK_CHARS`."""
    text: str
    """The block's own characters, `BLOCK_CHARS` of them."""
    ids: list[int]
    """Which unit it is: equal for equal case-folded text; list ordinals are one."""
    starts: list[int]
    """Where the unit begins, white space before it included."""


@lru_cache(maxsize=1 << 15)
def _unit(piece: str) -> int:
    """Return the unit of a piece; the units of numbers are odd."""
    # A checksum, unlike hash(), is the same in every process.
    folded = piece.strip().casefold().encode("utf-8", "surrogatepass")
    return zlib.crc32(folded) << 1 | folded[-1:].isdigit()


class Reader:
    r"""Cuts a stream into blocks; holds back one unfinished block and two units.

    Example:
        >>> [block] = Reader().feed("Step 1: go.\nStep 2: go.\n" + 13 * "And on. ")
        >>> [block.text[s:e] for s, e in zip(block.starts[:6], block.starts[1:])]
        ['Step', ' 1', ':', ' go', '.', '\nStep']
        >>> block.ids[:5] == block.ids[5:10]
        True
    """

    def __init__(self) -> None:
        self._unread: list[str] = []  # deltas of the unfinished block
        self._unread_chars = 0
        self._held = ""  # the pieces held back
        self._context = ["\n", "\n"]  # the two pieces before them
        self._end = 0

    def feed(self, text: str) -> list[Block]:
        """Return the blocks that `text` completes. O(len(text))."""
        self._unread.append(text)
        self._unread_chars += len(text)
        if self._unread_chars < BLOCK_CHARS:
            return []
        unread = "".join(self._unread)
        whole = len(unread) - len(unread) % BLOCK_CHARS
        self._unread = [unread[whole:]]
        self._unread_chars = len(unread) - whole
        return [
            self._block(unread[at : at + BLOCK_CHARS])
            for at in range(0, whole, BLOCK_CHARS)
        ]

    def _block(self, text: str) -> Block:
        start = self._end - len(self._held)
        self._end += len(text)
        pieces = _PIECE.findall(self._held + text)
        done = pieces[:-_HELD_PIECES]
        self._held = "".join(pieces[-_HELD_PIECES:])
        starts = list(accumulate(map(len, done), initial=start))
        starts.pop()
        ids = list(map(_unit, done))
        numbers = [at for at, unit in enumerate(ids) if unit & 1]
        if numbers:
            around = self._context + pieces
            for at in numbers:
                if _is_ordinal(*around[at : at + 4]):
                    ids[at] = ORDINAL
        self._context = (self._context + done)[-2:]
        return Block(self._end, text, ids, starts)


def _is_ordinal(before: str, word: str, number: str, after: str) -> bool:
    """Tell whether the number counts the items of a list: "793." or "Step 69:"."""
    if "\n" in number or "\n" in word:
        return True
    starts_sentence = "\n" in before or before[-1] in _STOPS
    return starts_sentence and after in _MARKS
