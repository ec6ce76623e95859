"""The recorded phase 2 in the shapes in which a client may ask for it. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engines.capture import Chunk, Exchange

DONE = "[DONE]"


def identity(phase: Exchange) -> dict[str, Any]:
    """Return what all chunks of a stream share: id, model and time of creation."""
    for _, data in phase.events():
        if data != DONE:
            told = json.loads(data)
            return {name: told[name] for name in ("id", "model", "created")}
    raise ValueError("wanted an event with id, model and created, got none")


def as_completion(phase2: Exchange) -> list[Chunk]:
    """Return phase 2 as a stream of `/v1/completions`."""
    chunks = []
    for arrived_s, data in phase2.events():
        if data != DONE:
            told = json.loads(data) | {"object": "text_completion"}
            for choice in told["choices"]:
                choice["text"] = choice.pop("delta").get("content") or ""
            data = json.dumps(told)
        chunks.append((arrived_s, f"data: {data}\n\n"))
    return chunks


def in_place(phase2: Exchange, phase1: Mapping[str, Any]) -> list[Chunk]:
    """Return phase 2 as the rest of the stream that phase 1 began.

    Parameters:
        phase1: identity of the stream; see `identity`.
    """
    chunks = []
    for arrived_s, data in phase2.events():
        if data != DONE:
            told = json.loads(data) | phase1
            if any(choice["delta"].pop("role", None) for choice in told["choices"]):
                continue  # the role was said when the stream began
            data = json.dumps(told)
        chunks.append((arrived_s, f"data: {data}\n\n"))
    return chunks


def rendered(messages: Sequence[Mapping[str, Any]]) -> str:
    r"""Return a ChatML prompt that leaves the think block open.

    Example:
        >>> rendered([{"role": "user", "content": "Hi"}])
        '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n'
    """
    turns = (f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
    return "".join(turns) + "<|im_start|>assistant\n<think>\n"
