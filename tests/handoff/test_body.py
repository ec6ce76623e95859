import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trackside.handoff.body import appended, join, split
from trackside.wire.errors import WireError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = st.text(st.characters(codec="utf-8"), max_size=4)


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(KEYS, VALUES, max_size=4),
    st.booleans(),
    st.sampled_from([",", ", "]),
)
def test_every_value_keeps_its_bytes(members, ascii_only, comma):
    dumped = {
        key: json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "replace")
        for key, value in members.items()
    }
    pairs = [json.dumps(key).encode() + b" : " + raw for key, raw in dumped.items()]
    body = b"{ " + comma.encode().join(pairs) + b" }"
    assert split(body) == dumped
    assert split(join(dumped)) == dumped


@pytest.mark.parametrize(
    ("body", "members"),
    [
        pytest.param(b"{}", {}, id="empty"),
        pytest.param(b' {"a" :\t1 }\n', {"a": b"1"}, id="space"),
        pytest.param(b'{"a":1,"b":2,"a":3}', {"a": b"3", "b": b"2"}, id="twice"),
        pytest.param(b'{"a":"\\ud83d"}', {"a": b'"\\ud83d"'}, id="half an emoji"),
        pytest.param(b'{"a":NaN,"b":[]}', {"a": b"NaN", "b": b"[]"}, id="nan"),
        pytest.param(b'{"a":"\xff"}', {"a": b'"\xff"'}, id="no text"),
        pytest.param(b'{"a":1e999}', {"a": b"1e999"}, id="infinite"),
        pytest.param(b'{"\\u0061":1}', {"a": b"1"}, id="escaped key"),
    ],
)
def test_what_engines_read_is_split(body, members):
    assert split(body) == members


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"a":1}{}', b"null", b'{"a":' + b"[" * 200_000],
    ids=lambda body: repr(body[:8]),
)
def test_what_is_no_object_is_refused(body):
    with pytest.raises(WireError, match="wanted a JSON object"):
        split(body)


@pytest.mark.parametrize(
    ("array", "more"),
    [
        pytest.param(b"[]", b"[1]", id="empty"),
        pytest.param(b"[ ]", b"[ 1]", id="space"),
        pytest.param(b'[{"a": "]"}]', b'[{"a": "]"},1]', id="one"),
        pytest.param(b"[\n 1,\n 2\n]", b"[\n 1,\n 2\n,1]", id="pretty"),
    ],
)
def test_an_array_gets_one_more_item(array, more):
    assert appended(array, 1) == more


def test_what_is_no_array_is_refused():
    with pytest.raises(WireError, match="wanted an array of messages, got b'null'"):
        appended(b"null", 1)
