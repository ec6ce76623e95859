"""Paragraphs and sentences, each with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.loops.segments import (
    LONGEST_CHARS,
    PARAGRAPH,
    SENTENCE,
    Segment,
    Segments,
)


def cut(separator, text):
    return [tuple(segment) for segment in Segments(separator).feed(text)]


@pytest.mark.parametrize(
    ("separator", "text", "segments"),
    [
        pytest.param(PARAGRAPH, "a\n\nb\n \nc", [(0, "a"), (3, "b")], id="blank-line"),
        pytest.param(PARAGRAPH, "a\nb\n\n\n c", [(0, "a\nb")], id="line"),
        pytest.param(PARAGRAPH, "a\n\n", [], id="may-go-on"),
        pytest.param(SENTENCE, "One. Two! x", [(0, "One"), (5, "Two")], id="stops"),
        pytest.param(SENTENCE, "3.14 is. x", [(0, "3.14 is")], id="decimal"),
        pytest.param(SENTENCE, "一。二。三", [(0, "一"), (2, "二")], id="chinese"),
        pytest.param(SENTENCE, "- a\n- b\nx", [(0, "- a"), (4, "- b")], id="list"),
    ],
)
def test_segments(separator, text, segments):
    assert cut(separator, text) == segments


def test_an_endless_segment_is_cut():
    [(start, text)] = cut(SENTENCE, "x" * (LONGEST_CHARS + 1))
    assert (start, len(text)) == (0, LONGEST_CHARS + 1)


def test_fingerprints_pass_over_case_space_and_ordinals():
    [one] = Segments(SENTENCE).feed("Step 12:  Fill the jug\nx")
    [other] = Segments(SENTENCE).feed("step 3: fill THE jug\nx")
    [third] = Segments(SENTENCE).feed("step 3: fill the jug 4\nx")
    assert one.fingerprint == other.fingerprint != third.fingerprint


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Step 12:  Fill the jug", id="plain"),
        pytest.param("a" + " " * 40 + "b" * 40, id="white-space"),
        pytest.param("1" * 40 + " jugs and then some more", id="digits"),
        pytest.param("ab", id="short"),
        pytest.param("a\tb\u3000c" * 9, id="other-white-space"),
    ],
)
def test_an_opening_begins_the_fingerprint(text):
    segment = Segment(0, text)
    assert segment.opening(16) == segment.fingerprint[:16]
    assert segment.fingerprint.endswith(" ".join(text.casefold().split())[16:])


@given(st.text(alphabet="ab. \n。", max_size=200), st.integers(1, 9))
def test_cuts_do_not_matter(text, size):
    for separator in (PARAGRAPH, SENTENCE):
        segments = Segments(separator)
        found = [
            tuple(segment)
            for at in range(0, len(text), size)
            for segment in segments.feed(text[at : at + size])
        ]
        assert found == cut(separator, text)


@given(st.text(alphabet="ab. \n。", max_size=200))
def test_segments_stand_where_they_say(text):
    for separator in (PARAGRAPH, SENTENCE):
        for start, segment in cut(separator, text):
            assert text[start : start + len(segment)] == segment
            assert segment == segment.strip()
