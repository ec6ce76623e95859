import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.wire.errors import WireError
from trackside.wire.respell import respell


@given(
    st.recursive(
        st.none() | st.integers() | st.text(st.characters(codec="utf-8")),
        lambda inner: st.lists(inner) | st.dictionaries(st.text("é☃"), inner),
        max_leaves=5,
    )
)
def test_sound_json_means_the_same(value):
    assert json.loads(respell(json.dumps(value).encode())) == value


@pytest.mark.parametrize(
    ("data", "value"),
    [
        pytest.param(b"[NaN, Infinity, -Infinity]", [None] * 3, id="no-numbers"),
        pytest.param(rb'"a\ud83db\ude00"', "a?b?", id="half-pairs"),
        pytest.param(rb'"\ud83d\ude00"', "😀", id="whole-pair"),
        pytest.param(b'"\xff"', "�", id="not-utf-8"),
    ],
)
def test_what_strict_parsers_refuse_is_replaced(data, value):
    assert json.loads(respell(data)) == value


@pytest.mark.parametrize("data", [b"", b"{", b"words", b"[" * 200_000, b"9" * 5000])
def test_what_is_not_json_is_refused_in_words(data):
    with pytest.raises(WireError, match="wanted JSON"):
        respell(data)
