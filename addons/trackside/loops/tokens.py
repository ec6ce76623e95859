"""Counts tokens offline, with the cl100k vocabulary that tiktoken made the usual one.

tiktoken itself fetches its vocabulary over the network when first used, so it is not
asked; `quicktok` carries the same vocabulary and gives the same tokens.
"""

from __future__ import annotations

import functools
import re
from typing import Protocol

_VOCABULARY = "cl100k_base"

# A space before a letter begins a new token whatever follows: cl100k splits text into
# words with their leading space before it merges bytes.
_BOUNDARY = re.compile(r"(?<=[^\W\d_]) (?=[^\W\d_])")
_LONGEST_CHARS = 256


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
    """Return the number of tokens. O(len(text)).

    Raises:
        ImportError, RuntimeError, OSError: see `available`.
    """
    return _encoding().count(text.encode("utf-8", "replace").decode())


class Counter:
    """Counts the tokens of a stream; each `add` costs what its text costs.

    The count is that of the whole text, except where 256 characters go by without a
    space between letters: there it may be one too high each time.
    """

    def __init__(self) -> None:
        self._settled = 0  # tokens that later text cannot change
        self._tail = ""  # text that it can
        self._tail_tokens = 0

    @property
    def tokens(self) -> int:
        """Tokens so far."""
        return self._settled + self._tail_tokens

    def add(self, text: str) -> int:
        """Take the next piece of the stream and return the tokens so far."""
        tail = self._tail + text
        cut = len(tail) if len(tail) > _LONGEST_CHARS else 0
        for match in _BOUNDARY.finditer(tail):
            cut = match.start()
        if cut:
            self._settled += count(tail[:cut])
            tail = tail[cut:]
        self._tail = tail
        self._tail_tokens = count(tail) if tail else 0
        return self.tokens
