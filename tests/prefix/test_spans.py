from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trackside.prefix.spans import (
    BodyError,
    common_bytes,
    decode_elements,
    decode_members,
    element_spans,
    find_member,
    is_value,
    member_spans,
    skip_value,
)

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
names = st.text(max_size=4)
values = (
    scalars
    | st.lists(scalars, max_size=3)
    | st.dictionaries(names, st.lists(scalars, max_size=2), max_size=3)
)
layouts = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")])


@settings(max_examples=50)
@given(st.dictionaries(names, values, max_size=4), layouts, st.booleans())
def test_members_stand_where_json_has_them(
    told: dict[str, object], layout: tuple[str, str], is_ascii: bool
) -> None:
    raw = json.dumps(told, separators=layout, ensure_ascii=is_ascii)
    body = f" {raw}\n".encode("utf-8", "surrogatepass")
    if "\\ud" in raw or not _is_utf8(body):
        return
    found = member_spans(body)
    assert [*found] == [*told]
    for name, spans in found.items():
        assert [json.loads(span.of(body)) for span in spans] == [told[name]]


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


@settings(max_examples=50)
@given(st.lists(values, max_size=4), layouts)
def test_elements_stand_where_json_has_them(
    told: list[object], layout: tuple[str, str]
) -> None:
    raw = json.dumps(told, separators=layout).encode()
    if b"\\ud" in raw:
        return
    spans = element_spans(raw, decode_elements(raw), 1)
    assert [json.loads(span.of(raw)) for span in spans] == told


def test_a_key_sent_twice_has_two_places() -> None:
    raw = b'{"a":[1,{"b":"]"}],"c":0,"a":"x\\"y"}'
    assert [span.of(raw) for span in member_spans(raw)["a"]] == [
        b'[1,{"b":"]"}]',
        b'"x\\"y"',
    ]


def test_a_value_is_skipped_token_by_token() -> None:
    raw = b'[1, {"a": "]\\"}"}] , 2'
    assert raw[: skip_value(raw, 0)] == b'[1, {"a": "]\\"}"}]'
    with pytest.raises(BodyError):
        skip_value(b'[1, "a"', 0)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        pytest.param(b'{"messages":[]}', b"[]}", id="first"),
        pytest.param(b'{ "a" : 1 , "messages" : [1]}', b"[1]}", id="spaced"),
        pytest.param(b'{"a":"\\"messages\\":","messages":[2]}', b"[2]}", id="in-text"),
        pytest.param(
            b'{"a":{"messages":3},"messages":[4]}', b"[4]}", id="in-an-object"
        ),
        pytest.param(b'{"a":["messages"],"messages":[5]}', b"[5]}", id="in-a-list"),
        pytest.param(b'{"me\\u0073sages":[6]}', b"[6]}", id="escaped"),
        pytest.param(
            b'{"a":[' + b'{"messages":0},' * 20 + b'0],"messages":[7]}',
            b"[7]}",
            id="behind-many",
        ),
    ],
)
def test_a_member_is_found_at_the_top_only(raw: bytes, value: bytes) -> None:
    at = find_member(raw, "messages")
    assert at is not None
    assert raw[at:] == value


def test_a_member_that_is_not_there_is_not_found() -> None:
    assert find_member(b'{"a":{"messages":1}}', "messages") is None


@given(st.binary(max_size=40), st.binary(max_size=9), st.binary(max_size=9))
def test_common_bytes_is_what_a_loop_would_count(
    front: bytes, one: bytes, other: bytes
) -> None:
    first, second = front * 300 + one, front * 300 + other
    expected = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        expected += 1
    assert common_bytes(first, second) == expected
    assert common_bytes(b"??" + first, second, 2, 0) == expected


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b"", "empty body", id="empty"),
        pytest.param(b'{"a":[1,2', "truncated after 9 bytes", id="truncated"),
        pytest.param(b"hello", "not JSON", id="garbage"),
        pytest.param(b"\x1f\x8b\x08\x00", "not JSON", id="gzip"),
        pytest.param(b"[1]", "no object", id="list"),
        pytest.param(b'{"a":' + b"[" * 100_000, "deeply", id="deep"),
    ],
)
def test_what_is_no_object_is_called_what_it_is(raw: bytes, reason: str) -> None:
    with pytest.raises(BodyError, match=reason):
        decode_members(raw)


def test_only_whole_values_are_values() -> None:
    assert is_value(b'[1,"a"]')
    assert not is_value(b'[1],"a"')
    assert not is_value(b"[" * 100_000)
