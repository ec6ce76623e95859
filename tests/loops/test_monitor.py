"""The monitor: which findings trip, which are evidence, which names it knows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_texts import HEALTHY, LOOPS, PARAGRAPH, PROSE
from trackside.loops import DETECTORS, tokens
from trackside.loops.monitor import DEFAULT, Monitor, select


def run(text, size=0, names=DEFAULT):
    monitor = Monitor(names)
    size = size or len(text) or 1
    found = [monitor.update(text[at : at + size]) for at in range(0, len(text), size)]
    trips = [finding for finding in found if finding]
    assert len(trips) <= 1
    return (trips[0] if trips else None), monitor.evidence


@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY.keys())
def test_healthy_text_does_not_trip(text):
    assert run(text)[0] is None


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS.keys())
def test_a_loop_trips_and_keeps_what_came_before(text):
    trip, _ = run(PROSE + text)
    assert trip is not None
    assert DETECTORS[trip.detector].trips
    assert len(PROSE) - 200 <= trip.start < trip.second < trip.end


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS.keys())
def test_cuts_do_not_matter(text):
    text = PROSE + text
    assert run(text) == run(text, 1) == run(text, 5) == run(text, 4096)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.binary(max_size=9), max_size=40), st.integers(1, 7))
def test_utf8_may_be_cut_anywhere(parts, size):
    import codecs

    data = b"".join(parts) * 40
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pieces = [decoder.decode(data[at : at + size]) for at in range(0, len(data), size)]
    one = Monitor()
    cut = [finding for piece in pieces if (finding := one.update(piece))]
    whole = Monitor()
    trip = whole.update("".join(pieces))
    assert cut == ([trip] if trip else [])
    assert one.evidence == whole.evidence


def test_evidence_is_reported_and_does_not_trip():
    trip, evidence = run(PROSE + PARAGRAPH * 5, names=("paragraphs", "openings"))
    assert trip is None
    assert [finding.detector for finding in evidence] == ["paragraphs"]


def test_after_the_trip_it_is_silent():
    monitor = Monitor()
    assert monitor.update(PARAGRAPH * 40)
    assert monitor.update(PARAGRAPH * 40) is None


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        pytest.param("all", (*DETECTORS, "toolcalls"), id="all"),
        pytest.param("", (*DETECTORS, "toolcalls"), id="empty"),
        pytest.param(" cycles , staleness", ("staleness", "cycles"), id="list"),
        pytest.param(
            "-toolcalls,-openings",
            ("staleness", "cycles", "paragraphs", "ngrams", "sentences"),
            id="off",
        ),
        pytest.param("all,-toolcalls", tuple(DETECTORS), id="all-but-one"),
        pytest.param("cycles,-cycles", (), id="none-left"),
    ],
)
def test_select(spec, names):
    assert select(spec) == names


@pytest.mark.parametrize("spec", ["loops", "-loops", "cycles,stale", "--cycles", "-"])
def test_select_says_what_it_got_and_what_it_knows(spec):
    with pytest.raises(ValueError, match=r"no detector '.*want all or .*staleness"):
        select(spec)


@pytest.mark.parametrize(
    "stutter",
    [
        pytest.param("?!", id="marks"),
        pytest.param("9", id="digits"),
        pytest.param(" the", id="word"),
        pytest.param("哈", id="chinese"),
        pytest.param("龘", id="rare-chinese"),
        pytest.param("😀", id="emoji"),
        pytest.param("😀 ", id="spaced-emoji"),
        pytest.param("👩‍🚀", id="joined-emoji"),
    ],
)
def test_a_stutter_trips_within_300_tokens(stutter):
    copies = next(n for n in range(900, 0, -1) if tokens.count(stutter * n) <= 300)
    for before in range(0, 128, 16):
        trip, _ = run(PROSE[: 600 + before] + stutter * copies, 1)
        assert trip is not None


def test_a_picture_of_emoji_does_not_trip():
    picture = "\n".join(["🟥🟥🟨🟨🟥🟥🟩🟩"] * 6)
    assert run(PROSE[:600] + picture + PROSE[600:])[0] is None
