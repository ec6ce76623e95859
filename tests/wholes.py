"""Streams of each dialect, and the bodies that engines answer with instead."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trackside.handoff.event import named, unnamed
from trackside.handoff.whole import WholeMessage, WholeResponse
from trackside.handoff.whole_chat import WholeChat
from trackside.handoff.whole_ollama import WholeGenerated, WholeLines
from trackside.handoff.whole_text import WholeNative, WholeText

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
    "completed_at": 5,
    "created_at": 5,
    "id": "r",
    "output": [{"id": "i", "status": "completed"}],
}


def text(text: str, finish: str | None = None, **more: Any) -> bytes:
    choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": finish}
    return unnamed({"choices": [choice], "created": 17, **more, "id": "cmpl-1"})


TEXT = text("<think>Hm") + text("Blue ü") + text("", "stop", usage={"x": 1})
TEXT_BODY = {
    "choices": [
        {"text": "<think>HmBlue ü", "index": 0, "logprobs": None}
        | {"finish_reason": "stop"}
    ],
    "created": 17,
    "usage": {"x": 1},
    "id": "cmpl-1",
}


def frame(content: str, predicted: int, **more: Any) -> bytes:
    told = {"index": 0, "content": content, "tokens": [7], "stop": False}
    return unnamed({**told, "tokens_predicted": predicted, **more})


def last_frame(predicted: int, kind: str = "limit") -> bytes:
    told = {"tokens": [], "stop": True, "stop_type": kind}
    return frame("", predicted, **told, generation_settings={"stream": True, "n": 4})


NATIVE = frame("Hm", 1) + frame(" ü", 2) + last_frame(2)
NATIVE_BODY = {
    "index": 0,
    "content": "Hm ü",
    "tokens": [],
    "stop": True,
    "tokens_predicted": 2,
    "stop_type": "limit",
    "generation_settings": {"stream": False, "n": 4},
}


def line(done: bool = False, time: str = "one", **more: Any) -> bytes:
    return json.dumps({"model": "m", "created_at": time, **more, "done": done}).encode()


CALLS = [{"function": {"index": n, "name": "f", "arguments": {"b": n}}} for n in (0, 1)]
LINES = b"\n".join(
    (
        line(message={"role": "assistant", "content": "", "thinking": "Hm, "}),
        line(message={"role": "assistant", "content": "", "thinking": "ü"}),
        line(message={"role": "assistant", "content": "Blue"}),
        line(message={"role": "assistant", "content": "", "tool_calls": CALLS[:1]}),
        line(message={"role": "assistant", "content": "", "tool_calls": CALLS[1:]}),
        line(True, "two", message={"role": "assistant", "content": ""}, eval_count=3),
        b"",
    )
)
SAID = {"role": "assistant", "content": "Blue", "thinking": "Hm, ü"}
LINES_BODY = {
    "model": "m",
    "created_at": "two",
    "message": {**SAID, "tool_calls": CALLS},
    "eval_count": 3,
    "done": True,
}
GENERATED = b"\n".join(
    (
        line(response="", thinking="Hm"),
        line(response="Bl"),
        line(response="ue"),
        line(True, "two", response="", context=[1, 2]),
        b"",
    )
)
GENERATED_BODY = {
    "model": "m",
    "created_at": "two",
    "response": "Blue",
    "thinking": "Hm",
    "context": [1, 2],
    "done": True,
}

KINDS = [
    pytest.param(WholeChat, CHAT, CHAT_BODY, id="chat"),
    pytest.param(WholeMessage, MESSAGE, MESSAGE_BODY, id="message"),
    pytest.param(WholeResponse, RESPONSE, RESPONSE_BODY, id="response"),
    pytest.param(WholeText, TEXT, TEXT_BODY, id="text"),
    pytest.param(WholeNative, NATIVE, NATIVE_BODY, id="native"),
    pytest.param(WholeLines, LINES, LINES_BODY, id="ollama chat"),
    pytest.param(WholeGenerated, GENERATED, GENERATED_BODY, id="ollama generate"),
]
