"""What a scripted engine says, for what a real one can't be made to.

Its events are shaped like those of llama.cpp, vLLM and the others that were captured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

from engines.scripted import Asked, Hangup, Reply, Script, Scripted, scripted

__all__ = [
    "LOOP",
    "OPENING",
    "SSE",
    "Asked",
    "Hangup",
    "Reply",
    "Script",
    "Scripted",
    "chunk",
    "scripted",
    "stream",
    "usage",
]

SENTENCE = "So the answer must be blue, but wait, it could be green as well.\n"
LOOP = [SENTENCE[i : i + 4] for i in range(0, len(SENTENCE), 4)] * 40
OPENING = ["Let me ", "look at the ", "colours that we were ", "given in the task. "]


def chunk(delta: dict[str, Any], **more: Any) -> bytes:
    """Return one chat chunk event."""
    finish = more.pop("finish_reason", None)
    data = {
        "choices": [{"finish_reason": finish, "index": 0, "delta": delta}],
        "created": more.pop("created", 1700000001),
        "id": more.pop("id", "chatcmpl-1"),
        "model": "scripted",
        "object": "chat.completion.chunk",
        **more,
    }
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def stream(
    reasoning: Iterable[str] = (),
    content: Iterable[str] = (),
    *,
    field: str = "reasoning_content",
    usage: dict[str, Any] | None = None,
    finish: str | None = "stop",
    gap_s: float = 0.0,
    **more: Any,
) -> Iterator[bytes]:
    """Yield the events of one answer, as llama.cpp orders them."""
    yield chunk({"role": "assistant", "content": None}, **more)
    for text in reasoning:
        time.sleep(gap_s)
        yield chunk({field: text}, **more)
    for text in content:
        time.sleep(gap_s)
        yield chunk({"content": text}, **more)
    if finish:
        yield chunk({}, finish_reason=finish, **more)
        if usage:
            tail = {"id": "chatcmpl-1", "choices": [], "created": 1700000001}
            tail |= {"object": "chat.completion.chunk", "usage": usage, **more}
            yield b"data: " + json.dumps(tail).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"


SSE = {"Content-Type": "text/event-stream"}


def usage(prompt: int, completion: int, cached: int | None = None) -> dict[str, Any]:
    """Return a usage object; None leaves the cache untold."""
    told: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if cached is not None:
        told["prompt_tokens_details"] = {"cached_tokens": cached}
    return told
