"""Cycles: the same again without a gap, and nothing but that."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_texts import CASES, LOOPS, PROSE
from trackside.loops.cycles import Cycles

PERIODIC = {name: text for name, text in LOOPS.items() if name != "two in turn"}


@pytest.mark.parametrize("text", PERIODIC.values(), ids=PERIODIC.keys())
def test_a_cycle_is_found_where_it_begins(text):
    finding = Cycles().update(PROSE + text)
    assert finding is not None
    assert abs(finding.start - len(PROSE)) <= 40
    assert finding.start < finding.second < finding.end
    assert finding.copies >= 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\n".join(["0 0 0 0 0 0 0 0 0 0"] * 10), id="grid"),
        pytest.param("-" * 4000, id="rule"),
        pytest.param("|" + "---|" * 40, id="table-rule"),
        pytest.param("?? " * 20, id="pattern"),
        pytest.param(PROSE * 2, id="twice"),
        pytest.param("word " * 60, id="short"),
        pytest.param((PROSE + "x ") + (PROSE + "y ") + (PROSE + "z "), id="gap"),
    ],
)
def test_what_healthy_text_does_is_not(text):
    assert Cycles().update(PROSE[:600] + text + PROSE[600:]) is None


def test_false_distances_within_a_cycle_are_passed_over():
    """The cases are cousins: the last words stood in each of them before."""
    finding = Cycles().update(CASES * 4)
    assert finding is not None
    assert finding.second - finding.start == pytest.approx(len(CASES), abs=8)
    assert finding.end < 2.4 * len(CASES)


def test_thresholds_are_parameters():
    text = "abc def ghi jkl. " * 20 + PROSE
    assert Cycles().update(text) is None
    finding = Cycles(copies=5, units=40, chars=10_000).update(text)
    assert finding is not None
    assert finding.copies >= 5


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=60))
def test_the_copies_are_equal(cycle):
    text = cycle * (3000 // len(cycle))
    finding = Cycles().update(text)
    if finding:
        size = finding.second - finding.start
        first = text[finding.start : finding.second].casefold().split()
        second = text[finding.second : finding.second + size].casefold().split()
        assert abs(len(first) - len(second)) <= 1
