import json

import pytest

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
from trackside.wire.responses import Reader, read_body
from wire.streams import all_cuts, event, named, pieces, read

USAGE = {
    "input_tokens": 9,
    "output_tokens": 5,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens_details": {"reasoning_tokens": 2},
}
COUNTS = Usage(9, 5, 2, 4, None, True)
HEAD = {"id": "resp_1", "object": "response", "model": "m", "created_at": 1796042262}
START = Start("resp_1", "m", 1796042262)
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [],
    "content": [{"type": "reasoning_text", "text": "Hm!"}],
    "encrypted_content": "c2VjcmV0",
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Yes", "annotations": []}],
}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "call_1",
    "name": "f",
    "arguments": '{"a":1}',
}
OUTPUT = [REASONING, MESSAGE, CALL]


def response(kind, status, **more):
    return named(f"response.{kind}", response={**HEAD, "status": status, **more})


def delta(kind, text, index, item_id, **more):
    fields = {"output_index": index, "item_id": item_id, **more}
    return named(f"response.{kind}.delta", delta=text, **fields)


VLLM = (
    response("created", "in_progress", output=[], usage=None)
    + response("in_progress", "in_progress", output=[], usage=None)
    + named("response.output_item.added", output_index=0, item={"type": "reasoning"})
    + named("response.reasoning_part.added", output_index=0, part={"text": ""})
    + delta("reasoning_text", "Hm", 0, "rs_1", content_index=0)
    + delta("reasoning_text", "!", 0, "rs_1", content_index=0)
    + named("response.reasoning_text.done", output_index=0, text="Hm!")
    + named("response.output_item.done", output_index=0, item=REASONING)
    + named("response.output_item.added", output_index=1, item={"type": "message"})
    + delta("output_text", "Yé", 1, "msg_1", content_index=0)
    + delta("output_text", "s", 1, "msg_1", content_index=0)
    + named("response.output_item.done", output_index=1, item=MESSAGE)
    + response(
        "completed",
        "incomplete",
        incomplete_details={"reason": "max_output_tokens"},
        output=OUTPUT[:2],
        usage=USAGE,
    )
)
LLAMA_CALL = {"type": "function_call", "call_id": "fc_x", "name": "f"}
LLAMA = (  # no indices, and the call has no id but the one its deltas name
    named("response.created", response={"id": "resp_1", "object": "response"})
    + named("response.output_item.added", item={"type": "reasoning", "id": "rs_1"})
    + named("response.reasoning_text.delta", delta="Hm!", item_id="rs_1")
    + named("response.output_item.done", item=REASONING)
    + named("response.output_item.added", item={**LLAMA_CALL, "arguments": ""})
    + named("response.function_call_arguments.delta", delta='{"a"', item_id="fc_x")
    + named("response.function_call_arguments.delta", delta=":1}", item_id="fc_x")
    + named("response.output_item.done", item={**LLAMA_CALL, "arguments": '{"a":1}'})
    + named(
        "response.completed",
        response={**HEAD, "status": "completed", "output": OUTPUT},
        timings={"cache_n": 4, "prompt_n": 5, "predicted_n": 3},
    )
)
OPENAI = (
    response("created", "in_progress")
    + named("keepalive", sequence_number=3)
    + named("response.output_item.added", output_index=0, item={"type": "reasoning"})
    + delta("reasoning_summary_text", "Hm", 0, "rs_1", summary_index=0)
    + named("response.output_item.done", output_index=0, item=REASONING)
    + named(
        "response.output_item.added", output_index=1, item={**CALL, "arguments": ""}
    )
    + delta("function_call_arguments", '{"a":1}', 1, "fc_1")
    + named("response.function_call_arguments.done", output_index=1, item_id="fc_1")
    + named("response.output_item.done", output_index=1, item=CALL)
    + named(
        "response.output_item.added",
        output_index=2,
        item={"type": "custom_tool_call", "id": "ct", "call_id": "c2", "name": "g"},
    )
    + delta("custom_tool_call_input", "*** go", 2, "ct")
    + response("completed", "completed", output=OUTPUT, usage=USAGE)
)
STREAMS = {
    "vllm": (
        VLLM,
        [
            START,
            Reasoning("Hm", "reasoning_text"),
            Reasoning("!", "reasoning_text"),
            Content("Yé"),
            Content("s"),
            Finish("max_output_tokens"),
            COUNTS,
            End(),
        ],
    ),
    "llama.cpp": (
        LLAMA,
        [
            Start("resp_1", "", 0),
            Reasoning("Hm!", "reasoning_text"),
            ToolCall(0, "fc_x", "f", ""),
            ToolCall(0, None, None, '{"a"'),
            ToolCall(0, None, None, ":1}"),
            Finish("completed"),
            Usage(9, 3, None, 4, {"cache_n": 4, "prompt_n": 5, "predicted_n": 3}, True),
            End(),
        ],
    ),
    "openai": (
        OPENAI,
        [
            START,
            Keepalive("keepalive"),
            Reasoning("Hm", "reasoning_summary"),
            ToolCall(0, "call_1", "f", ""),
            ToolCall(0, None, None, '{"a":1}'),
            ToolCall(1, "c2", "g", ""),
            ToolCall(1, None, None, "*** go"),
            Finish("completed"),
            COUNTS,
            End(),
        ],
    ),
    "inline": (
        response("created", "in_progress")
        + delta("output_text", "<think>Hm</th", 0, "m")
        + delta("output_text", "ink>Yes", 0, "m")
        + response("completed", "completed", output=[MESSAGE]),
        [
            START,
            Reasoning("Hm", "inline"),
            Content("Yes"),
            Finish("completed"),
            End(),
        ],
    ),
    "failed": (
        response("created", "in_progress")
        + delta("output_text", "Ye", 0, "m")
        + response("failed", "failed", error={"code": "server_error", "message": "no"}),
        [
            START,
            Content("Ye"),
            Failure("no", "server_error"),
            Finish("failed"),
            End(),
        ],
    ),
}


@pytest.mark.parametrize(("stream", "expected"), STREAMS.values(), ids=STREAMS.keys())
def test_engines_are_read_the_same_however_the_stream_is_cut(stream, expected):
    whole = read(Reader(), [stream])
    assert pieces(whole) == expected
    assert b"".join(message.raw for message in whole) == stream
    for parts in all_cuts(stream):
        assert read(Reader(), parts) == whole
    for end in (b"\r\n", b"\r"):
        assert pieces(read(Reader(), [stream.replace(b"\n", end)])) == expected


WHOLE = [
    Reasoning("Hm!", "reasoning_text"),
    Content("Yes"),
    ToolCall(0, "call_1", "f", '{"a":1}'),
]


def test_items_that_come_whole_are_told_once():
    items = [
        named("response.output_item.done", output_index=index, item=item)
        for index, item in enumerate(OUTPUT)
    ]
    end = response("completed", "completed", output=OUTPUT)
    assert pieces(read(Reader(), [*items, end])) == [
        *WHOLE,
        START,
        Finish("completed"),
        End(),
    ]


def test_an_output_told_only_at_the_end_is_read_there():
    stream = response("completed", "completed", output=OUTPUT)
    assert pieces(read(Reader(), [stream])) == [
        START,
        *WHOLE,
        Finish("completed"),
        End(),
    ]


def test_an_event_may_tell_its_type_by_its_name_alone():
    stream = b"event: response.output_text.delta\n" + event({"delta": "Hi"})
    assert pieces(read(Reader(), [stream])) == [Content("Hi")]


@pytest.mark.parametrize(
    ("stream", "failure"),
    [
        pytest.param(
            named("error", code="overloaded", message="busy", param=None),
            Failure("busy", "overloaded"),
            id="openai",
        ),
        pytest.param(
            named("error", error={"type": "server_error", "message": "busy"}),
            Failure("busy", "server_error"),
            id="openai-nested",
        ),
        pytest.param(
            event({"error": {"code": 500, "message": "no", "type": "server_error"}}),
            Failure("no", 500),
            id="llama.cpp",
        ),
        pytest.param(
            b"event: error\n" + event({"message": "no"}),
            Failure("no", None),
            id="by-name",
        ),
    ],
)
def test_errors_are_read_from_every_form(stream, failure):
    assert pieces(read(Reader(), [stream])) == [failure]


@pytest.mark.parametrize(
    "stream",
    [
        named("response.web_search_call.searching", item_id="ws", output_index=0),
        named("response.mcp_list_tools.failed", error="no server", item_id="m"),
        named("response.output_item.added", item={"type": "web_search_call"}),
        named("response.output_item.done", item={"type": "web_search_call"}),
        named("response.output_text.delta", delta=""),
        named("response.output_text.delta", delta=["Hi"]),
        named("response.audio.delta", delta="UklGRg=="),
        named("response.future.delta", delta="Hi", item={"type": "function_call"}),
        named("response.completed", response="done"),
        named("other", detail=None),
    ],
)
def test_what_is_unknown_says_nothing(stream):
    assert pieces(read(Reader(), [stream])) == []


def body(**fields):
    return json.dumps({**HEAD, "status": "completed", **fields}).encode()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(
            body(output=OUTPUT, usage=USAGE),
            [START, *WHOLE, Finish("completed"), COUNTS],
            id="whole",
        ),
        pytest.param(
            body(output=[{**REASONING, "content": None, "summary": [{"text": "Hm"}]}]),
            [START, Reasoning("Hm", "reasoning_summary"), Finish("completed")],
            id="summary",
        ),
        pytest.param(
            body(output=[{**REASONING, "summary": [{"text": "Hm!"}]}]),
            [START, Reasoning("Hm!", "reasoning_summary"), Finish("completed")],
            id="the-same-twice",
        ),
        pytest.param(
            body(output=[{**MESSAGE, "content": [{"text": "<think>Hm</think>Yes"}]}]),
            [START, Reasoning("Hm", "inline"), Content("Yes"), Finish("completed")],
            id="inline",
        ),
        pytest.param(
            body(output=[{**MESSAGE, "content": [{"refusal": "No"}]}]),
            [START, Content("No"), Finish("completed")],
            id="refusal",
        ),
        pytest.param(body(status="queued", output=[]), [START], id="not-finished"),
        pytest.param(
            body(output=[7, {}, {"type": "message", "content": "x"}, CALL, CALL]),
            [START, ToolCall(0, "call_1", "f", '{"a":1}'), Finish("completed")],
            id="odd",
        ),
        pytest.param(body(output=7), [START, Finish("completed")], id="no-list"),
        pytest.param(
            body(status="failed", error={"message": "no", "code": "x"}),
            [START, Failure("no", "x"), Finish("failed")],
            id="failed",
        ),
        pytest.param(
            b'{"error":{"message":"no","code":400}}', [Failure("no", 400)], id="error"
        ),
        pytest.param(b'{"object":"list","data":[]}', [], id="something-else"),
        pytest.param(b"[]", [], id="list"),
        pytest.param(b"<html>", [], id="html"),
    ],
)
def test_a_whole_body_says_the_same(answer, expected):
    assert read_body(answer) == expected
