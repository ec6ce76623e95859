"""Cuts a text stream into blocks of units: words, CJK characters, punctuation."""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Callable, Sequence
from itertools import compress
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

NUMBER = 1
"""The kind of a number, list ordinals aside."""
LETTERS = 2
"""The kind of a word or CJK character."""
WORD = NUMBER | LETTERS
"""Units of neither kind are punctuation, symbols and list ordinals."""
UNIT_BYTES = 4
"""Bytes of a unit; it is a number below 2**30, its lowest bits are its kind."""
ORDINAL = b"\4\0\0\0"
"""The unit of every list ordinal."""
BLANK = 0
"""As a number, the unit of white space that nothing follows for 16 characters."""
_ANY_NUMBER = bytes([NUMBER, 0, 0, 0])
_HASH = (1 << 30) - 8
_KINDS = bytes(byte & WORD for byte in range(256))
_LETTERS_ONLY = bytes(kind == LETTERS for kind in range(256))


class Block(NamedTuple):
    """What one stretch of text completed."""

    end: int
    """One past the block's last character."""
    text: str
    """The block's own characters, as few as have `BLOCK_BYTES`."""
    start: int
    """Where its first unit begins."""
    units: list[bytes]
    """Equal if the case-folded text is, white space before it aside."""
    joined: bytes
    """The units as one string, to search in."""
    kinds: bytes
    """What each unit is: `NUMBER`, `LETTERS` or 0."""
    sizes: bytes
    """Characters of each unit, white space before it included."""

    @property
    def reach(self) -> int:
        """One past the last character of its last unit."""
        return self.start + sum(self.sizes)

    def masked(self) -> bytes:
        """Return those of its units that are words, joined, all numbers the same."""
        if NUMBER not in self.kinds:
            return b"".join(compress(self.units, self.kinds))
        return b"".join(
            unit if kind & LETTERS else _ANY_NUMBER
            for unit, kind in zip(self.units, self.kinds, strict=True)
            if kind
        )


def kinds_of(units: bytes) -> bytes:
    """Return the kind of each of some joined units."""
    return units[::UNIT_BYTES].translate(_KINDS)


def of_kind(units: bytes, kind: int) -> bytes:
    """Return those of some joined units that are `LETTERS`, or any `WORD`, joined."""
    kinds = kinds_of(units)
    if kind == LETTERS:
        kinds = kinds.translate(_LETTERS_ONLY)
    return array("I", compress(memoryview(units).cast("I"), kinds)).tobytes()


def phrases(words: bytes, length: int) -> list[bytes]:
    """Return every phrase of `length` words, joined ones like `words`."""
    size, end = length * UNIT_BYTES, len(words) + UNIT_BYTES
    return [words[at - size : at] for at in range(size, end, UNIT_BYTES)]


def characters(words: bytes) -> str:
    """Return one character for each of some joined units, equal if they are."""
    # The upper halves: 14 bits of a checksum, so none of them is a surrogate.
    return memoryview(words).cast("H")[1::2].tobytes().decode("utf-16-le")


class _Memo[Value](dict[str, Value]):
    """What a function says of each piece of text seen lately."""

    _MOST = 1 << 13

    def __init__(self, function: Callable[[str], Value]) -> None:
        self._function = function

    def __missing__(self, piece: str) -> Value:
        if len(self) >= self._MOST:
            self.clear()
        value = self[piece] = self._function(piece)
        return value


def _unit(piece: str) -> bytes:
    """Return the unit of a piece: equal if the case-folded text is."""
    folded = piece.strip().casefold()
    kind = NUMBER * folded[-1:].isdigit() or LETTERS * folded[-1:].isalpha()
    # A checksum, unlike hash(), is the same in every process.
    return (zlib.crc32(_encoded(folded)) & _HASH | kind).to_bytes(UNIT_BYTES, "little")


def _role(piece: str) -> tuple[bool, bool, bool]:
    """Tell whether a piece has a line break, is a full stop, has more than bullets."""
    return "\n" in piece, piece[-1] in _STOPS, piece.strip(_BULLETS) != ""


_UNITS = _Memo(_unit)
_ROLES = _Memo(_role)


class Reader:
    r"""Cuts a stream into blocks; holds back one unfinished block and two units.

    Example:
        >>> [block] = Reader().feed("Step 1: go.\nStep 2: go.\n" + 13 * "And on. ")
        >>> list(block.sizes[:6])  # "Step", " 1", ":", " go", ".", "\nStep"
        [4, 2, 1, 3, 1, 5]
        >>> block.units[:5] == block.units[5:10]
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
        blocks, self._unread, self.unread_bytes = _cut(self._unread)
        return list(map(self._block, blocks))

    def _block(self, text: str) -> Block:
        start = self._end - len(self._held)
        self._end += len(text)
        pieces = _PIECE.findall(self._held + text)
        done = pieces[:-_HELD_PIECES]
        self._held = "".join(pieces[-_HELD_PIECES:])
        units = list(map(_UNITS.__getitem__, done))
        joined = b"".join(units)
        kinds = kinds_of(joined)
        if NUMBER in kinds and self._mask_ordinals(units, kinds, pieces):
            joined = b"".join(units)
            kinds = kinds_of(joined)
        self._context = (
            done[-_CONTEXT_PIECES:]
            if len(done) >= _CONTEXT_PIECES
            else (self._context + done)[-_CONTEXT_PIECES:]
        )
        sizes = bytes(map(len, done))
        return Block(self._end, text, start, units, joined, kinds, sizes)

    def _mask_ordinals(
        self, units: list[bytes], kinds: bytes, pieces: list[str]
    ) -> bool:
        """Give every list ordinal the same unit; tell whether there are any."""
        around = self._context + pieces
        shift = len(self._context)
        is_masked, at = False, -1
        while (at := kinds.find(NUMBER, at + 1)) >= 0:
            before = around[max(0, at + shift - _CONTEXT_PIECES) : at + shift]
            if "\n" in pieces[at] or _is_ordinal(before, pieces[at], pieces[at + 1]):
                units[at] = ORDINAL
                is_masked = True
        return is_masked


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _cut(text: str) -> tuple[list[str], str, int]:
    """Return the blocks of a text, what is left over, and the bytes of that."""
    at, blocks = 0, []
    if text.isascii():
        while len(text) - at >= BLOCK_BYTES:
            blocks.append(text[at : at + BLOCK_BYTES])
            at += BLOCK_BYTES
        return blocks, text[at:], len(text) - at
    data = _encoded(text)
    while len(data) - at >= BLOCK_BYTES:
        end = at + BLOCK_BYTES
        while data[end : end + 1] and data[end] & 0xC0 == 0x80:  # within a character
            end += 1
        blocks.append(data[at:end].decode("utf-8", "surrogatepass"))
        at = end
    return blocks, data[at:].decode("utf-8", "surrogatepass"), len(data) - at


def _is_ordinal(before: Sequence[str], number: str, after: str) -> bool:
    """Tell whether a number counts items: "793." or "**Step 69:", "so. Case 3:".

    That is, whether it is the first or second word of a line, list and heading marks
    aside, or of a sentence with a mark behind it.
    """
    words = 0
    for piece in reversed(before):
        has_break, is_stop, is_word = _ROLES[piece]
        if has_break:
            return words + is_word <= 1
        if is_stop:
            return after in _MARKS and (words == 1 or number[0].isspace())
        words += is_word
        if words > 1:
            return False
    return False
