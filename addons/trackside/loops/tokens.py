"""Counts tokens offline, with the cl100k vocabulary that tiktoken made the usual one.

tiktoken itself fetches its vocabulary over the network when first used, so it is not
asked; `quicktok` carries the same vocabulary and gives the same tokens.
"""

from __future__ import annotations

import functools
import re
from typing import Protocol

_VOCABULARY = "cl100k_base"

# Where a word or number ends, a token ends: cl100k cuts text there before it merges
# bytes.
_BOUNDARY = re.compile(r"(?<=[^\W_])(?=[\s,.;:!?，。、；：！？])")
_LONGEST_CHARS = 256
_SETTLE_CHARS = 64  # the tail may grow so far before it is cut, as that has its price


class _Encoding(Protocol):
    def count(self, text: str, /) -> int: ...


@functools.cache
def _encoding() -> _Encoding:
    import quicktok  # type: ignore[import-untyped] # it ships no types

    encoding: _Encoding = quicktok.get_encoding(_VOCABULARY)
    return encoding


def available() -> str | None:
    """Return None if tokens can be counted, else the reason why not."""
    try:
        _encoding()
    except (ImportError, RuntimeError, OSError) as e:
        return f"tokens cannot be counted: quicktok's {_VOCABULARY} does not load ({e})"
    return None


def count(text: str) -> int:
    """Return the number of tokens; 0 where none can be counted (see `available`).

    O(len(text)).
    """
    try:
        encoding = _encoding()
    except (ImportError, RuntimeError, OSError):
        return 0
    try:
        return encoding.count(text)
    except TypeError:  # half of a surrogate pair
        return encoding.count(text.encode("utf-8", "replace").decode())


class Counter:
    """Counts the tokens of a stream; each `add` costs what its text costs.

    The count is that of the whole text, except where no word ends for 256 characters:
    there it may be one too high each time.
    """

    def __init__(self) -> None:
        self._settled = 0  # tokens that later text cannot change
        self._tail = ""  # text that it can
        self._limit = _SETTLE_CHARS  # of the tail, until it is cut
        self._tail_tokens: int | None = 0  # None: not yet counted

    @property
    def tokens(self) -> int:
        """Tokens so far."""
        if self._tail_tokens is None:
            self._tail_tokens = count(self._tail)
        return self._settled + self._tail_tokens

    def add(self, text: str) -> None:
        """Take the next piece of the stream."""
        self._tail += text
        self._tail_tokens = None
        if len(self._tail) > self._limit:
            self._settle()
            self._limit = len(self._tail) + _SETTLE_CHARS

    def _settle(self) -> None:
        """Count the tail up to where later text cannot change it."""
        tail = self._tail
        cut = len(tail) if len(tail) > _LONGEST_CHARS else 0
        for match in _BOUNDARY.finditer(tail):
            cut = match.start()
        if cut:
            self._settled += count(tail[:cut])
            self._tail = tail[cut:]
