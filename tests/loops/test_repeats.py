"""Repeated tool calls and turns, found in the history that a request carries."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.loops.repeats import repetition


def chat_turn(name: str, arguments: str = "{}") -> list[Any]:
    call = {"id": "x", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "x", "content": "nothing"},
    ]


def ollama_turn(name: str) -> list[Any]:
    call = {"function": {"name": name, "arguments": {"a": 1}}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "nothing"},
    ]


def messages_turn(name: str) -> list[Any]:
    use = {"type": "tool_use", "id": "t", "name": name, "input": {"a": 1}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "nothing"}
    return [
        {"role": "assistant", "content": [{"type": "text", "text": "Hm."}, use]},
        {"role": "user", "content": [result]},
    ]


def responses_turn(name: str) -> list[Any]:
    return [
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": name, "arguments": '{"a":1}'},
        {"type": "function_call_output", "output": "nothing"},
    ]


def body(turns: list[list[Any]], key: str = "messages") -> bytes:
    user = {"role": "user", "content": "go"}
    return json.dumps(
        {key: [user, *(item for turn in turns for item in turn)]}
    ).encode()


DIALECTS = [
    pytest.param("chat", "messages", chat_turn, id="chat"),
    pytest.param("ollama_chat", "messages", ollama_turn, id="ollama"),
    pytest.param("messages", "messages", messages_turn, id="messages"),
    pytest.param("responses", "input", responses_turn, id="responses"),
]


@pytest.mark.parametrize(("dialect", "key", "turn"), DIALECTS)
def test_the_third_equal_call_is_told(dialect: str, key: str, turn: Any) -> None:
    told = [
        repetition(dialect, body([turn("ls")] * count, key)) for count in range(1, 6)
    ]
    assert [found.what if found else None for found in told] == [
        None,
        None,
        "call",
        None,
        None,
    ]


@pytest.mark.parametrize(("dialect", "key", "turn"), DIALECTS)
def test_a_cycle_of_calls_is_told(dialect: str, key: str, turn: Any) -> None:
    found = repetition(dialect, body([turn("ls"), turn("cat")] * 3, key))
    assert found
    assert (found.what, found.calls, found.turns) == ("cycle", ("ls", "cat"), 6)


@pytest.mark.parametrize(("dialect", "key", "turn"), DIALECTS)
def test_other_calls_in_between_are_no_repetition(
    dialect: str, key: str, turn: Any
) -> None:
    names = ["ls", "ls", "cat", "ls", "ls"]
    assert repetition(dialect, body([turn(name) for name in names], key)) is None


def test_the_same_call_with_other_arguments_is_none() -> None:
    turns = [chat_turn("read", json.dumps({"line": n})) for n in range(5)]
    assert repetition("chat", body(turns)) is None


def test_the_same_answer_three_times_is_told() -> None:
    turn = [
        {"role": "assistant", "content": "I will do it now."},
        {"role": "user", "content": "go on"},
    ]
    found = repetition("chat", body([turn] * 3))
    assert found
    assert found.what == "turn"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "tool_calls",
                    "function",
                    "name",
                    "type",
                    "messages",
                ]
            ),
            inner | st.sampled_from(["assistant", "tool_use", "function_call", "text"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_body_breaks_it(value: Any) -> None:
    raw = json.dumps(value).encode()
    for dialect in ("chat", "responses", "ollama_generate"):
        repetition(dialect, raw)
        repetition(dialect, b'{"messages":[' + raw + b',{"role":"assistant"}]}')


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"messages":3}', b"\xff"])
def test_garbage_repeats_nothing(raw: bytes) -> None:
    assert repetition("chat", raw) is None
