import json

import pytest

from trackside.wire.messages import Reader, read_body
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
from wire.streams import all_cuts, event, named, pieces, read

START = Start("msg_1", "m", 0)


def start(**usage):
    message = {"id": "msg_1", "type": "message", "content": [], "model": "m"}
    return named("message_start", message={**message, "usage": usage})


def block(index, kind, **fields):
    content_block = {"type": kind, **fields}
    return named("content_block_start", index=index, content_block=content_block)


def delta(index, kind, **fields):
    return named("content_block_delta", index=index, delta={"type": kind, **fields})


def stop(index):
    return named("content_block_stop", index=index)


def end(reason, **usage):
    return named("message_delta", delta={"stop_reason": reason}, usage=usage) + named(
        "message_stop"
    )


STREAMS = {
    "llama.cpp": (
        start(cache_read_input_tokens=24, input_tokens=1, output_tokens=0)
        + block(0, "thinking", thinking="")
        + delta(0, "thinking_delta", thinking="Hm")
        + delta(0, "signature_delta", signature="")
        + stop(0)
        + block(1, "text", text="")
        + delta(1, "text_delta", text="Yé")
        + stop(1)
        + end("max_tokens", output_tokens=12),
        [
            START,
            Usage(25, 0, None, 24, None, False),
            Reasoning("Hm", "thinking"),
            Content("Yé"),
            Finish("max_tokens"),
            Usage(25, 12, None, 24, None, True),
            End(),
        ],
    ),
    "vllm": (  # tells the whole prompt first, and its parts at the end
        start(input_tokens=38, output_tokens=0)
        + block(0, "tool_use", id="t1", name="f", input={})
        + delta(0, "input_json_delta", partial_json='{"a"')
        + delta(0, "input_json_delta", partial_json=":1}")
        + stop(0)
        + end(
            "tool_use",
            input_tokens=2,
            cache_read_input_tokens=4,
            cache_creation_input_tokens=32,
            output_tokens=7,
        ),
        [
            START,
            Usage(38, 0, None, None, None, False),
            ToolCall(0, "t1", "f", ""),
            ToolCall(0, None, None, '{"a"'),
            ToolCall(0, None, None, ":1}"),
            Finish("tool_use"),
            Usage(38, 7, None, 4, None, True),
            End(),
        ],
    ),
    "anthropic": (
        start(input_tokens=5, output_tokens=1)
        + named("ping")
        + block(0, "redacted_thinking", data="c2VjcmV0")
        + stop(0)
        + block(1, "server_tool_use", id="s", name="web_search", input={})
        + delta(1, "input_json_delta", partial_json='{"query":"x"}')
        + stop(1)
        + block(2, "text", text="So")
        + delta(2, "text_delta", text=" yes")
        + delta(2, "citations_delta", citation={"cited_text": "x"})
        + stop(2)
        + named("future_event", text="x", delta={"type": "text_delta", "text": "x"})
        + end(
            "end_turn", output_tokens=9, output_tokens_details={"thinking_tokens": 3}
        ),
        [
            START,
            Usage(5, 1, None, None, None, False),
            Keepalive("keepalive"),
            Content("So"),
            Content(" yes"),
            Finish("end_turn"),
            Usage(5, 9, 3, None, None, True),
            End(),
        ],
    ),
    "inline": (
        start()
        + block(0, "text", text="")
        + delta(0, "text_delta", text="<think>Hm</")
        + delta(0, "text_delta", text="think>Yes")
        + end("end_turn"),
        [
            START,
            Reasoning("Hm", "inline"),
            Content("Yes"),
            Finish("end_turn"),
            End(),
        ],
    ),
    "cut-off-in-a-tag": (
        start() + block(0, "text", text="<thi"),
        [START, Content("<thi")],
    ),
    "error": (
        start()
        + block(0, "text", text="Ye")
        + named("error", error={"type": "overloaded_error", "message": "busy"}),
        [START, Content("Ye"), Failure("busy", "overloaded_error")],
    ),
}


@pytest.mark.parametrize(("stream", "expected"), STREAMS.values(), ids=STREAMS.keys())
def test_engines_are_read_the_same_however_the_stream_is_cut(stream, expected):
    whole = read(Reader(), [stream])
    assert pieces(whole) == expected
    assert b"".join(message.raw for message in whole) == stream
    for parts in all_cuts(stream):
        assert read(Reader(), parts) == whole
    for line_end in (b"\r\n", b"\r"):
        assert pieces(read(Reader(), [stream.replace(b"\n", line_end)])) == expected


def test_every_count_after_the_end_is_final():
    stream = start(input_tokens=5)
    stream += named("message_delta", delta={}, usage={"output_tokens": 3})
    stream += end("end_turn", output_tokens=4)
    stream += named("message_delta", usage={"output_tokens": 5})
    counts = [
        piece for piece in pieces(read(Reader(), [stream])) if type(piece) is Usage
    ]
    told = [(usage.prompt, usage.completion, usage.final) for usage in counts]
    assert told == [(5, None, False), (5, 3, False), (5, 4, True), (5, 5, True)]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        pytest.param(
            b"event: error\n"
            + event({"code": 500, "message": "no", "type": "server_error"}),
            [Failure("no", 500)],
            id="llama.cpp",
        ),
        pytest.param(
            event({"type": "error", "error": {"message": "no"}}),
            [Failure("no", None)],
            id="without-a-name",
        ),
        pytest.param(event({"detail": "no"}), [Failure("no", None)], id="fastapi"),
        pytest.param(b"event: ping\n" + event({}), [Keepalive("keepalive")], id="name"),
    ],
)
def test_the_name_tells_what_the_data_does_not(stream, expected):
    assert pieces(read(Reader(), [stream])) == expected


@pytest.mark.parametrize(
    "stream",
    [
        delta(0, "text_delta", text=["Hi"]),
        delta(0, "text_delta", text=""),
        delta(0, "input_json_delta", partial_json="{"),
        delta(0, "future_delta", text="Hi"),
        named("content_block_delta", index=0),
        named("content_block_delta", delta="Hi"),
        block(None, "tool_use", id="t"),
        named("content_block_start", index=0, content_block=7),
        named("message_delta", usage={"output_tokens": -1}),
        stop(9),
        stop(None),
    ],
)
def test_what_is_unknown_says_nothing(stream):
    assert pieces(read(Reader(), [stream])) == []


def body(*content, **fields):
    head = {"id": "msg_1", "type": "message", "model": "m", "stop_reason": "end_turn"}
    return json.dumps({**head, "content": content, **fields}).encode()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(
            body(
                {"type": "thinking", "thinking": "Hm", "signature": ""},
                {"type": "text", "text": "Yes"},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "t2", "name": "g", "input": {}},
                usage={"input_tokens": 1, "cache_read_input_tokens": 4},
            ),
            [
                START,
                Reasoning("Hm", "thinking"),
                Content("Yes"),
                ToolCall(0, "t1", "f", ""),
                ToolCall(0, None, None, '{"a":1}'),
                ToolCall(1, "t2", "g", ""),
                Finish("end_turn"),
                Usage(5, None, None, 4, None, True),
            ],
            id="whole",
        ),
        pytest.param(
            body({"type": "text", "text": "<think>Hm</think>Yes"}),
            [START, Reasoning("Hm", "inline"), Content("Yes"), Finish("end_turn")],
            id="inline",
        ),
        pytest.param(body(7, {}, "x", stop_reason=None), [START], id="odd"),
        pytest.param(body(content=7), [START, Finish("end_turn")], id="no-list"),
        pytest.param(
            b'{"type":"error","error":{"type":"api_error","message":"no"}}',
            [Failure("no", "api_error")],
            id="error",
        ),
        pytest.param(
            b'{"error":{"message":"no","code":400}}', [Failure("no", 400)], id="engine"
        ),
        pytest.param(b'{"input_tokens":7}', [], id="something-else"),
        pytest.param(b"[]", [], id="list"),
        pytest.param(b"Not Found", [], id="words"),
    ],
)
def test_a_whole_body_says_the_same(answer, expected):
    assert read_body(answer) == expected
