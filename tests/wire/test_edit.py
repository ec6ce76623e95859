import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trackside.wire.edit import (
    _cut_anywhere,
    _end_of_counts,
    add_members,
    cut_member,
    members_of,
    merge_members,
    swap_member,
)
from trackside.wire.errors import WireError

TEXT = st.text(st.characters(codec="utf-8"), max_size=5)
KEYS = st.sampled_from(["usage", "id", "é", 'a"b', "\\", ""])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 2**60), TEXT)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=6,
)
SPACES = st.sampled_from(["", " ", "\t "])


class Written:
    """A JSON object as some program may have written it, duplicate keys and all."""

    def __init__(self, members, ascii_only, comma, colon, space):
        self.members, self.colon, self.ascii_only = members, colon, ascii_only
        self.comma, self.space = comma, space

    def member(self, key, value):
        return self.dumps(key) + self.colon + self.dumps(value)

    def dumps(self, value):
        return json.dumps(value, ensure_ascii=self.ascii_only)

    def text(self, members, added=""):
        inner = self.comma.join(members)
        if not members:
            return ("{" + added + self.space * 2 + "}").encode()
        comma = "," if added else ""
        return ("{" + self.space + inner + comma + added + self.space + "}").encode()

    def body(self):
        return self.text([self.member(*pair) for pair in self.members])


WRITTEN = st.builds(
    Written,
    st.lists(st.tuples(KEYS, VALUES), max_size=5),
    st.booleans(),
    st.sampled_from([",", ", ", " ,\t"]),
    st.sampled_from([":", ": ", " : "]),
    SPACES,
)


@given(WRITTEN, st.dictionaries(KEYS, VALUES, max_size=3))
def test_members_are_set_and_every_other_byte_stays(written, new):
    compact = {key: msgspec.json.encode(value).decode() for key, value in new.items()}
    old = [
        written.dumps(key) + written.colon + compact[key]
        if key in new
        else written.member(key, value)
        for key, value in written.members
    ]
    known = {key for key, _ in written.members}
    added = [
        msgspec.json.encode(key).decode() + ":" + text
        for key, text in compact.items()
        if key not in known
    ]
    found = add_members(written.body(), new)
    assert found == written.text(old, ",".join(added))
    assert json.loads(found) == {**dict(written.members), **new}


@given(
    WRITTEN,
    st.sampled_from(["usage", "id", ""]),
    st.sampled_from(["data: ", "data:"]),
    SPACES,
)
def test_a_member_is_cut_and_every_other_byte_stays(written, key, field, end):
    frame = field.encode() + b"%s" + end.encode() + b"\r\n\r\n"
    kept = [pair for pair in written.members if pair[0] != key]
    found = cut_member(frame % written.body(), key)
    assert found == frame % written.text([written.member(*pair) for pair in kept])


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        pytest.param(b'data: {"u":1,"b":2}\n\n', b'data: {"b":2}\n\n', id="first"),
        pytest.param(
            b'data: {"a": 1, "u": {"u": 2}, "b": 3}\n\n',
            b'data: {"a": 1, "b": 3}\n\n',
            id="middle",
        ),
        pytest.param(b'data: {"a":1, "u":2 }\n\n', b'data: {"a":1 }\n\n', id="last"),
        pytest.param(b'data: {"u":null}\n\n', b"data: {}\n\n", id="only"),
        pytest.param(
            b'data: {"a":NaN,"u":1}\n\n', b'data: {"a":NaN}\n\n', id="beside-nan"
        ),
        pytest.param(b'data: {"u":1}', b"data: {}", id="no-line-end"),
        pytest.param(
            b'data: {"a":1,"u":{"x":1},"u":5}\n\n', b'data: {"a":1}\n\n', id="twice"
        ),
        pytest.param(
            b'data:{"a":1,"u":{"x":1}}\n\n', b'data:{"a":1}\n\n', id="no-space"
        ),
    ],
)
def test_a_member_is_cut_wherever_it_stands(raw, found):
    assert cut_member(raw, "u") == found


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'data: {"a":{"u":1}}\n\n', id="deeper"),
        pytest.param(b'data: {"a":"\\"u\\":1"}\n\n', id="in-a-string"),
        pytest.param(b'event: e\ndata: {"u":1}\n\n', id="two-fields"),
        pytest.param(b'data: {"u":1,\ndata: "a":2}\n\n', id="two-lines"),
        pytest.param(b'data: {"u":1,\r"a":2}\r\r', id="two-lines-by-cr"),
        pytest.param(b'data: {"u":1}{"u":2}\n\n', id="two-objects"),
        pytest.param(b'id: {"a":1,"u":{"x":1}}\n\n', id="no-data"),
        pytest.param(b'event: e\ndata: {"a":1,"u":{"x":1}}\n\n', id="named-counts"),
        pytest.param(b'data: {"a":1\ndata: ,"u":{"x":1}}\n\n', id="counts-in-two"),
        pytest.param(b'data: {"a":1\r,"u":{"x":1}}\n\n', id="counts-behind-a-cr"),
        pytest.param(b'data: {"u":1,}\n\n', id="not-json"),
        pytest.param(b'data: ["u"]\n\n', id="a-list"),
        pytest.param(b"data: [DONE]\n\n", id="done"),
        pytest.param(b": u\n\n", id="comment"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_has_no_such_member_stays_as_it_is(raw):
    assert cut_member(raw, "u") is raw


# What could be taken for the member, and what it could stand in.
TRAPS = st.sampled_from(
    [
        ',"usage":{"a":1}}',
        ',"usage":{',
        '"usage":',
        "}",
        "}}\n\n",
        "\\",
        '"',
        ',"k":1}',
        "usage",
        "{",
    ]
)
COUNTS = st.recursive(
    st.integers() | st.floats(allow_nan=False) | st.none() | TRAPS,
    lambda inner: (
        st.dictionaries(
            st.sampled_from(["a", "n_1", "usage"]) | TRAPS, inner, max_size=3
        )
        | st.lists(inner, max_size=2)
    ),
    max_leaves=5,
)
EVENTS = st.dictionaries(
    st.sampled_from(["usage", "id", "k"]) | TRAPS, COUNTS | VALUES, max_size=4
)


@given(
    EVENTS, st.booleans(), st.sampled_from([",", ", "]), st.sampled_from([":", ": "])
)
@example({"usage": {"a": 1}}, False, ",", ":")
@example({"a": {"usage": {"a": 1}}}, False, ",", ":")
@example({"x": 1, "usage": {"a": "}"}, "k": ',"k":1}'}, False, ",", ":")
@example({"x": 1, "usage": {"a": "{"}}, False, ",", ":")
@example({"x": [{"k": 1, "usage": {"a": {"b": 1}}}]}, False, ",", ":")
@example({"x": 1, "usage": {"a": 1, "b": {"c": 2}}, "k": None}, False, ",", ":")
@example({"usage": 1, "x": 1, "k": ',"usage":{"a":1}}'}, False, ",", ":")
def test_the_fast_way_cuts_what_the_slow_way_cuts(members, ascii_only, comma, colon):
    text = json.dumps(members, ensure_ascii=ascii_only, separators=(comma, colon))
    raw = b"data: " + text.encode() + b"\n\n"
    assert cut_member(raw, "usage") == _cut_anywhere(raw, b'"usage"')


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(b'"timings":{"cache_n":3,"prompt_ms":0.5}}', id="llama.cpp"),
        pytest.param(b'"usage":{"n":2,"details":{"n":2}}}', id="vllm"),
        pytest.param(b'"usage":{"n":2},"kv_transfer_params":null}', id="vllm 0.33"),
        pytest.param(b'"usage":{"n":2},"system_fingerprint":"b-0"}', id="stamped"),
        pytest.param(b'"usage":{"details":null,"n":2,"d":{}}}', id="sglang"),
    ],
)
def test_what_engines_write_is_cut_the_fast_way(tail):
    raw = b'data: {"delta":{"content":"\\n}"},' + tail + b"\n\n"
    key = tail[1:].partition(b'"')[0].decode()
    assert _end_of_counts(raw, raw.index(tail) + len(key) + 4)
    assert json.loads(cut_member(raw, key)[6:]).keys() == json.loads(raw[6:]).keys() - {
        key
    }


@given(EVENTS, st.sampled_from(["usage", "id"]))
def test_a_member_is_swapped_where_it_stands(members, key):
    raw = b"data: " + json.dumps(members).encode() + b"\r\n\r\n"
    found = json.loads(swap_member(raw, key, b'"new":0')[6:])
    named = [("new", 0) if k == key else (k, v) for k, v in members.items()]
    assert list(found.items()) == list(json.loads(json.dumps(dict(named))).items())


@pytest.mark.parametrize(
    "raw", [b"", b": usage\n\n", b'data: ["usage"]\n\n', b'data: {"a":"usage"}\n\n']
)
def test_what_has_no_such_member_is_not_swapped(raw):
    assert swap_member(raw, "usage", b'"n":0') == raw


@given(WRITTEN)
def test_members_are_told_by_their_offsets(written):
    body = written.body()
    told = [(m.key, json.loads(body[m.value : m.end])) for m in members_of(body)]
    assert told == [(k, json.loads(json.dumps(v))) for k, v in written.members]
    assert all(body[m.start : m.start + 1] == b'"' for m in members_of(body))


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param(b"{}", b'{"o":{"x":true}}', id="absent"),
        pytest.param(b'{"o":{}}', b'{"o":{"x":true}}', id="empty"),
        pytest.param(b'{"o":{"x":false,"y":1}}', b'{"o":{"x":true,"y":1}}', id="there"),
        pytest.param(
            b'{"o": {"y":1} ,"z":0}', b'{"o": {"y":1,"x":true} ,"z":0}', id="add"
        ),
        pytest.param(b'{"o":null}', b'{"o":{"x":true}}', id="null"),
        pytest.param(b'{"o":[1]}', b'{"o":{"x":true}}', id="no-object"),
        pytest.param(
            b'{"o":{"y":1},"o":{"x":0}}',
            b'{"o":{"y":1,"x":true},"o":{"x":true}}',
            id="twice",
        ),
        pytest.param(
            b'{"o":null,"o":{}}', b'{"o":{"x":true},"o":{"x":true}}', id="twice-mixed"
        ),
    ],
)
def test_members_are_merged_into_an_object(body, found):
    assert merge_members(body, "o", {"x": True}) == found


def test_bytes_that_are_no_text_survive():
    body = b'{"a":"\xff\\ud83d","n":' + b"9" * 5000 + b"}\n"
    assert add_members(body, {"x": 1}) == body[:-2] + b',"x":1}\n'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"a":1',
        b'{"a":1,}',
        b'{"a" 1}',
        b"{a:1}",
        b"{}{}",
        b'{"\xff":1}',
        b'\xef\xbb\xbf{"a":1}',
        b'{"a":' + b"[" * 200_000,
    ],
    ids=lambda body: repr(body[:12]),
)
def test_what_is_no_object_is_refused_in_words(body):
    with pytest.raises(WireError, match="wanted a JSON object"):
        add_members(body, {"x": 1})
    with pytest.raises(WireError, match="wanted a JSON object"):
        merge_members(body, "x", {"y": 1})
