"""Bodies are cut the same way whatever they are read after."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prefix.conversations import WRITERS, answered, conversation
from trackside.prefix.body import members_of, read_body
from trackside.prefix.dialects import DIALECTS
from trackside.prefix.spans import BodyError
from trackside.prefix.units import Body

CHAT, COMPLETIONS = DIALECTS["chat"], DIALECTS["completions"]


def cut(body: Body) -> tuple[object, ...]:
    """Return all that reading found out, but for how much was taken over."""
    history = body.history
    return (
        (history.base, history.tail, history.units, history.is_text),
        (body.head, body.lead, body.chain, body.head_hash, body.session),
    )


@pytest.mark.parametrize("dialect", WRITERS)
def test_units_are_the_messages_byte_for_byte(dialect: str) -> None:
    raw = conversation(dialect).body()
    body = read_body(raw, DIALECTS[dialect])
    told = json.loads(raw)
    assert [json.loads(body.unit_bytes(unit)) for unit in body.history.units] == told[
        DIALECTS[dialect].history
    ]
    assert len(body.head.tools) == len(told["tools"])
    between = zip(body.history.units, body.history.units[1:], strict=False)
    assert all(raw[body.span(a).end : body.span(b).start] == b"," for a, b in between)


@pytest.mark.parametrize("dialect", WRITERS)
def test_what_is_known_changes_nothing_but_the_cost(dialect: str) -> None:
    one = conversation(dialect)
    bodies = [talk.body() for talk in (one, answered(one), answered(answered(one)))]
    bodies += [bodies[1].replace(b"180", b"181"), bodies[0]]
    for earlier, later in pairwise(bodies):
        fresh = read_body(later, DIALECTS[dialect])
        known = read_body(earlier, DIALECTS[dialect])
        assert cut(read_body(later, DIALECTS[dialect], known)) == cut(fresh)


messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
        optional={"content": st.text(max_size=8), "id": st.integers(0, 9)},
    ),
    max_size=6,
)
requests = st.fixed_dictionaries(
    {"messages": messages},
    optional={"tools": st.lists(st.just({"name": "a"})), "max_tokens": st.integers()},
)


def raw_of(told: dict[str, object], first: str) -> bytes:
    members = {first: told[first], **told} if first in told else told
    return json.dumps(members, separators=(",", ":")).encode()


@settings(max_examples=60)
@given(requests, requests, st.sampled_from(["messages", "tools", "max_tokens"]))
@example({"messages": []}, {"messages": [], "tools": []}, "messages")
@example(
    {"messages": [{"role": "user"}]},
    {"messages": [{"role": "user"}], "tools": [{"name": "a"}]},
    "messages",
)
def test_any_two_bodies_are_read_alike_after_each_other(
    one: dict[str, object], other: dict[str, object], first: str
) -> None:
    known = read_body(raw_of(one, first), CHAT)
    raw = raw_of(other, "messages")
    assert cut(read_body(raw, CHAT, known)) == cut(read_body(raw, CHAT))


@given(st.text(max_size=40), st.text(max_size=40), st.booleans())
@example("a\n\nb", "a\n\nb c\n\nd", False)
@example('"', '",', True)
def test_texts_are_read_alike_after_each_other(
    one: str, more: str, appends: bool
) -> None:
    texts = (one, one + more if appends else more)
    raws = [json.dumps({"prompt": text, "n": 1}).encode() for text in texts]
    if b"\\ud" in b"".join(raws):
        return
    known = read_body(raws[0], COMPLETIONS)
    fresh = read_body(raws[1], COMPLETIONS)
    assert cut(read_body(raws[1], COMPLETIONS, known)) == cut(fresh)
    text = raws[1][fresh.history.base : fresh.history.tail]
    assert json.loads(b'"' + text + b'"') == texts[1]


def test_an_append_takes_over_all_it_begins_with() -> None:
    one = conversation("chat")
    known = read_body(one.body(), CHAT)
    body = read_body(answered(one).body(), CHAT, known)
    assert body.history.shared == len(known.history.units)
    assert body.head is known.head
    assert body.history.units[0] is known.history.units[0]


def test_members_are_found_around_the_turns() -> None:
    raw = conversation("chat").body()
    found = members_of(read_body(raw, CHAT))
    assert {name: json.loads(span.of(raw)) for name, span in found.items()} == (
        json.loads(raw) | {"messages": json.loads(found["messages"].of(raw))}
    )
    assert found["messages"].of(raw).startswith(b'[{"role":"system"')


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b'{"model":"m"}', "no 'messages'", id="missing"),
        pytest.param(b'{"messages":7}', "neither a list nor a text", id="number"),
        pytest.param(b'{"messages":[{}', "truncated", id="truncated"),
        pytest.param(b'{"messages":[{}]}x', "trailing", id="trailing"),
        pytest.param(
            b'{"messages":[],"messages":[]}', "duplicate key 'messages'", id="twice"
        ),
        pytest.param(
            b'{"a":1,"messages":[],"a":2}', "duplicate key 'a'", id="twice-around"
        ),
    ],
)
def test_unusable_bodies_say_what_they_are(raw: bytes, reason: str) -> None:
    with pytest.raises(BodyError, match=reason):
        read_body(raw, CHAT)


def test_every_cut_of_a_body_is_refused_and_nothing_else_happens() -> None:
    raw = answered(conversation("chat")).body()
    known = read_body(conversation("chat").body(), CHAT)
    for end in range(0, len(raw), 7):
        with pytest.raises(BodyError):
            read_body(raw[:end], CHAT)
        with pytest.raises(BodyError):
            read_body(raw[:end], CHAT, known)


def test_text_that_is_no_utf8_is_kept_as_sent() -> None:
    raw = b'{"messages":[{"role":"user","content":"\xff\xfe"},{"role":"user"}]}'
    units = read_body(raw, CHAT).history.units
    assert [unit.role for unit in units] == ["unreadable", "user"]


def test_a_text_cut_within_a_character_is_read() -> None:
    raw = b'{"messages":[{"role":"user","content":"\\ud83d"}]}'
    assert [unit.role for unit in read_body(raw, CHAT).history.units] == ["user"]


def test_a_head_hash_is_the_same_in_every_process() -> None:
    assert read_body(conversation("chat").body(), CHAT).head_hash == "51a4cb9f"
