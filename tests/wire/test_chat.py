import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.wire.chat import Message, Reader, read_body
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
from wire.streams import DONE, all_cuts, chunk, cut, cuts, delta, event, run

START = Start("chatcmpl-1", "m", 1796041849)

STREAMS = {
    "llama.cpp": (
        chunk(delta(role="assistant", content=None))
        + chunk(delta(reasoning_content="Hm"))
        + chunk(delta(content="Yes"))
        + chunk(delta(finish="stop"))
        + chunk(
            usage={"prompt_tokens": 9, "completion_tokens": 2},
            timings={"cache_n": 4, "prompt_n": 5},
        )
        + DONE,
        [
            START,
            Keepalive("role"),
            Reasoning("Hm", "reasoning_content"),
            Content("Yes"),
            Finish("stop"),
            Usage(9, 2, None, 4, {"cache_n": 4, "prompt_n": 5}, True),
            End(),
        ],
    ),
    "vllm": (
        chunk(delta(role="assistant", content=""), prompt_token_ids=None)
        + chunk(delta(reasoning="Hm"))
        + chunk(delta(reasoning="!", content="é"))
        + chunk(delta(finish="repetition", content=""), usage=None)
        + DONE,
        [
            START,
            Keepalive("role"),
            Reasoning("Hm", "reasoning"),
            Reasoning("!", "reasoning"),
            Content("é"),
            Finish("repetition"),
            End(),
        ],
    ),
    "mlx-lm": (
        b": keepalive 1/2\n\n: keepalive 2/2\n\n"
        + chunk(delta(role="assistant", reasoning="Hm"))
        + chunk(delta(role="assistant", content="Yes", finish="length")),
        [
            Keepalive("comment"),
            Keepalive("comment"),
            START,
            Reasoning("Hm", "reasoning"),
            Content("Yes"),
            Finish("length"),
        ],
    ),
    "inline": (
        chunk(delta(role="assistant", content=""))
        + chunk(delta(content="<thi"))
        + chunk(delta(content="nk>Hm</th"))
        + chunk(delta(content="ink>Yes"))
        + chunk(delta(finish="stop"))
        + DONE,
        [
            START,
            Keepalive("role"),
            Reasoning("Hm", "inline"),
            Content("Yes"),
            Finish("stop"),
            End(),
        ],
    ),
    "error": (
        chunk(delta(content="Ye"))
        + event({"error": {"message": "out of memory", "code": 500}})
        + DONE,
        [START, Content("Ye"), Failure("out of memory", 500), End()],
    ),
}


def read(parts):
    reader = Reader()
    return run(reader.feed, parts) + reader.flush()


def pieces(messages):
    return [piece for message in messages for piece in message.pieces]


@pytest.mark.parametrize(("stream", "expected"), STREAMS.values(), ids=STREAMS.keys())
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_engines_are_read_the_same_however_the_stream_is_cut(stream, expected, end):
    stream = stream.replace(b"\n", end)
    whole = read([stream])
    assert pieces(whole) == expected
    for parts in all_cuts(stream):
        assert read(parts) == whole
    assert b"".join(message.raw for message in whole) == stream


EVENTS = st.sampled_from(
    [
        chunk(delta(role="assistant", content="")),
        chunk(delta(reasoning_content="Hm <think>")),
        chunk(delta(content="<think>")),
        chunk(delta(content=" a</think")),
        chunk(delta(content=">\n")),
        chunk(delta(content="<"), delta(1, content="[THINK]é")),
        chunk(delta(tool_calls=[{"index": 0, "function": {"arguments": "{"}}])),
        chunk(delta(finish="stop"), usage={"prompt_tokens": 1}),
        chunk(),
        event({"error": "bad"}),
        event({"unknown": [1, {"choices": 2}]}),
        event([]),
        DONE,
        b"data: {half\n\n",
        b"data: {half",
        b": ping\r\n\r\n",
        b"\xff\x00\r",
    ]
)


@given(st.lists(EVENTS, max_size=8).map(b"".join), st.data())
def test_cuts_do_not_matter(stream, data):
    whole = read([stream])
    assert b"".join(message.raw for message in whole) == stream
    assert read(cut(stream, range(len(stream)))) == whole
    assert read(cut(stream, data.draw(cuts(len(stream))))) == whole


@given(st.binary(max_size=80))
def test_garbage_is_never_an_error(stream):
    for prefix in (b"", b"data: ", b'data: {"choices":[{"delta":{"content":'):
        data = prefix + stream
        assert b"".join(message.raw for message in read([data])) == data
        read_body(data)


def test_what_is_not_json_is_counted_and_has_no_pieces():
    reader = Reader()
    stream = b"data: oops\n\n" + event({"unknown": 1}) + event([1]) + DONE
    assert pieces(reader.feed(stream)) == [End()]
    assert reader.garbled == 1


def test_an_event_cut_off_by_the_end_is_not_garbled():
    reader = Reader()
    stream = chunk(delta(content="Yes"))
    assert reader.feed(stream[:-20]) == []
    assert reader.held == len(stream) - 20
    assert reader.flush() == [Message(stream[:-20], ())]
    assert (reader.garbled, reader.held) == (0, 0)


def test_text_held_back_comes_with_the_flush_and_without_bytes():
    reader = Reader()
    stream = chunk(delta(content="<thin"))
    assert reader.feed(stream) == [Message(stream, (START,))]
    assert reader.flush() == [Message(b"", (Content("<thin"),))]
    assert reader.flush() == []


def test_text_held_back_comes_before_the_terminator():
    assert pieces(read([chunk(delta(content="\n")) + DONE])) == [
        START,
        Content("\n"),
        End(),
    ]


def test_reading_goes_on_after_the_terminator():
    stream = chunk(delta(content="a")) + DONE + chunk(delta(content="b"))
    assert pieces(read([stream])) == [START, Content("a"), End(), Content("b")]


BODY = (
    b'   {"id":"chatcmpl-1","created":1796041849,"model":"m",'
    b'"choices":[{"index":0,"message":%s,"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":9,"completion_tokens":2}}'
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(
            b'{"role":"assistant","content":"Yes","reasoning_content":"Hm"}',
            [Reasoning("Hm", "reasoning_content"), Content("Yes")],
            id="llama.cpp",
        ),
        pytest.param(
            b'{"role":"assistant","content":null,"reasoning":"Hm","tool_calls":[]}',
            [Reasoning("Hm", "reasoning")],
            id="vllm",
        ),
        pytest.param(
            b'{"content":"<think>Hm</think>Yes"}',
            [Reasoning("Hm", "inline"), Content("Yes")],
            id="inline",
        ),
        pytest.param(
            b'{"content":"","tool_calls":[{"id":"c1","type":"function","function":'
            b'{"name":"f","arguments":"{}"}},{"id":"c2","function":{"name":"g"}}]}',
            [ToolCall(0, "c1", "f", "{}"), ToolCall(1, "c2", "g", "")],
            id="tool-calls-without-index",
        ),
        pytest.param(b'{"content":""}', [], id="empty"),
    ],
)
def test_a_whole_body_says_the_same(message, expected):
    assert read_body(BODY % message) == [
        START,
        *expected,
        Finish("stop"),
        Usage(9, 2, None, None, None, True),
    ]


def test_a_body_of_errors_or_of_nothing():
    assert read_body(b'{"error":{"message":"no","code":404}}') == [Failure("no", 404)]
    assert read_body(b'{"status":"ok"}') == []
    assert read_body(b"<html>502</html>") == []
    assert read_body(b"") == []
