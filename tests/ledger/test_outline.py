"""Prompts in outline, of every dialect and of none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.ledger.outline import Outline, read_outline
from trackside.ledger.request import Asked, read_asked


def outline(body: dict[str, Any]) -> Outline:
    return read_outline(json.dumps(body).encode())


def roles(body: dict[str, Any]) -> list[str]:
    return [unit.role for unit in outline(body).units]


TOOL_USE = {"role": "assistant", "content": [{"type": "tool_use", "name": "f"}]}
TOOL_RESULT = {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(
            {
                "messages": [
                    {"role": "system", "content": "s"},
                    {"role": "user", "content": "u"},
                    {"role": "assistant", "tool_calls": []},
                    {"role": "tool", "content": "t"},
                ],
                "tools": [{"name": "f"}],
            },
            ["tools", "system", "user", "assistant", "tool"],
            id="chat",
        ),
        pytest.param(
            {"system": "s", "messages": [TOOL_USE, TOOL_RESULT]},
            ["system", "assistant", "tool"],
            id="messages",
        ),
        pytest.param(
            {
                "instructions": "i",
                "input": [
                    {"role": "user", "content": "u"},
                    {"type": "reasoning", "summary": []},
                    {"type": "function_call", "name": "f"},
                    {"type": "function_call_output", "output": "x"},
                ],
            },
            ["system", "user", "assistant", "assistant", "tool"],
            id="responses",
        ),
        pytest.param({"input": "u"}, ["user"], id="responses as text"),
        pytest.param({"prompt": "p", "system": "s"}, ["system", "user"], id="generate"),
        pytest.param({"messages": 7}, ["user"], id="nonsense"),
        pytest.param({"messages": [1, None, "x"]}, ["", ""], id="no messages"),
    ],
)
def test_roles(body: dict[str, Any], told: list[str]) -> None:
    assert roles(body) == told


def test_what_two_prompts_share_is_bounded_from_both_sides() -> None:
    text = "word " * 400
    one = outline({"messages": [{"role": "system", "content": text + "A" * 500}]})
    two = outline({"messages": [{"role": "system", "content": text + "B" * 500}]})
    same = len(b'{"role": "system", "content": "' + text.encode())
    low, high = one.shared(two)
    assert low <= same <= high
    assert high <= 2 * low
    assert one.shared(one) == (one.size_bytes, one.size_bytes)


def test_what_is_behind_the_shared_units_is_fresh() -> None:
    first = {"role": "user", "content": "u"}
    old = outline({"messages": [first]})
    new = outline({"messages": [first, TOOL_USE, TOOL_RESULT]})
    assert [unit.role for unit in new.behind(old)] == ["assistant", "tool"]
    assert new.behind(old)[0].calls_tools
    shared = new.sharing(old)
    assert shared == new
    assert shared.units[0] is old.units[0]


DEEP = b'{"messages":[{"role":"user","content":' + b"[" * 5000 + b"]" * 5000 + b"}]}"


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe", b"null", b"[]", b'{"messages":', DEEP, b'{"model":"\xed\xa0"}'],
    ids=["empty", "bytes", "null", "list", "cut", "deep", "surrogate"],
)
def test_what_is_no_request_has_no_outline(body: bytes) -> None:
    assert isinstance(read_outline(body), Outline)
    assert isinstance(read_asked(body, "chat"), Asked)


@given(st.binary(max_size=200))
def test_no_bytes_break_it(body: bytes) -> None:
    read_outline(body)
    read_asked(body, "chat")
    read_outline(b'{"messages":[' + body + b"]}")


odd = [None, True, 7, -1, 1.5, "", "5m", [], [[]], [None], {}, {"role": 3}, [{"x": 1}]]
json_values = st.sampled_from(odd)
names = st.sampled_from(
    ["model", "stream", "max_tokens", "options", "keep_alive", "messages", "input"]
)


@given(st.dictionaries(names, json_values))
def test_no_types_break_it(body: dict[str, Any]) -> None:
    raw = json.dumps(body).encode()
    read_outline(raw)
    asked = read_asked(raw, "ollama_chat")
    assert asked.max_tokens is None or asked.max_tokens > 0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (300, 300.0),
        ("5m", 300.0),
        ("1.5h", 5400.0),
        (-1, None),
        ("-1", None),
        (None, None),
    ],
)
def test_how_long_an_idle_model_may_stay(value: Any, seconds: float | None) -> None:
    raw = json.dumps({"keep_alive": value}).encode()
    assert read_asked(raw, "ollama_chat").keep_alive_s == seconds
