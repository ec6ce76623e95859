"""Match two lists of digests in order, in O(n log n)."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

_EXACT_CELLS = 4096  # product of the lengths up to which lists are matched exactly


def match_in_order(
    first: Sequence[int], second: Sequence[int]
) -> list[tuple[int, int]]:
    """Return index pairs of equal items, rising in both lists.

    Items that occur once in each list are the anchors (the longest rising run of
    them); between anchors, equal neighbours are taken from both ends inwards, and what
    remains is matched in the same way. Small remains without anchors are matched
    exactly, large ones not at all.

    Example:
        >>> match_in_order([1, 2, 3, 4], [9, 2, 4, 3, 8])
        [(1, 1), (3, 2)]
    """
    pairs: list[tuple[int, int]] = []
    waiting = [(0, len(first), 0, len(second))]
    while waiting:
        low, high, other_low, other_high = waiting.pop()
        while low < high and other_low < other_high and first[low] == second[other_low]:
            pairs.append((low, other_low))
            low, other_low = low + 1, other_low + 1
        while (
            low < high
            and other_low < other_high
            and first[high - 1] == second[other_high - 1]
        ):
            high, other_high = high - 1, other_high - 1
            pairs.append((high, other_high))
        mine, others = first[low:high], second[other_low:other_high]
        anchors = _anchors(mine, others)
        if not anchors and 0 < len(mine) * len(others) <= _EXACT_CELLS:
            anchors = _longest_common(mine, others)
            pairs += [(low + i, other_low + j) for i, j in anchors]
        elif anchors:
            at, other_at = 0, 0
            for i, j in [*anchors, (len(mine), len(others))]:
                waiting.append((low + at, low + i, other_low + other_at, other_low + j))
                at, other_at = i + 1, j + 1
            pairs += [(low + i, other_low + j) for i, j in anchors]
    return sorted(pairs)


def gaps(
    pairs: Sequence[tuple[int, int]], sizes: tuple[int, int]
) -> Iterator[tuple[range, range]]:
    """Yield the unmatched stretches of both lists, where at least one has items.

    Example:
        >>> list(gaps([(1, 1)], (2, 3)))
        [(range(0, 1), range(0, 1)), (range(2, 2), range(2, 3))]
    """
    at, other = 0, 0
    for i, j in [*pairs, sizes]:
        if at < i or other < j:
            yield range(at, i), range(other, j)
        at, other = i + 1, j + 1


def _anchors(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    counts, others = Counter(first), Counter(second)
    places = {item: j for j, item in enumerate(second) if others[item] == 1}
    candidates = [
        (i, places[item])
        for i, item in enumerate(first)
        if counts[item] == 1 and item in places
    ]
    return _longest_rising(candidates)


def _longest_rising(candidates: list[tuple[int, int]]) -> list[tuple[int, int]]:
    tops: list[int] = []  # the least last place of a rising run of each length
    last: list[int] = []  # which candidate that is
    before: list[int] = [-1] * len(candidates)
    for number, (_, place) in enumerate(candidates):
        length = bisect_left(tops, place)
        before[number] = last[length - 1] if length else -1
        tops[length : length + 1] = [place]
        last[length : length + 1] = [number]
    chosen = []
    number = last[-1] if last else -1
    while number >= 0:
        chosen.append(candidates[number])
        number = before[number]
    return chosen[::-1]


def _longest_common(
    first: Sequence[int], second: Sequence[int]
) -> list[tuple[int, int]]:
    """Return a longest common subsequence, in O(len(first) * len(second))."""
    lengths = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i in range(len(first) - 1, -1, -1):
        for j in range(len(second) - 1, -1, -1):
            lengths[i][j] = (
                lengths[i + 1][j + 1] + 1
                if first[i] == second[j]
                else max(lengths[i + 1][j], lengths[i][j + 1])
            )
    pairs = []
    i, j = 0, 0
    while i < len(first) and j < len(second):
        if first[i] == second[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
