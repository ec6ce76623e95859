"""The peers of the loops bench stop where their descriptions say."""

import pytest

from benches.peers import PEERS, ExactTail, GeminiChunks, NearParagraph, SameParagraph

SHARED = "the first rope burns down while the second one is lit at one end only"


def first(peer, items):
    return next((at for at, item in enumerate(items) if peer.update(item)), None)


@pytest.mark.parametrize(
    ("peer", "tokens", "stop"),
    [
        pytest.param(ExactTail(1, 20, 3), [7, 8, 1, 2, 1, 2, 1, 2], 7, id="third"),
        pytest.param(ExactTail(2, 20, 3), [1, 1, 1, 1, 1, 1], 5, id="too-short"),
        pytest.param(ExactTail(1, 20, 3), [1, 2, 3, 1, 2, 4] * 2, None, id="none"),
        pytest.param(ExactTail(16, 99, 4), [*range(16)] * 4, 63, id="long"),
        pytest.param(ExactTail(16, 99, 4), [*range(100)] * 9, None, id="too-long"),
        pytest.param(
            ExactTail(4, 128, 3, window=512, every=16, after=32),
            [*range(9)] * 20,
            32,
            id="checked-every-16",
        ),
    ],
)
def test_exact_tail(peer, tokens, stop):
    assert first(peer, tokens) == stop


def test_gemini_chunks():
    loop = ["so the answer", " is still one hour and not two,", " which is odd; "] * 20
    assert first(GeminiChunks(), loop) is not None
    assert first(GeminiChunks(), ["```\n", *loop]) is None
    reset_by_a_number = [part for text in loop for part in (text, "12")]
    assert first(GeminiChunks(), reset_by_a_number) is None


def test_the_third_equal_paragraph():
    paragraphs = [f"{SHARED} {n}\n\n" for n in (1, 2, 1, 3, 1, 4)]
    assert first(SameParagraph(), paragraphs) == 5  # when the next one has begun
    assert first(SameParagraph(), paragraphs[:4]) is None
    assert first(SameParagraph(), ["short\n\n"] * 9) is None


def test_near_paragraphs():
    near = [f"{SHARED} {n}\n\nx" for n in range(12)]
    assert first(NearParagraph(), near) == 8  # the ninth: the first has none before it
    other = [f"word{n} and {n} others {n}{n}\n\nx" for n in range(12)]
    assert first(NearParagraph(), other) is None


@pytest.mark.parametrize("make", PEERS.values(), ids=PEERS.keys())
def test_every_peer_starts_quiet(make):
    peer = make()
    items = [1, 2, 3] if peer.reads == "tokens" else ["a", "b", "c"]
    assert first(peer, items) is None
