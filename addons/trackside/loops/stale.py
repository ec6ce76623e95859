"""Scores words that end a phrase which stood there often enough before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from zlib import crc32

from trackside.loops.tape import Tape
from trackside.loops.units import (
    LETTERS,
    UNIT_BYTES,
    WORD,
    Block,
    characters,
    of_kind,
    phrases,
)

_SLOTS = 1 << 16  # counters of phrases, a fifth of them in use at most
# A counter has two halves: the lower one counts what is new and stops at 15; the upper
# one has what the lower one had when memory was last renewed.
_MORE = tuple(count if count & 15 == 15 else count + 1 for count in range(256))
_TOTAL = tuple((count & 15) + (count >> 4) for count in range(256))
_RENEWED = bytes((count & 15) << 4 for count in range(256))


@dataclass(frozen=True, slots=True)
class Copied:
    """When text is stale enough, word for word.

    A word is stale if the phrase that ends there stands for the third time on a page,
    or for the fourth on two. Stale words add one to a score, others take `cost` away,
    never below zero: the score is the length of staleness, with gaps forgiven. It is
    summed up block by block.
    """

    words: int  # of a phrase
    page: int  # words
    cost: float  # of a word that is not stale
    limit: int  # score that is enough, in words
    suspicion: int  # score of `Suspicion` at which the rule is asked

    def score(self) -> Score:
        """Return the score of a new stream."""
        return _CopiedScore(self)


@dataclass(frozen=True, slots=True)
class Reworded:
    """When text is stale enough, numbers aside, which drift and count.

    A word is stale if the phrase that ends there stood there `before` times within
    memory. The rest is as for `Copied`.
    """

    words: int  # of a phrase
    before: int  # earlier occurrences that make a word stale, up to 15
    memory: int  # words, at most twice as many
    cost: float
    limit: int
    suspicion: int

    def score(self) -> Score:
        """Return the score of a new stream."""
        return _RewordedScore(self)


type Rule = Copied | Reworded


class Score(ABC):
    """The score of one rule over a stream.

    Parameters:
        kind: of the words that it reads.
        memory: words that it remembers.
    """

    copy_chars = 0
    """Before the copy that fires there is one more, mostly in so many characters."""

    def __init__(self, rule: Rule, kind: int, memory: int) -> None:
        self.rule = rule
        self.kind = kind
        self.since = 0  # offset of the block in which the score last left zero
        self._memory = memory
        self._score = 0.0
        self._unread = 0  # offset

    def read(self, tape: Tape, block: Block) -> bool:
        """Read what the tape holds up to the block; tell whether the score is enough.

        Of text it was not asked about it reads no more than it would remember, taking
        half of the units for words.
        """
        for start, units, _ in tape.last(2 * self._memory, self._unread):
            words = of_kind(units, self.kind)
            stale = self._stale(words)
            if not self._score and stale:
                self.since = start
            fresh = len(words) // UNIT_BYTES - stale
            score = self._score + stale - self.rule.cost * fresh
            self._score = score if score > 0 else 0.0
        self._unread = block.reach
        return self._score >= self.rule.limit

    @abstractmethod
    def _stale(self, words: bytes) -> int:
        """Return how many of a block's words are stale."""


class _CopiedScore(Score):
    copy_chars = 2000

    def __init__(self, rule: Copied) -> None:
        super().__init__(rule, WORD, 2 * rule.page)
        self._words = rule.words
        self._page = rule.page
        self._text = ""  # one character a word: strings are searched fast

    def _stale(self, words: bytes) -> int:
        added = len(words) // UNIT_BYTES
        text = self._text = (self._text + characters(words))[-2 * self._page - added :]
        page = max(0, len(text) - self._page - added)
        stale = 0
        for end in range(max(self._words, len(text) - added + 1), len(text) + 1):
            phrase = text[end - self._words : end]
            copies = text.count(phrase)
            if copies > 3 or (copies == 3 and text.count(phrase, page) == 3):
                stale += 1
        return stale


class _RewordedScore(Score):
    def __init__(self, rule: Reworded) -> None:
        super().__init__(rule, LETTERS, 2 * rule.memory)
        self._words = rule.words
        self._before = rule.before
        self._begun = b""  # words that begin phrases to come
        self._counts = bytearray(_SLOTS)
        self._counted = 0  # words, since memory was last renewed

    def _stale(self, words: bytes) -> int:
        counts, before, more, total = self._counts, self._before, _MORE, _TOTAL
        words = self._begun + words
        self._begun = words[-(self._words - 1) * UNIT_BYTES :]
        read = phrases(words, self._words)
        stale = 0
        for phrase in read:
            # A checksum, unlike hash(), is the same in every process.
            slot = crc32(phrase) % _SLOTS
            count = counts[slot]
            counts[slot] = more[count]
            if total[count] >= before:
                stale += 1
        self._counted += len(read)
        if self._counted >= self._memory // 2:
            self._counts = counts.translate(_RENEWED)
            self._counted = 0
        return stale
