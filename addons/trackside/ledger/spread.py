"""Percentiles of a stream of durations, in bounded memory."""

import math
from collections import Counter

_STEP = math.log(1.05)
_LEAST_S = 1e-4


class Spread:
    """Counts durations in steps of 5 %, from 0.1 ms up. O(1) each.

    Example:
        >>> spread = Spread()
        >>> for _ in range(99):
        ...     spread.add(0.02)
        >>> spread.add(4.0)
        >>> round(spread.percentile(50), 3), round(spread.percentile(100))
        (0.02, 4)
    """

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, duration_s: float) -> None:
        """Count a duration; a negative one counts as none."""
        self._counts[round(math.log(max(duration_s, _LEAST_S)) / _STEP)] += 1

    def percentile(self, percent: float) -> float | None:
        """Return the duration in seconds that `percent` of all do not exceed.

        None if there is none. To within 2.5 %.
        """
        rank = math.ceil(self._counts.total() * percent / 100)
        seen = 0
        for step, count in sorted(self._counts.items()):
            seen += count
            if seen >= rank:
                return math.exp(step * _STEP)
        return None
