"""Finds text that says nothing new: most of its phrases were there before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from trackside.loops.finding import Detector, Finding
from trackside.loops.tape import Tape
from trackside.loops.units import LETTERS, WORD, Block, Reader

_SLOTS = 1 << 16  # counters of phrases, 12 % of them in use at most
_ENOUGH = 15  # a counter stops here
_PRIME = (1 << 30) - 35
_BASE = 1_000_003


@dataclass(frozen=True, slots=True)
class Rule:
    """When text is stale enough to act.

    A word is stale if the phrase of `gram` words that ends there has stood `before`
    times within memory. Stale words add one to a score, others take `cost` away,
    never below zero: the score is the length of staleness, with gaps forgiven.
    """

    reads: Literal["words", "letters"]  # with numbers or without
    gram: int  # words of a phrase
    before: int  # earlier occurrences that make it stale
    cost: float  # of a word that is not stale
    limit: int  # score that fires, in words
    memory: int = 8192  # words a phrase is remembered for, at most twice as many


RULES = (
    # Long phrases word for word, for the fourth time: honest re-verification says a
    # thing twice or three times. Most of the text around them may be new.
    Rule("words", gram=12, before=3, cost=0.3, limit=100),
    # Reworded, and without the numbers, which drift and count: shorter phrases, so
    # they must prevail for pages. Hand arithmetic and tables do so for one.
    Rule("letters", gram=7, before=3, cost=0.25, limit=330),
    # Shuffled and with words dropped: pairs of words, nearly all of them.
    Rule("letters", gram=2, before=5, cost=4.0, limit=250, memory=4096),
)
"""Each limit is a fifth to a third above the worst of 650 healthy traces."""


_LONGEST = 16  # words of a rule's phrase, at most


class Staleness(Detector):
    """Fires when one of its rules finds the text stale for long enough.

    Real loops drift: no block comes back verbatim, but phrases do. Punctuation does
    not count, so tables, formulas and code, which are made of it, stay quiet. Holds
    0.13 MB a rule; O(1) a word and rule.

    Parameters:
        rules: any of them fires.

    Example:
        >>> step = "Then light the other end, and wait until it has burnt down. "
        >>> Staleness().update(20 * step)
        Finding(detector='staleness', start=0, end=768, copies=13, second=59)
    """

    trips: ClassVar[bool] = True

    def __init__(self, *, rules: Sequence[Rule] = RULES) -> None:
        self._reader = Reader()
        self._tape = Tape()
        self._words = [0] * _LONGEST
        self._letters = [0] * _LONGEST
        self._scores = [_Score(rule) for rule in rules]
        self._fired = False

    def read(self, block: Block) -> Finding | None:
        """See `Detector.read`. O(units of the block)."""
        if self._fired:
            return None
        self._tape.extend(block)
        words = [unit for unit in block.ids if unit & WORD]
        self._words = _prefixes(self._words, words)
        self._letters = _prefixes(
            self._letters, [unit for unit in words if unit & LETTERS]
        )
        for score in self._scores:
            is_lettered = score.rule.reads == "letters"
            prefixes = self._letters if is_lettered else self._words
            if score.add(prefixes, block.end - len(block.text)):
                self._fired = True
                kind = LETTERS if is_lettered else WORD
                start, second, copies = self._tape.copies(score.since, kind)
                return Finding("staleness", start, block.end, copies, second)
        return None


def _prefixes(last: list[int], words: list[int]) -> list[int]:
    """Return the hashes of the stream up to each word, `_LONGEST` old ones before.

    The difference of two of them is the hash of the words between them (Rabin-Karp).
    """
    prefixes = last[-_LONGEST:]
    value, base, prime = prefixes[-1], _BASE, _PRIME
    for word in words:
        value = (value * base + word) % prime
        prefixes.append(value)
    return prefixes


class _Score:
    """The state of one rule."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.since = 0  # offset of the block in which the score last left zero
        self._score = 0.0
        self._power = pow(_BASE, rule.gram, _PRIME)
        self._words = 0  # counted into `_new`
        self._old = bytearray(_SLOTS)
        self._new = bytearray(_SLOTS)

    def add(self, prefixes: list[int], start: int) -> bool:
        """Take the words of the block at `start`; tell whether the rule fires."""
        before, cost, limit = self.rule.before, self.rule.cost, self.rule.limit
        power, prime, mask, enough = self._power, _PRIME, _SLOTS - 1, _ENOUGH
        score, fires = self._score, False
        old, new = self._old, self._new
        ends = prefixes[_LONGEST:]
        begins = prefixes[_LONGEST - self.rule.gram :]
        for begin, end in zip(begins, ends, strict=False):
            slot = (end - begin * power) % prime & mask
            count = new[slot]
            if count < enough:
                new[slot] = count + 1
            if count + old[slot] >= before:
                if not score:
                    self.since = start
                score += 1
                fires = fires or score >= limit
            elif score:
                score = score - cost if score > cost else 0.0
        self._score = score
        self._words += len(ends)
        if self._words >= self.rule.memory:
            self._old, self._new = new, bytearray(_SLOTS)
            self._words = 0
        return fires
