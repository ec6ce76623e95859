"""Loop detectors of others, written anew from descriptions of what they do.

Each takes a token, or its text, and says whether it would stop the stream there.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar, Literal, Protocol, runtime_checkable

from trackside.loops.segments import PARAGRAPH, Segments


@runtime_checkable
class Peer[Item](Protocol):
    """A detector that reads tokens or their texts."""

    reads: ClassVar[Literal["tokens", "texts"]]

    def update(self, item: Item, /) -> bool:
        """Take the next token; tell whether the stream would be stopped."""
        ...


class ExactTail:
    """Stops when the tail is `copies` copies of a block of `least` to `most` tokens."""

    reads: ClassVar[Literal["tokens", "texts"]] = "tokens"

    def __init__(
        self,
        least: int,
        most: int,
        copies: int,
        *,
        window: int = 1 << 20,
        every: int = 1,
        after: int = 0,
    ) -> None:
        self._sizes = range(least, min(most, window // copies) + 1)
        self._copies = copies
        self._every = every
        self._after = after
        self._tokens: list[int] = []
        self._places: defaultdict[int, deque[int]] = defaultdict(deque)

    def update(self, item: int, /) -> bool:
        """See `Peer.update`."""
        tokens, here = self._tokens, len(self._tokens)
        tokens.append(item)
        places = self._places[item]
        while places and here - places[0] > self._sizes[-1]:
            places.popleft()
        found = (
            here >= self._after
            and here % self._every == 0
            and any(self._repeats(here - place) for place in reversed(places))
        )
        places.append(here)
        return found

    def _repeats(self, size: int) -> bool:
        tokens = self._tokens
        span = size * self._copies
        if size not in self._sizes or len(tokens) < span:
            return False
        if tokens[-8:-1] != tokens[-8 - size : -1 - size] and size >= 8:
            return False
        return tokens[size - span :] == tokens[-span:-size]


class GeminiChunks:
    """gemini-cli: the same 50 characters ten times, close together, in prose."""

    reads: ClassVar[Literal["tokens", "texts"]] = "texts"

    _CHUNK, _TIMES, _HISTORY, _DISTANCE = 50, 10, 5000, 250
    _MARKUP = re.compile(r"(^|\n)\s*(\|.*\||[*+-]\s|\d+\.\s|#+\s|>\s)")
    _DIVIDER = re.compile(r"^[+-_=*\u2500-\u257f]+$")  # the range is theirs

    def __init__(self) -> None:
        self._text = ""  # since the last reset
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        self._in_code = False

    def update(self, item: str, /) -> bool:
        """See `Peer.update`."""
        fences = item.count("```")
        if fences or self._MARKUP.search(item) or self._DIVIDER.match(item):
            self._text = ""
            self._places.clear()
        self._in_code ^= fences % 2 == 1
        if self._in_code or fences:
            return False
        fresh = max(0, len(self._text) - self._CHUNK + 1)
        self._text += item
        return any(
            self._chunk(at) for at in range(fresh, len(self._text) - self._CHUNK + 1)
        )

    def _chunk(self, at: int) -> bool:
        places = self._places[self._text[at : at + self._CHUNK]]
        places.append(at)
        last = places[-self._TIMES :]
        if len(last) < self._TIMES or at - last[0] > self._HISTORY:
            return False
        gaps = {b - a for a, b in pairwise(last)}
        mean = (last[-1] - last[0]) / (self._TIMES - 1)
        return mean <= self._DISTANCE and len(gaps) <= 5


class SameParagraph:
    """senpi: the third byte-identical paragraph among the last 64."""

    reads: ClassVar[Literal["tokens", "texts"]] = "texts"

    def __init__(self) -> None:
        self._segments = Segments(PARAGRAPH)
        self._ring: deque[str] = deque(maxlen=64)

    def update(self, item: str, /) -> bool:
        """See `Peer.update`."""
        for segment in self._segments.feed(item):
            if len(segment.text) >= 64:
                self._ring.append(segment.text)
                if self._ring.count(segment.text) >= 3:
                    return True
        return False


class NearParagraph:
    """senpi: eight of the last twelve paragraphs share half their words with others."""

    reads: ClassVar[Literal["tokens", "texts"]] = "texts"

    def __init__(self) -> None:
        self._segments = Segments(PARAGRAPH)
        self._ring: deque[set[str]] = deque(maxlen=32)
        self._near: deque[bool] = deque(maxlen=12)

    def update(self, item: str, /) -> bool:
        """See `Peer.update`."""
        for segment in self._segments.feed(item):
            words = set(segment.text.casefold().split())
            self._near.append(any(_jaccard(words, old) >= 0.5 for old in self._ring))
            self._ring.append(words)
            if sum(self._near) >= 8:
                return True
        return False


def _jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / (len(a | b) or 1)


PEERS: dict[str, Callable[[], Peer[int] | Peer[str]]] = {
    "vLLM repetition_detection 1..20 x3": lambda: ExactTail(1, 20, 3),
    "vLLM thinking loop 4..128 x3": lambda: ExactTail(
        4, 128, 3, window=512, every=16, after=256
    ),
    "llama.cpp #26039 16..1024 x4": lambda: ExactTail(16, 1024, 4),
    "gemini-cli chunks": GeminiChunks,
    "paragraph x3": SameParagraph,
    "near-duplicate Jaccard": NearParagraph,
}
"""Thresholds: vLLM PR 35451 and 52677, llama.cpp PR 26039, gemini-cli
`loopDetectionService`, senpi TTSR."""
