"""Units: the words a stream is made of, wherever it was cut."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.loops.units import BLOCK_BYTES, ORDINAL, WORD, Reader

PADDING = " padding" * 40


def units(text):
    """Return each unit of the text and what it stands for."""
    blocks = Reader().feed(text + PADDING)
    found = [unit for block in blocks for unit in block.units]
    ends = accumulate((size for block in blocks for size in block.sizes), initial=0)
    cut = [(text + PADDING)[a:b] for a, b in pairwise(ends) if a < len(text)]
    return list(zip(cut, found, strict=False))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        pytest.param("Wait, no.", ["Wait", ",", " no", "."], id="words"),
        pytest.param("绳子 烧", ["绳", "子", " 烧"], id="cjk-alone"),
        pytest.param("Вот  нам", ["Вот", "  нам"], id="cyrillic"),
        pytest.param("😀😀", ["😀", "😀"], id="emoji"),
        pytest.param("3.14", ["3", ".", "14"], id="number"),
        pytest.param("1.5e-07", ["1", ".", "5e-07"], id="exponent"),
        pytest.param("a ----- b", ["a", " -----", " b"], id="rule"),
        pytest.param("x" * 50, ["x" * 24, "x" * 24, "xx"], id="long-word"),
        pytest.param("\n" * 20 + "a", ["\n" * 16, "\n" * 4 + "a"], id="white-space"),
    ],
)
def test_pieces(text, pieces):
    assert [piece for piece, _ in units(text)] == pieces


def test_case_and_white_space_do_not_count():
    (_, one), (_, other), (_, third) = units("Wait WAIT\n\nwait")
    assert one == other == third


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\n793. Fill", id="line"),
        pytest.param("\nStep 69: go", id="word"),
        pytest.param("\n第3步", id="chinese"),
        pytest.param("done. Attempt 7: go", id="in-line"),
        pytest.param("7) go", id="first"),
        pytest.param("\n**Step 69:** go", id="markdown"),
        pytest.param("\n## Case 12", id="heading"),
        pytest.param("\n| 12 | yes |", id="table"),
        pytest.param("Steril. 139.\n", id="alone-in-its-sentence"),
    ],
)
def test_list_ordinals_are_one_unit(text):
    assert ORDINAL in [unit for _, unit in units(text)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("so after 45 minutes", id="amount"),
        pytest.param("\nversion is 1.5.2", id="version"),
        pytest.param("\nit takes 45 minutes", id="third-word"),
        pytest.param("done. Then 7 more", id="amount-after-a-stop"),
    ],
)
def test_other_numbers_are_not(text):
    assert ORDINAL not in [unit for _, unit in units(text)]


@given(st.text(), st.lists(st.integers(0, 600)))
def test_cuts_do_not_matter(text, cuts):
    text = text * (1 + 600 // (len(text) + 1))
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    reader = Reader()
    blocks = [block for a, b in pairwise(edges) for block in reader.feed(text[a:b])]
    assert blocks == Reader().feed(text)


@given(st.text(min_size=BLOCK_BYTES))
def test_units_tile_the_text(text):
    blocks = Reader().feed(text)
    assert "".join(block.text for block in blocks) == text[: blocks[-1].end]
    assert [block.start for block in blocks] == [0, *(b.reach for b in blocks[:-1])]
    assert all(0 not in block.sizes for block in blocks)


@given(st.text(min_size=BLOCK_BYTES))
def test_each_unit_is_joined_and_has_its_kind_and_size(text):
    for block in Reader().feed(text):
        assert block.joined == b"".join(block.units)
        kinds = [unit[0] & WORD for unit in block.units]
        assert list(block.kinds) == kinds
        assert len(block.sizes) == len(kinds)


@given(st.text(alphabet="aя字😀\ud83d", max_size=400))
def test_a_block_is_as_short_as_its_bytes_allow(text):
    for block in Reader().feed(text):
        sizes = [len(c.encode("utf-8", "surrogatepass")) for c in block.text]
        assert sum(sizes[:-1]) < BLOCK_BYTES <= sum(sizes)
