"""What every registered detector promises."""

import pickle
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_texts import HEALTHY, LOOPS, PARAGRAPH, PROSE
from trackside.loops import DETECTORS, Detector, Finding

LOOP = PARAGRAPH * 60

Kind = type[Detector]


@pytest.fixture(params=DETECTORS.values(), ids=DETECTORS.keys())
def kind(request):
    return request.param


def first(detector, pieces):
    return next((found for piece in pieces if (found := detector.update(piece))), None)


def test_is_quiet_on_plain_prose(kind):
    assert kind().update(PROSE) is None


@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY.keys())
def test_a_detector_that_trips_is_quiet_on_healthy_text(kind, text):
    if kind.trips:
        assert kind().update(text) is None


def test_fires_on_a_repeated_paragraph(kind):
    assert kind().update(PROSE + LOOP) is not None


def test_fires_once(kind):
    detector = kind()
    assert detector.update(PROSE + LOOP)
    assert detector.update(LOOP) is None
    assert first(detector, LOOP) is None


def test_cuts_do_not_matter(kind):
    text = PROSE + LOOP
    whole = kind().update(text)
    assert first(kind(), text) == whole
    assert first(kind(), [text[at : at + 4096] for at in range(0, len(text), 4096)])
    assert first(kind(), [text[at : at + 7] for at in range(0, len(text), 7)]) == whole


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, len(PROSE + LOOP)), max_size=12))
@pytest.mark.parametrize("name", DETECTORS)
def test_no_cut_matters(name, cuts):
    text = PROSE + LOOP
    edges = [0, *sorted(cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    assert first(DETECTORS[name](), pieces) == DETECTORS[name]().update(text)


@settings(max_examples=15, deadline=None)
@given(text=st.text(max_size=40).map(lambda text: text * 30))
@pytest.mark.parametrize("name", DETECTORS)
def test_any_text_is_read_and_any_cut_gives_the_same(name, text):
    assert first(DETECTORS[name](), text) == DETECTORS[name]().update(text)


def test_the_finding_proves_itself(kind):
    text = PROSE + LOOP
    finding = kind().update(text)
    assert isinstance(finding, Finding)
    assert DETECTORS[finding.detector] is kind
    assert 0 <= finding.start < finding.second < finding.end <= len(text)
    assert finding.copies >= 2
    assert finding.end < len(PROSE) + 40 * len(PARAGRAPH)
    assert abs(finding.start - len(PROSE)) <= len(PARAGRAPH)
    assert finding.start <= len(PROSE) + len(PARAGRAPH)


def test_memory_is_bounded(kind):
    """Twice the stream needs no more memory; the limit is 2 MB."""
    detector = kind()
    sizes = []
    letters = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")
    for at in range(400):
        words = [
            format(at * 7919 + word * 104729, "x").translate(letters)
            for word in range(60)
        ]
        assert detector.update(" ".join(words) + ".\n\n") is None
        if at % 50 == 49:
            sizes.append(len(pickle.dumps(detector)))
    assert max(sizes[4:]) < 1.5 * max(sizes[:4])
    assert max(sizes) < 2_000_000


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS.keys())
def test_nothing_but_a_loop_is_survived(kind, text):
    kind().update(text)
