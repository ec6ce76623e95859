"""How Ollama's lines go on: time and model on each, calls whole, one last line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trackside.handoff.usage import Counts
from trackside.handoff.write_ollama import Generated, Lines
from trackside.wire.pieces import ToolCall
from trackside.wire.stream import Message

COUNTS = Counts(prompt=9, completion=12)


def line(time: str, **more: Any) -> Message:
    data = {"model": "m", "created_at": time, "done": False, **more}
    return Message(json.dumps(data).encode() + b"\n", ())


def after(form: Lines) -> Lines:
    form.follow(line("one", message={"thinking": "Hm"}))
    form.heard(line("two", model="other", message={"content": "x"}))
    return form


def read(raw: bytes) -> list[dict[str, Any]]:
    assert raw.endswith(b"\n")
    return [json.loads(text) for text in raw.splitlines()]


@pytest.mark.parametrize(
    ("form", "said", "thought", "ended"),
    [
        pytest.param(
            Lines(),
            {"message": {"role": "assistant", "content": "Blue"}},
            {"message": {"role": "assistant", "content": "", "thinking": "Hm"}},
            {"message": {"role": "assistant", "content": ""}},
            id="chat",
        ),
        pytest.param(
            Generated(),
            {"response": "Blue"},
            {"response": "", "thinking": "Hm"},
            {"response": ""},
            id="generate",
        ),
    ],
)
def test_lines_have_model_and_time(
    form: Lines, said: Any, thought: Any, ended: Any
) -> None:
    after(form)
    head = {"model": "m", "created_at": "two", "done": False}
    assert read(form.text("Blue") + form.reasoning("Hm")) == [
        {**head, **said},
        {**head, **thought},
    ]
    form.heard(line("three", done=True, total_duration=7, context=[1], response="x"))
    assert read(form.close("stop", COUNTS)) == [
        {
            **head,
            "created_at": "three",
            "total_duration": 7,
            **ended,
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 9,
            "eval_count": 12,
        }
    ]


def test_calls_are_told_whole() -> None:
    form = after(Lines())
    raw = form.tool(ToolCall(0, "c1", "look", '{"a"'))
    raw += form.tool(ToolCall(0, None, None, ":1}"))
    assert raw == b""
    raw = form.tool(ToolCall(1, "c2", "see", "{}"))
    raw += form.close("tool_calls", Counts())
    one, two, last = read(raw)
    for told, name, arguments in ((one, "look", {"a": 1}), (two, "see", {})):
        function = {"name": name, "arguments": arguments}
        assert told["message"]["tool_calls"] == [{"function": function}]
    assert last["done_reason"] == "stop"


def test_a_call_cut_by_the_limit_has_no_arguments() -> None:
    form = after(Lines())
    form.tool(ToolCall(0, None, None, '{"a'))
    function = read(form.close("length", COUNTS))[0]["message"]["tool_calls"][0]
    assert function == {"function": {"name": "", "arguments": {}}}


@pytest.mark.parametrize("junk", [b"{\n", b"\n", b"[1]\n", b'{"x":1}\n', b""])
def test_garbage_does_no_harm(junk: bytes) -> None:
    form = Lines()
    form.follow(Message(junk, ()))
    form.heard(Message(junk, ()))
    assert read(form.text("Blue"))[0]["message"]["content"] == "Blue"


def test_a_failure_is_an_error_line() -> None:
    assert read(Lines().fail("gone")) == [{"error": "gone"}]
