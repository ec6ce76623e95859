"""Figures made of lists of numbers."""

import math
from collections.abc import Sequence


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the least value that `percent` of all do not exceed (nearest rank).

    Errors: `ValueError` for no values at all.

    Example:
        >>> percentile([4, 1, 3, 2], 50), percentile([4, 1, 3, 2], 95)
        (2, 4)
    """
    if not values:
        raise ValueError("no values")
    rank = max(math.ceil(len(values) * percent / 100), 1)
    return sorted(values)[rank - 1]


def average_at_once(spans: Sequence[tuple[float, float]]) -> float:
    """Return how many of (start, end) ran at once, on average while any did.

    Example:
        >>> average_at_once([(0, 2), (1, 3), (10, 11)])
        1.25
    """
    busy, until = 0.0, -math.inf
    for start, end in sorted(spans):
        busy += max(end - max(start, until), 0.0)
        until = max(until, end)
    return sum(end - start for start, end in spans) / busy if busy > 0 else 0.0
