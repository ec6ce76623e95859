"""Cuts a text stream into blocks of units: words, CJK characters, punctuation."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

BLOCK_BYTES = 128
"""Bytes of UTF-8 a block spans, up to the next character: about 30 tokens of English
or Russian, 50 of Chinese, 100 of emoji."""

_ALONE = (
    "\u0e00-\u0eff"  # Thai and Lao write no spaces between words
    "\u1000-\u109f\u1780-\u17ff"  # nor do Burmese and Khmer
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # nor Japanese, Chinese
    "\U00020000-\U0003ffff"
)
# Every piece ends in its core and begins with the white space before it, so that the
# pieces tile the text. The bounds keep what must be held back short.
_PIECE = re.compile(
    r"\s{0,16}+(?:[A-Za-z]{1,24}+|[0-9]{1,9}(?:e[+-]?[0-9]{1,3})?"  # plain ones first
    r"|(?=[-=_*.─])(?:-{3,64}|={3,64}|_{3,64}|\*{3,64}|\.{3,64}|─{3,64})|[!-~]"
    rf"|[^\W\d_{_ALONE}]{{1,24}}|\S)|\s{{1,16}}+"
)
_HELD_PIECES = 2  # the last may yet grow; the one before may yet become an ordinal
_CONTEXT_PIECES = 6  # looked at before a number
_MARKS = frozenset(".:)、．：）")  # what follows an ordinal
_STOPS = frozenset(".!?。！？")
_BULLETS = "#*-+>([|•_` \t\n"  # what may stand before the first word of a line

_HASH = (1 << 30) - 8  # small integers: Python multiplies them four times as fast

NUMBER = 1
"""This bit is set in the unit of a number, list ordinals aside."""
LETTERS = 2
"""This bit is set in the unit of a word or CJK character."""
WORD = NUMBER | LETTERS
"""Units without either bit are punctuation, symbols and list ordinals."""
ORDINAL = 4
"""The unit of every list ordinal."""
BLANK = 0
"""The unit of white space that nothing follows for 16 characters."""


class Block(NamedTuple):
    """What one stretch of text completed. Lists have one item per unit."""

    end: int
    """One past the block's last character."""
    text: str
    """The block's own characters, as few as have `BLOCK_BYTES`."""
    ids: list[int]
    """Which unit it is, below 2**30."""
    starts: list[int]
    """Where the unit begins, white space before it included."""


@lru_cache(maxsize=1 << 13)
def _unit(piece: str) -> int:
    """Return the unit of a piece: equal if the case-folded text is, below 2**30."""
    folded = piece.strip().casefold()
    kind = NUMBER * folded[-1:].isdigit() or LETTERS * folded[-1:].isalpha()
    # A checksum, unlike hash(), is the same in every process.
    return zlib.crc32(_encoded(folded)) & _HASH | kind


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
        self._unread = ""  # the unfinished block
        self.unread_bytes = 0
        """Bytes of the unfinished block so far."""
        self._held = ""  # the pieces held back
        self._context = ["\n"]  # the pieces before them
        self._end = 0

    def feed(self, text: str) -> list[Block]:
        """Return the blocks that `text` completes. O(len(text))."""
        self._unread += text
        self.unread_bytes += len(text if text.isascii() else _encoded(text))
        if self.unread_bytes < BLOCK_BYTES:
            return []
        *blocks, self._unread = _cut(self._unread)
        self.unread_bytes = len(_encoded(self._unread))
        return list(map(self._block, blocks))

    def _block(self, text: str) -> Block:
        start = self._end - len(self._held)
        self._end += len(text)
        pieces = _PIECE.findall(self._held + text)
        done = pieces[:-_HELD_PIECES]
        self._held = "".join(pieces[-_HELD_PIECES:])
        starts = list(accumulate(map(len, done), initial=start))
        starts.pop()
        ids = list(map(_unit, done))
        if any(map(NUMBER.__and__, ids)):
            self._mask_ordinals(ids, pieces)
        self._context = (
            done[-_CONTEXT_PIECES:]
            if len(done) >= _CONTEXT_PIECES
            else (self._context + done)[-_CONTEXT_PIECES:]
        )
        return Block(self._end, text, ids, starts)

    def _mask_ordinals(self, ids: list[int], pieces: list[str]) -> None:
        """Give every list ordinal the same unit."""
        around = self._context + pieces
        shift = len(self._context)
        for at, unit in enumerate(ids):
            if unit & NUMBER:
                before = around[max(0, at + shift - _CONTEXT_PIECES) : at + shift]
                if "\n" in pieces[at] or _is_ordinal(
                    before, pieces[at], pieces[at + 1]
                ):
                    ids[at] = ORDINAL


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _cut(text: str) -> list[str]:
    """Return the blocks of a text, and last what is left over."""
    if text.isascii():
        return [
            text[at : at + BLOCK_BYTES] for at in range(0, len(text) + 1, BLOCK_BYTES)
        ]
    data, at, blocks = _encoded(text), 0, []
    while len(data) - at >= BLOCK_BYTES:
        end = at + BLOCK_BYTES
        while data[end : end + 1] and data[end] & 0xC0 == 0x80:  # within a character
            end += 1
        blocks.append(data[at:end].decode("utf-8", "surrogatepass"))
        at = end
    return [*blocks, data[at:].decode("utf-8", "surrogatepass")]


def _is_ordinal(before: Sequence[str], number: str, after: str) -> bool:
    """Tell whether a number counts items: "793." or "**Step 69:", "so. Case 3:".

    That is, whether it is the first or second word of a line, list and heading marks
    aside, or of a sentence with a mark behind it.
    """
    words = 0
    for piece in reversed(before):
        if "\n" in piece:
            return words + (piece.strip(_BULLETS) != "") <= 1
        if piece[-1] in _STOPS:
            return after in _MARKS and (words == 1 or number[0].isspace())
        words += piece.strip(_BULLETS) != ""
        if words > 1:
            return False
    return False
