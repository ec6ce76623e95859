"""Cuts a stream into paragraphs or sentences, each with its place."""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST_CHARS = 4096
"""A segment is cut here if nothing else ends it."""

PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
"""What stands between paragraphs."""
SENTENCE = re.compile(r"(?:[.!?](?=\s)|[。！？\n])\s*")
"""What stands between sentences, their full stop included."""

_DIGITS = re.compile(r"\d+")


class Segment(NamedTuple):
    """A paragraph or sentence."""

    start: int  # its first character
    text: str

    @property
    def fingerprint(self) -> str:
        """The text without case, list numbers at its head and runs of white space."""
        folded = " ".join(self.text.casefold().split())
        return _DIGITS.sub("0", folded[:16]) + folded[16:]


class Segments:
    """Cuts a stream at a separator; holds back the unfinished segment.

    Parameters:
        separator: what stands between segments.
        shortest: segments with fewer characters are passed over.
    """

    def __init__(self, separator: re.Pattern[str], shortest: int = 1) -> None:
        self._separator = separator
        self._shortest = shortest
        self._held = ""
        self._start = 0  # of what is held

    def feed(self, text: str) -> list[Segment]:
        """Return the segments that `text` completes, white space around them cut."""
        held = self._held + text
        at, done = 0, []
        for match in self._separator.finditer(held):
            end = match.end()
            if end == len(held):
                break  # the separator may go on
            if match.start() - at >= self._shortest:
                done.append(self._segment(held[at : match.start()], at))
            at = end
        if len(held) - at > LONGEST_CHARS:
            done.append(self._segment(held[at:], at))
            at = len(held)
        self._held = held[at:]
        self._start += at
        return [segment for segment in done if len(segment.text) >= self._shortest]

    def _segment(self, text: str, at: int) -> Segment:
        bare = text.lstrip()
        return Segment(self._start + at + len(text) - len(bare), bare.rstrip())
