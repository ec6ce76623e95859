"""Which ways to continue a turn are tried, and in which order."""

from collections.abc import Mapping

from trackside.handoff.completion import Completion
from trackside.handoff.continuation import Continuation
from trackside.handoff.strategy import Strategy, Turn

STRATEGIES: Mapping[str, Strategy] = {
    "continue": Continuation(),
    "completion": Completion(),
}
"""Those that send a request of their own; `in_place` and `end` do not."""

STARTS = ("auto", "in_place", *STRATEGIES, "end")
"""What the option `guard_strategy` may say."""


def order(turn: Turn, first: str) -> list[str]:
    """Return the names of the strategies to try; the chosen one leads.

    `in_place` is not among them: it needs no second request, and when it fails the
    others are what is left.
    """
    if first == "end":
        return []
    names = sorted(STRATEGIES, key=lambda name: name != first)
    return [name for name in names if STRATEGIES[name].fits(turn)]
