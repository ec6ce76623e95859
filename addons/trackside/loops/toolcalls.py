"""Finds tool calls and turns that an agent repeats from turn to turn of a thread."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_LONGEST_CYCLE = 5  # calls


class Call(NamedTuple):
    """One tool call: the name and the arguments as they stood in the answer."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Repetition:
    """The same again, across turns. It is reported; nothing is cut for it."""

    what: str
    """`call` (one call), `cycle` (2 to 5 calls in turn) or `turn` (text, no calls)."""
    calls: tuple[str, ...]
    """Names of the calls of one copy, in order; empty for a turn."""
    copies: int
    """Copies seen, without a gap."""
    turns: int
    """Turns since the first copy began, this one included."""


class ToolCalls:
    """Reads the turns of one thread; fires when the last ones repeat each other.

    Two calls are the same if name and arguments are, whatever the spacing or key
    order of the JSON. Polling looks like this, too: hence a report, not a trip. Holds
    the last calls only; O(calls of the turn).

    Parameters:
        copies: copies wanted, at least 2. Agents that stop by themselves do so at 3
            (opencode, Roo, Cline), 4 (OpenHands) or 5 (gemini-cli).

    Example:
        >>> thread = ToolCalls()
        >>> turn = [Call("read", '{"path": "a.py"}')]
        >>> [found and found.copies for found in map(thread.add, [turn] * 4)]
        [None, None, 3, None]
    """

    def __init__(self, *, copies: int = 3) -> None:
        self._copies = copies
        length = _LONGEST_CYCLE * copies
        self._turn = 0
        self._calls: deque[tuple[Call, int]] = deque(maxlen=length)  # call, its turn
        self._texts: deque[str] = deque(maxlen=copies)
        self._period = 0  # of the repetition already reported, 0 = none

    def add(self, calls: Sequence[Call], text: str = "") -> Repetition | None:
        """Take the next turn. Return what has begun to repeat, once per repetition.

        Parameters:
            calls: the tool calls of the answer, in order.
            text: the answer's text; it is looked at if there are no calls.
        """
        self._turn += 1
        if not calls:
            self._calls.clear()
            return self._add_text(" ".join(text.split()))
        self._texts.clear()
        found = None
        for call in calls:
            self._calls.append((Call(call.name, _normal(call.arguments)), self._turn))
            period = self._repeats()
            if period and not self._period:
                found = self._repetition(period)
            self._period = period
        return found

    def _add_text(self, text: str) -> Repetition | None:
        if text and self._texts and text != self._texts[-1]:
            self._texts.clear()
        was_full = len(self._texts) == self._copies
        self._texts.append(text)
        if not text or was_full or len(self._texts) < self._copies:
            return None
        return Repetition("turn", (), self._copies, self._copies)

    def _repeats(self) -> int:
        """Return how many calls ago the last ones stood before, all copies, or 0."""
        calls = [call for call, _ in self._calls]
        for period in range(1, _LONGEST_CYCLE + 1):
            span = calls[-period * self._copies :]
            if len(span) == period * self._copies and span[period:] == span[:-period]:
                return period
        return 0

    def _repetition(self, period: int) -> Repetition:
        span = list(self._calls)[-period * self._copies :]
        return Repetition(
            "call" if period == 1 else "cycle",
            tuple(call.name for call, _ in span[:period]),
            self._copies,
            self._turn - span[0][1] + 1,
        )


def _normal(arguments: str) -> str:
    """Return the arguments in one spelling; what is no JSON, without double spaces."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return " ".join(arguments.split())
