"""Which ways to continue a turn are tried, and in which order."""

from collections.abc import Mapping

from trackside.handoff.afresh import Afresh
from trackside.handoff.completion import Completion
from trackside.handoff.continuation import Continuation
from trackside.handoff.exact import ExactIds
from trackside.handoff.strategy import Strategy, Turn

WAYS: Mapping[str, Strategy] = {
    "exact": ExactIds(),
    "continue": Continuation(),
    "completion": Completion(),
    "afresh": Afresh(),
}
"""Those that send a request of their own; `in_place` and `end` do not."""

_NAMED = {"exact": "continue", "afresh": "continue"}

STARTS = ("auto", "in_place", "continue", "completion", "end")
"""What the option `guard_strategy` may say, and the record of a turn says."""


def strategy_of(way: str) -> str:
    """Return the strategy that a way belongs to.

    Example:
        >>> strategy_of("exact"), strategy_of("completion")
        ('continue', 'completion')
    """
    return _NAMED.get(way, way)


def hands_on(way: str) -> bool:
    """Tell whether phase 2's prompt holds the reasoning."""
    return way != "afresh"


def order(turn: Turn, first: str) -> list[str]:
    """Return the names of the ways to try; those of the chosen strategy lead.

    `in_place` is not among them: it needs no second request, and when it fails the
    others are what is left.
    """
    if first == "end":
        return []
    ways = sorted(WAYS, key=lambda way: strategy_of(way) != first)
    return [way for way in ways if WAYS[way].fits(turn)]
