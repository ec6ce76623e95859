"""Cuts a stream into paragraphs or sentences, each with its place."""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST_CHARS = 4096
"""A segment is cut here if nothing else ends it."""

PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
"""What stands between paragraphs."""
SENTENCE = re.compile(r"[.!?。！？\n](?:(?<![.!?])|(?=\s))\s*")
"""What stands between sentences, their full stop included."""

_DIGITS = re.compile(r"\d\d*")  # found twice as fast as \d+


class Segment(NamedTuple):
    """A paragraph or sentence."""

    start: int  # its first character
    text: str

    @property
    def fingerprint(self) -> str:
        """The text without case, list numbers at its head and runs of white space."""
        return _fingerprint(self.text)

    def opening(self, chars: int) -> str:
        """Return the first characters of the fingerprint."""
        opening = _fingerprint(self.text[: 2 * chars])
        if len(opening) < chars:  # there are long runs of white space or digits
            opening = _fingerprint(self.text)
        return opening[:chars]


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
        self._searched = 0  # no separator begins in so much of it

    def feed(self, text: str) -> list[Segment]:
        """Return the segments that `text` completes, white space around them cut."""
        held = self._held + text
        at = 0
        done: list[Segment] = []
        for match in self._separator.finditer(held, self._searched):
            end = match.end()
            if end == len(held):
                break  # the separator may go on
            self._cut(held[at : match.start()], at, done)
            at = end
        if len(held) - at > LONGEST_CHARS:
            self._cut(held[at:], at, done)
            at = len(held)
        self._held = held[at:] if at else held
        self._start += at
        # White space, or a full stop before it, may yet become a separator.
        self._searched = max(0, len(self._held.rstrip()) - 1)
        return done

    def _cut(self, text: str, at: int, done: list[Segment]) -> None:
        """Add the segment that is held at `at`, if it is long enough."""
        if len(text) >= self._shortest:
            bare = text.strip()
            if len(bare) >= self._shortest:
                before = 0 if text.startswith(bare) else text.index(bare)
                done.append(Segment(self._start + at + before, bare))


def _fingerprint(text: str) -> str:
    folded = text.casefold()
    if "  " in folded or not folded.isprintable():  # there is other white space
        folded = " ".join(folded.split())
    return _DIGITS.sub("0", folded[:16]) + folded[16:]
