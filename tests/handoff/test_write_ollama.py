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


@pytest.mark.parametrize(
    ("times", "spent_ns"),
    [
        pytest.param(("22.000000000Z", "24.500000000Z"), 2_500_000_000, id="told"),
        pytest.param(("22.123456789Z", "22.123456999Z"), 0, id="hardly any"),
        pytest.param(("24Z", "22Z"), 0, id="a clock that was set back"),
        pytest.param(("22Z", "soon"), 0, id="no time"),
        pytest.param(("22Z", "23"), 0, id="no zone"),
    ],
)
@pytest.mark.parametrize("form", [Lines, Generated])
def test_the_time_of_phase_1_is_in_the_totals(
    form: type[Lines], times: tuple[str, str], spent_ns: int
) -> None:
    lines, minute = form(), "2026-08-21T18:48:"
    for time in (times[0], times[0], times[1]):
        lines.follow(line(minute + time))
    lines.follow(Message(b"", ()))
    lines.follow(line(minute + times[1]))
    told = {"total_duration": 900, "eval_duration": 300, "load_duration": 7}
    lines.heard(line(minute + "59Z", **told, done=True))
    (last,) = read(lines.close("stop", COUNTS))
    assert last["eval_duration"] == 300 + spent_ns
    assert last["total_duration"] == 900 + spent_ns
    assert last["load_duration"] == 7


def test_durations_that_are_not_told_are_not_made_up() -> None:
    (last,) = read(after(Lines()).close("stop", COUNTS))
    assert "eval_duration" not in last
