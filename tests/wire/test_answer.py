import pytest

from trackside.wire.answer import Answer
from trackside.wire.chunk import decode
from trackside.wire.pieces import (
    Content,
    Failure,
    Finish,
    Keepalive,
    Reasoning,
    Start,
    TokenIds,
    ToolCall,
    Usage,
)
from wire.streams import chunk, delta

START = Start("chatcmpl-1", "m", 1796041849)


def read(*chunks):
    """All pieces but the start, which must come first."""
    answer = Answer()
    found = [
        piece for data in chunks for piece in answer.read(decode(data[6:].strip()))
    ]
    assert found.pop(0) == START
    return found


ALIAS = delta(reasoning_content="Hm", reasoning="Hm")
DETAILS = [
    {"type": "reasoning.text", "text": "H"},
    {"type": "reasoning.encrypted", "data": "x"},
    {"type": "reasoning.text", "text": "m"},
]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        pytest.param(
            delta(role="assistant", content="Hi"), [Content("Hi")], id="role-with-text"
        ),
        pytest.param(
            delta(role=None, content="Hi", reasoning_content=None, tool_calls=None),
            [Content("Hi")],
            id="sglang-nulls",
        ),
        pytest.param(
            delta(reasoning_content="Hm", content="Hi"),
            [Reasoning("Hm", "reasoning_content"), Content("Hi")],
            id="both-in-one",
        ),
        pytest.param(ALIAS, [Reasoning("Hm", "reasoning_content")], id="mlx-vlm-alias"),
        pytest.param(
            delta(reasoning_content="Hm", reasoning="so"),
            [Reasoning("Hm", "reasoning_content"), Reasoning("so", "reasoning")],
            id="two-fields-two-texts",
        ),
        pytest.param(
            delta(reasoning="Hm", reasoning_details=DETAILS, content=""),
            [Reasoning("Hm", "reasoning")],
            id="openrouter",
        ),
        pytest.param(
            delta(reasoning_details=DETAILS),
            [Reasoning("Hm", "reasoning_details")],
            id="only-details",
        ),
        pytest.param(
            delta(reasoning_details=[None, {"text": 1}, "x"]),
            [Keepalive("empty")],
            id="odd-details",
        ),
        pytest.param(
            delta(content="Hi", finish="stop"),
            [Content("Hi"), Finish("stop")],
            id="finish-with-text",
        ),
        pytest.param(
            {"delta": {"content": "Hi"}}, [Content("Hi")], id="no-index-no-finish"
        ),
        pytest.param(
            {"index": 0, "delta": None, "finish_reason": "stop"},
            [Finish("stop")],
            id="null-delta",
        ),
        pytest.param(
            {**delta(content="Hi"), "token_ids": [5, 6]},
            [Content("Hi"), TokenIds(2)],
            id="token-ids",
        ),
        pytest.param(
            {**delta(content=""), "token_ids": [5]}, [TokenIds(1)], id="only-token-ids"
        ),
        pytest.param(delta(content=[1], reasoning=7), [Keepalive("empty")], id="odd"),
        pytest.param(delta(finish=""), [Keepalive("empty")], id="empty-finish"),
        pytest.param(
            delta(role="assistant", content=None), [Keepalive("role")], id="role-null"
        ),
        pytest.param(delta(), [Keepalive("empty")], id="empty-delta"),
    ],
)
def test_a_chunk_says(choice, expected):
    assert read(chunk(choice)) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(
            {"index": 1, "id": "c", "function": {"name": "f", "arguments": ""}},
            ToolCall(1, "c", "f", ""),
            id="first-part",
        ),
        pytest.param(
            {"index": 1, "function": {"arguments": '{"a"'}},
            ToolCall(1, None, None, '{"a"'),
            id="later-part",
        ),
        pytest.param(
            {"index": 0, "id": None, "function": {"name": None, "arguments": None}},
            ToolCall(0, None, None, ""),
            id="nulls",
        ),
        pytest.param({"function": None}, ToolCall(0, None, None, ""), id="no-function"),
    ],
)
def test_a_tool_call_is_read(call, expected):
    assert read(chunk(delta(tool_calls=[call]))) == [expected]


def test_several_answers_keep_their_numbers_and_their_tags():
    found = read(
        chunk(delta(0, content="<think>a"), delta(1, content="b")),
        chunk(delta(1, content="<think>c")),
        chunk(delta(0, content="</think>d"), delta(1, finish="stop")),
        chunk(delta(0, finish="length")),
    )
    assert found == [
        Reasoning("a", "inline", 0),
        Content("b", 1),
        Content("<think>c", 1),
        Content("d", 0),
        Finish("stop", 1),
        Finish("length", 0),
    ]


def test_tags_in_content_are_text_once_the_engine_parses_reasoning():
    found = read(
        chunk(delta(reasoning_content="<think>")), chunk(delta(content="<think>a"))
    )
    assert found == [
        Reasoning("<think>", "reasoning_content"),
        Content("<think>a"),
    ]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(delta(finish="stop"), Finish("stop"), id="finish"),
        pytest.param(
            delta(tool_calls=[{"index": 0}]),
            ToolCall(0, None, None, ""),
            id="tool-call",
        ),
        pytest.param(
            delta(reasoning="Hm"), Reasoning("Hm", "reasoning"), id="reasoning"
        ),
    ],
)
def test_text_held_back_comes_before_what_follows_it(after, expected):
    assert read(chunk(delta(content="\n<")), chunk(after)) == [
        Content("\n<"),
        expected,
    ]


def test_held_back_text_is_no_keepalive():
    assert read(chunk(delta(content="\n"))) == []


MADE_UP = chunk(
    delta(role="assistant", content=""),
    model="keepalive",
    id="chatcmpl-keepalive",
    created=0,
)


def test_nothing_is_taken_from_a_made_up_chunk():
    answer = Answer()
    assert answer.read(decode(MADE_UP[6:])) == [Keepalive("keepalive")]
    real = chunk(delta(role="assistant", content=""))
    assert answer.read(decode(real[6:])) == [START, Keepalive("role")]
    assert answer.read(decode(MADE_UP[6:])) == [Keepalive("keepalive")]


def test_a_model_may_be_called_keepalive():
    answer = Answer()
    found = answer.read(decode(chunk(delta(content="a"), model="keepalive")[6:]))
    assert found == [Start("chatcmpl-1", "keepalive", 1796041849), Content("a")]


@pytest.mark.parametrize(
    ("head", "start"),
    [
        pytest.param({"id": None, "model": None}, Start("", "", 1796041849), id="none"),
        pytest.param({"id": 7, "created": "now"}, Start("", "m", 0), id="odd"),
        pytest.param({"created": 17.9}, Start("chatcmpl-1", "m", 17), id="float"),
        pytest.param({"created": 1e300}, Start("chatcmpl-1", "m", 0), id="far-future"),
    ],
)
def test_a_start_is_made_of_what_there_is(head, start):
    answer = Answer()
    assert answer.read(decode(chunk(delta(content="a"), **head)[6:]))[0] == start


def test_results_of_a_prompt_filter_are_no_start():
    answer = Answer()
    ahead = decode(chunk(id="", model="", created=0)[6:])
    assert answer.read(ahead) == [Keepalive("empty")]


PROGRESS = {"total": 630, "cache": 3, "processed": 3, "time_ms": 0}
TIMINGS = {"cache_n": 3, "prompt_n": 627, "predicted_n": 2}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(
            chunk(delta(role="assistant", content=None), prompt_progress=PROGRESS),
            [Keepalive("progress")],
            id="progress",
        ),
        pytest.param(
            chunk(delta(content="a"), timings=TIMINGS),
            [Content("a"), Usage(630, 2, None, 3, TIMINGS, False)],
            id="timings-per-token",
        ),
        pytest.param(
            chunk(delta(finish="stop"), timings=TIMINGS),
            [Finish("stop"), Usage(630, 2, None, 3, TIMINGS, True)],
            id="timings-at-the-end",
        ),
        pytest.param(
            chunk(delta(content="a"), usage={"completion_tokens": 1}),
            [Content("a"), Usage(None, 1, None, None, None, False)],
            id="continuous-usage",
        ),
        pytest.param(
            chunk(usage={"completion_tokens": 1}, object="chat.completion"),
            [Usage(None, 1, None, None, None, True)],
            id="usage-chunk",
        ),
        pytest.param(
            chunk(usage={"completion_tokens": 1}, metrics={"mean_itl_ms": 2.5}),
            [Usage(None, 1, None, None, {"mean_itl_ms": 2.5}, True)],
            id="vllm-metrics",
        ),
        pytest.param(
            chunk(delta(finish="error"), error={"message": "x", "code": 502}),
            [Finish("error"), Failure("x", 502)],
            id="openrouter-error",
        ),
        pytest.param(
            chunk(error="x"), [Failure("x", None)], id="error-without-choices"
        ),
        pytest.param(chunk(delta(content="a"), usage=None), [Content("a")], id="null"),
    ],
)
def test_what_rides_on_a_chunk_is_read(data, expected):
    assert read(data) == expected
