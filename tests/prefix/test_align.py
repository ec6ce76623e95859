from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from trackside.prefix.align import gaps, match_in_order

items = st.lists(st.integers(0, 12), max_size=30)


@given(items, items)
def test_matches_are_equal_items_in_order(first: list[int], second: list[int]) -> None:
    pairs = match_in_order(first, second)
    assert all(first[i] == second[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


@given(items, items)
def test_gaps_and_matches_make_up_both_lists(
    first: list[int], second: list[int]
) -> None:
    pairs = match_in_order(first, second)
    left = [i for here, _ in gaps(pairs, (len(first), len(second))) for i in here]
    right = [j for _, there in gaps(pairs, (len(first), len(second))) for j in there]
    assert sorted(left + [i for i, _ in pairs]) == [*range(len(first))]
    assert sorted(right + [j for _, j in pairs]) == [*range(len(second))]


@given(items, st.lists(st.integers(20, 29), max_size=5), st.integers(0, 30))
def test_a_list_with_something_put_in_keeps_every_item(
    first: list[int], extra: list[int], at: int
) -> None:
    second = first[:at] + extra + first[at:]
    assert len(match_in_order(first, second)) == len(first)


def test_items_that_come_often_are_matched_between_edits() -> None:
    first = [1, 0, 5, 0, 6, 0, 7, 0]
    second = [1, 0, 50, 0, 60, 0, 70, 0]
    assert match_in_order(first, second) == [(0, 0), (1, 1), (3, 3), (5, 5), (7, 7)]


def test_thousands_of_items_take_no_time_that_grows_with_the_square() -> None:
    first = [n % 7 for n in range(20_000)]
    second = [n % 5 for n in range(20_000)]
    assert match_in_order(first, second)[:2] == [(0, 0), (1, 1)]
