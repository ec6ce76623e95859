"""A small recording, made up: a reasoning that loops, and the answer that follows."""

import json
from itertools import count
from typing import Any

from engines.capture import Capture, Exchange

USER = {"role": "user", "content": "Hi"}
ASKED = {"messages": [USER], "stream": True}
CONTINUED = {
    "messages": [USER, {"role": "assistant", "content": ""}],
    "stream": True,
}


def phase(name: str, field: str, words: list[str]) -> Exchange:
    """A stream as llama.cpp would send it, one event a chunk."""
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": None},
        *({field: word} for word in words),
    ]
    chunks, at_s = [], count()
    for delta in deltas:
        event = {
            "id": name,
            "model": "m",
            "created": 7,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        }
        chunks.append((next(at_s) / 1000, f"data: {json.dumps(event)}\n\n"))
    chunks.append((next(at_s) / 1000, "data: [DONE]\n\n"))
    return Exchange({}, 200, {"content-type": "text/event-stream"}, tuple(chunks))


CAPTURE = Capture(
    "a test",
    "no engine",
    phase("first", "reasoning_content", ["loop "] * 5),
    phase("second", "content", ["The ", "answer."]),
)
