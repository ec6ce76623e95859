"""Streams made into bodies: cuts do not matter, garbage does no harm."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.handoff.event import named, unnamed
from trackside.handoff.whole import Whole, WholeChat, WholeMessage, WholeResponse

HEAD = {"id": "chatcmpl-1", "created": 17, "model": "m", "system_fingerprint": "b"}


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return unnamed({**HEAD, "choices": [choice], "object": "chat.completion.chunk"})


def calling(index: int, arguments: str, **more: Any) -> bytes:
    function = {"arguments": arguments, **more.pop("function", {})}
    return chunk(tool_calls=[{"index": index, "function": function, **more}])


CHAT = b"".join(
    (
        chunk(role="assistant", content=None),
        chunk(reasoning_content="Hm"),
        chunk(reasoning_content=", ü"),
        chunk(content="Blue"),
        calling(0, "", id="c1", function={"name": "f"}),
        calling(0, '{"a"'),
        calling(0, ":1}"),
        chunk("tool_calls"),
        unnamed({**HEAD, "choices": [], "usage": {"x": 1}, "timings": {"y": 2}}),
        b"data: [DONE]\n\n",
    )
)
CHAT_BODY = {
    "choices": [
        {
            "finish_reason": "tool_calls",
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Blue",
                "reasoning_content": "Hm, ü",
                "tool_calls": [
                    {
                        "type": "function",
                        "function": {"name": "f", "arguments": '{"a":1}'},
                        "id": "c1",
                    }
                ],
            },
        }
    ],
    "created": 17,
    "model": "m",
    "system_fingerprint": "b",
    "object": "chat.completion",
    "usage": {"x": 1},
    "id": "chatcmpl-1",
    "timings": {"y": 2},
}


def block(index: int, start: dict[str, Any], **delta: Any) -> bytes:
    return (
        named("content_block_start", index=index, content_block=start)
        + named("content_block_delta", index=index, delta=delta)
        + named("content_block_stop", index=index)
    )


MESSAGE = b"".join(
    (
        named(
            "message_start",
            message={
                "id": "m",
                "content": [],
                "stop_reason": None,
                "usage": {"input_tokens": 3},
            },
        ),
        named("content_block_start", index=0, content_block={"type": "thinking"}),
        named("content_block_delta", index=0, delta={"thinking": "Hm"}),
        named("content_block_delta", index=0, delta={"signature": ""}),
        block(1, {"type": "text", "text": ""}, text="Blue"),
        block(
            2,
            {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
            partial_json='{"a":1}',
        ),
        named(
            "message_delta",
            delta={"stop_reason": "tool_use"},
            usage={"output_tokens": 9},
        ),
        named("message_stop"),
    )
)
MESSAGE_BODY = {
    "id": "m",
    "content": [
        {"type": "thinking", "thinking": "Hm", "signature": ""},
        {"type": "text", "text": "Blue"},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 3, "output_tokens": 9},
}

RESPONSE = named("response.created", response={"id": "r"}) + named(
    "response.completed", response={"id": "r", "created_at": 5, "output": [{"id": "i"}]}
)
RESPONSE_BODY = {
    "id": "r",
    "created_at": 5,
    "output": [{"id": "i", "status": "completed"}],
    "completed_at": 5,
}

KINDS = [
    pytest.param(WholeChat, CHAT, CHAT_BODY, id="chat"),
    pytest.param(WholeMessage, MESSAGE, MESSAGE_BODY, id="message"),
    pytest.param(WholeResponse, RESPONSE, RESPONSE_BODY, id="response"),
]


@pytest.mark.parametrize(("kind", "stream", "body"), KINDS)
@given(st.data())
def test_cuts_do_not_matter(
    kind: type[Whole], stream: bytes, body: dict[str, Any], data: st.DataObject
) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=9))
    whole = kind()
    edges = [0, *sorted(cuts), len(stream)]
    for start, end in pairwise(edges):
        whole.add(stream[start:end])
    status, raw = whole.body()
    assert (status, json.loads(raw)) == (200, body)
    assert list(json.loads(raw)) == list(body)


@pytest.mark.parametrize(("kind", "stream", "body"), KINDS)
def test_garbage_in_between_does_no_harm(
    kind: type[Whole], stream: bytes, body: dict[str, Any]
) -> None:
    whole = kind()
    for junk in (b"data: {\n\n", b": hi\n\n", b"data: [1]\n\n", b"data: 3\n\n"):
        whole.add(junk)
    whole.add(named("odd.event", index=[], delta=3))
    whole.add(stream)
    assert json.loads(whole.body()[1]) == body


@pytest.mark.parametrize(
    ("kind", "event", "status", "message"),
    [
        pytest.param(
            WholeChat, unnamed({"error": {"message": "x", "code": 503}}), 503, "x"
        ),
        pytest.param(WholeChat, unnamed({"error": {"message": "x"}}), 500, "x"),
        pytest.param(WholeMessage, named("error", error={"message": "x"}), 500, "x"),
        pytest.param(
            WholeResponse,
            named("response.failed", response={"error": {"message": "x"}}),
            500,
            "x",
        ),
        pytest.param(WholeResponse, b"", 500, "the engine broke off"),
    ],
    ids=["chat with a code", "chat", "message", "response", "response without an end"],
)
def test_errors_become_a_status(
    kind: type[Whole], event: bytes, status: int, message: str
) -> None:
    whole = kind()
    whole.add(event)
    got, raw = whole.body()
    assert (got, json.loads(raw)["error"]["message"]) == (status, message)


def test_tool_input_cut_by_the_limit_is_empty() -> None:
    whole = WholeMessage()
    whole.add(block(0, {"type": "tool_use"}, partial_json='{"a'))
    assert json.loads(whole.body()[1])["content"][0]["input"] == {}
