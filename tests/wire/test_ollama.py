import json

import pytest

from trackside.wire.ollama import Reader, read_body
from trackside.wire.pieces import (
    Content,
    End,
    Failure,
    Finish,
    Keepalive,
    Reasoning,
    Start,
    ToolCall,
    Usage,
)
from wire.streams import all_cuts, line, pieces, read

HEAD = {"model": "qwen3", "created_at": "2026-11-30T14:15:16.123456789Z"}
START = Start("", "qwen3", 1796048116)
CLOCK = {"total_duration": 900, "load_duration": 10, "eval_duration": 500}
DONE = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 2}
ENDING = [Finish("stop"), Usage(9, 2, None, None, CLOCK, True), End()]


def chat(**message):
    return line(**HEAD, message={"role": "assistant", **message}, done=False)


def generate(**fields):
    return line(**HEAD, **fields, done=False)


def call(name, **arguments):
    return {"function": {"name": name, "arguments": arguments}}


STREAMS = {
    "chat": (
        chat(content="", thinking="Hm")
        + chat(content="", thinking="!")
        + chat(content="Yé")
        + chat(content="")
        + line(**HEAD, message={"role": "assistant", "content": ""}, **DONE, **CLOCK),
        [
            START,
            Reasoning("Hm", "thinking"),
            Reasoning("!", "thinking"),
            Content("Yé"),
            Keepalive("empty"),
            *ENDING,
        ],
    ),
    "chat-tools": (
        chat(content="", tool_calls=[{"id": "c1", **call("f", a=1)}, call("g")])
        + chat(content="", tool_calls=[call("f", b="é")])
        + line(**HEAD, message={"content": ""}, **DONE, **CLOCK),
        [
            START,
            ToolCall(0, "c1", "f", '{"a":1}'),
            ToolCall(1, None, "g", "{}"),
            ToolCall(2, None, "f", '{"b":"é"}'),
            *ENDING,
        ],
    ),
    "generate": (
        generate(response="", thinking="Hm")
        + generate(response="Yes")
        + line(**HEAD, response="", context=[1, 2], **DONE, **CLOCK),
        [START, Reasoning("Hm", "thinking"), Content("Yes"), *ENDING],
    ),
    "inline": (
        generate(response="<think>Hm</")
        + generate(response="think>Yes")
        + line(**HEAD, response="", done=True),
        [
            START,
            Reasoning("Hm", "inline"),
            Content("Yes"),
            Finish("stop"),
            End(),
        ],
    ),
    "error": (
        chat(content="Ye") + line(error="out of memory"),
        [START, Content("Ye"), Failure("out of memory", None)],
    ),
    "cut-off": (
        chat(content="<thi") + b'{"message":{"content":"nk',
        [START, Content("<thi")],
    ),
}


@pytest.mark.parametrize(("stream", "expected"), STREAMS.values(), ids=STREAMS.keys())
def test_engines_are_read_the_same_however_the_stream_is_cut(stream, expected):
    whole = read(Reader(), [stream])
    assert pieces(whole) == expected
    assert b"".join(message.raw for message in whole) == stream
    for parts in all_cuts(stream):
        assert read(Reader(), parts) == whole
    assert pieces(read(Reader(), [stream.replace(b"\n", b"\r\n")])) == expected


def test_the_last_line_needs_no_end():
    stream = line(**HEAD, response="Hi", **DONE, **CLOCK)
    whole = read(Reader(), [stream])
    assert pieces(read(Reader(), [stream[:-1]])) == pieces(whole)


@pytest.mark.parametrize(
    ("created_at", "created"),
    [
        pytest.param("2026-11-30T14:15:16Z", 1796048116, id="utc"),
        pytest.param("2026-11-30T15:15:16.5+01:00", 1796048116, id="offset"),
        pytest.param("2026-11-30T14:15:16", 1796048116, id="no-zone-is-utc"),
        pytest.param("0001-01-01T00:00:00Z", 0, id="go-zero-time"),
        pytest.param("soon", 0, id="words"),
        pytest.param(1796048116, 0, id="number"),
    ],
)
def test_instants_are_read_whatever_the_machine(created_at, created):
    [start, *_] = read_body(json.dumps({"created_at": created_at, "done": 0}).encode())
    assert start == Start("", "", created)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(
            {**HEAD, "message": {"content": "Yes", "thinking": "Hm"}, **DONE, **CLOCK},
            [START, Reasoning("Hm", "thinking"), Content("Yes"), *ENDING[:-1]],
            id="chat",
        ),
        pytest.param(
            {**HEAD, "response": "<think>Hm</think>Yes", "done": True},
            [START, Reasoning("Hm", "inline"), Content("Yes"), Finish("stop")],
            id="generate-inline",
        ),
        pytest.param(
            {**HEAD, "response": "", "done": True, "done_reason": "load"},
            [START, Finish("load")],
            id="load",
        ),
        pytest.param({"error": "no model"}, [Failure("no model", None)], id="error"),
        pytest.param({"detail": "no"}, [Failure("no", None)], id="sglang"),
        pytest.param(
            {"message": {"tool_calls": [7, {}, {"function": 7}]}, "done": False},
            [Start("", "", 0), Keepalive("empty")],
            id="odd-calls",
        ),
        pytest.param(
            {"message": {"content": 7, "thinking": [1]}, "response": {}, "done": "no"},
            [Start("", "", 0), Keepalive("empty")],
            id="odd",
        ),
        pytest.param({"models": []}, [], id="something-else"),
        pytest.param([], [], id="list"),
    ],
)
def test_a_whole_body_says_the_same(answer, expected):
    assert read_body(json.dumps(answer).encode()) == expected


def test_a_body_that_is_not_json_says_nothing():
    assert read_body(b"404 page not found") == []
