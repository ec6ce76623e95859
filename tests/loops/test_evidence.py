"""The seed's checks: paragraphs, sentences, openings, n-grams, and their ring."""

import pytest

from loop_texts import PROSE
from trackside.loops.ngrams import Ngrams
from trackside.loops.openings import Openings
from trackside.loops.paragraphs import Paragraphs
from trackside.loops.recurrence import Recurrence
from trackside.loops.sentences import Sentences

PADDING = " and then some" * 20
GIVEN = "Both ropes take an hour each, yet neither of them burns evenly"
OPENING = "Actually, I think I found the mistake in "


def paragraphs(*texts):
    return "\n\n".join(texts) + "\n\n" + PADDING


@pytest.mark.parametrize(
    ("detector", "text", "copies"),
    [
        pytest.param(
            Paragraphs(chars=20),
            paragraphs(GIVEN, "x", f"{GIVEN.upper()}", "y", GIVEN),
            3,
            id="paragraph",
        ),
        pytest.param(
            Paragraphs(chars=20), paragraphs(GIVEN, "x", GIVEN), None, id="twice"
        ),
        pytest.param(
            Paragraphs(chars=80), paragraphs(*[GIVEN] * 9), None, id="too-short"
        ),
        pytest.param(
            Paragraphs(chars=20, ring=2),
            paragraphs(*[GIVEN, *(f"{n} {GIVEN} {n}" for n in range(9))] * 3),
            None,
            id="out-of-the-ring",
        ),
        pytest.param(
            Sentences(copies=3), f"{GIVEN}. So? {GIVEN}! {GIVEN}." + PADDING, 3,
            id="sentence",
        ),
        pytest.param(
            Sentences(copies=3), f"{GIVEN}. So? {GIVEN}!" + PADDING, None, id="two"
        ),
        pytest.param(
            Openings(copies=3),
            paragraphs(*(f"{OPENING}{word}" for word in ("step one", "line 2", "it"))),
            3,
            id="openings",
        ),
        pytest.param(
            Openings(copies=3), paragraphs(*PROSE.split("\n\n")), None, id="prose"
        ),
        pytest.param(
            Ngrams(copies=3), f"{GIVEN}; a {GIVEN}; b {GIVEN}; c" + PADDING[:60], 3,
            id="ngram",
        ),
        pytest.param(Ngrams(copies=4), PROSE, None, id="no-ngram"),
    ],
)  # fmt: skip
def test_what_comes_back(detector, text, copies):
    finding = detector.update(text)
    assert (finding and finding.copies) == copies
    if finding:
        first = text[finding.start :].lstrip()[:12].casefold()
        assert text[finding.second :].lstrip()[:12].casefold() == first


def test_the_ring_forgets():
    ring = Recurrence(3)
    assert list(ring.add("a", 1)) == [1]
    assert list(ring.add("a", 2)) == [1, 2]
    assert list(ring.add("b", 3)) == [3]
    assert list(ring.add("a", 4)) == [2, 4]
    assert list(ring.add("c", 5)) == [5]
    assert list(ring.add("c", 6)) == [5, 6]
    assert list(ring.add("a", 7)) == [7]
