"""What holds for the streams of every dialect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.wire import DIALECTS
from trackside.wire.pieces import End, Keepalive
from trackside.wire.stream import Message
from wire.streams import DONE, cut, cuts, event, line, named, pieces, read

CALL = {"type": "function_call", "id": "i", "call_id": "c", "name": "f"}
WHOLE = {"type": "message", "id": "m", "content": [{"text": "<think>Hm"}]}
FRAGMENTS = st.sampled_from(
    [
        named("response.created", response={"id": "r", "object": "response"}),
        named("response.output_item.added", output_index=0, item=CALL),
        named("response.output_item.done", item={**CALL, "arguments": "{}"}),
        named("response.output_item.done", output_index=3, item=WHOLE),
        named("response.output_text.delta", item_id="m", delta="<thi"),
        named("response.output_text.delta", item_id="m", delta="nk>é"),
        named("response.function_call_arguments.delta", item_id="?", delta="{"),
        named("response.completed", response={"status": "incomplete", "output": [7]}),
        named("message_start", message={"id": "m", "usage": {"input_tokens": 1}}),
        named("content_block_start", index=0, content_block={"type": "text"}),
        named(
            "content_block_delta", index=0, delta={"type": "text_delta", "text": "<"}
        ),
        named("content_block_delta", index=1, delta={"type": "input_json_delta"}),
        named("message_delta", delta={"stop_reason": "end_turn"}, usage={}),
        named("message_stop"),
        named("error", error={"type": "overloaded_error", "message": "busy"}),
        event({"choices": [{"text": "[THINK]"}, {"index": 1, "text": "<"}]}),
        event({"content": "<th", "stop": False, "tokens": [1]}),
        event({"content": "", "stop": True, "index": 4}),
        line(message={"content": "<think", "tool_calls": [{"function": {"a": 1}}]}),
        line(response=">", thinking="Hm", done=False),
        line(done=True, eval_count=3, total_duration=5),
        line(error="bad"),
        DONE,
        b"data: {half\n\n",
        b'{"half',
        b": ping\r\n\r\n",
        b"\xff\x00\r",
        b"\n",
    ]
)


@pytest.fixture(params=DIALECTS.values(), ids=DIALECTS.keys())
def dialect(request):
    return request.param


@given(st.lists(FRAGMENTS, max_size=8).map(b"".join), st.data())
def test_cuts_do_not_matter_in_any_dialect(stream, data):
    for dialect in DIALECTS.values():
        whole = read(dialect.reader(), [stream])
        assert b"".join(message.raw for message in whole) == stream
        assert read(dialect.reader(), cut(stream, range(len(stream)))) == whole
        parts = cut(stream, data.draw(cuts(len(stream))))
        assert read(dialect.reader(), parts) == whole


PREFIXES = (
    b"",
    b"data: ",
    b'data: {"type":"response.completed","response":{"output":[',
    b'data: {"type":"content_block_start","index":0,"content_block":{"input":',
    b'{"message":{"tool_calls":[{"function":{"arguments":',
    b'data: {"content":"","stop":true,"tokens":[',
)


@given(st.binary(max_size=60))
def test_garbage_is_never_an_error(garbage):
    for dialect in DIALECTS.values():
        for prefix in PREFIXES:
            stream = prefix + garbage + b"\n\n"
            messages = read(dialect.reader(), [stream])
            assert b"".join(message.raw for message in messages) == stream
            dialect.read_body(prefix.removeprefix(b"data: ") + garbage)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
TYPES = st.sampled_from(
    [
        "response.created",
        "response.completed",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message",
        "error",
    ]
)
MEMBERS = st.sampled_from(
    [
        "response",
        "item",
        "delta",
        "output_index",
        "item_id",
        "index",
        "content_block",
        "message",
        "usage",
        "error",
        "choices",
        "content",
        "stop",
        "tokens",
        "timings",
        "thinking",
        "tool_calls",
        "done",
        "detail",
        "created_at",
        "output",
        "status",
        "incomplete_details",
        "stop_reason",
        "object",
    ]
)


@given(st.dictionaries(MEMBERS, JSON, max_size=6), TYPES)
def test_members_of_any_shape_are_never_an_error(members, kind):
    for dialect in DIALECTS.values():
        is_lines = dialect.framing == "ndjson"
        data = line(type=kind, **members)
        stream = data if is_lines else b"data: " + data + b"\n"
        [message, *_] = read(dialect.reader(), [stream])
        assert message.raw == stream
        dialect.read_body(data)


@pytest.mark.parametrize("depth", [100, 900, 2000, 100_000])
def test_depth_is_never_an_error(dialect, depth):
    deep = b"[" * depth + b"]" * depth
    for prefix in (
        b'{"message":{"tool_calls":[{"function":{"arguments":%s}}]}}',
        b'{"type":"content_block_start","index":0,"content_block":'
        b'{"type":"tool_use","input":%s}}',
        b'{"error":{"message":%s}}',
    ):
        data = prefix % deep
        is_lines = dialect.framing == "ndjson"
        stream = data + b"\n" if is_lines else b"data: " + data + b"\n\n"
        stop = b'data: {"type":"content_block_stop","index":0}\n\n'
        messages = read(dialect.reader(), [stream, stop])
        assert messages[0].raw == stream
        dialect.read_body(data)


def test_what_is_not_json_is_counted_and_has_no_pieces(dialect):
    reader = dialect.reader()
    is_lines = dialect.framing == "ndjson"
    bad = b"oops\n" if is_lines else b"data: oops\n\n"
    good = b'{"unknown":[1]}\n' if is_lines else b'data: {"unknown":[1]}\n\n'
    assert reader.feed(bad + good + bad[:3]) == [Message(bad, ()), Message(good, ())]
    assert (reader.garbled, reader.held) == (1, 3)
    assert reader.flush() == [Message(bad[:3], ())]
    assert (reader.garbled, reader.held) == (1, 0)


def test_comments_and_the_openai_terminator_are_known(dialect):
    if dialect.framing == "sse":
        found = pieces(read(dialect.reader(), [b": hi\n\n" + DONE]))
        assert found == [Keepalive("comment"), End()]
