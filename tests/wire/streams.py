"""Streams for the tests of the wire, and the ways to cut them."""

import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st


def event(data: Any, end: bytes = b"\n\n") -> bytes:
    return b"data: " + json.dumps(data).encode() + end


def chunk(*choices: dict[str, Any], **more: Any) -> bytes:
    """A chat chunk as most engines frame it."""
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1796041849,
        "model": "m",
    }
    return event({**head, "choices": list(choices), **more})


def delta(index: int = 0, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"index": index, "delta": fields, "finish_reason": finish}


DONE = b"data: [DONE]\n\n"


def cut(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """Cut `data` at the offsets `cuts`, which may repeat or lie outside."""
    at = [0, *sorted(min(c, len(data)) for c in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(at)]


def all_cuts(data: bytes) -> Iterable[list[bytes]]:
    """`data` whole, byte by byte, and in two at every place."""
    yield [data]
    yield cut(data, range(len(data)))
    for at in range(len(data)):
        yield cut(data, [at])


def cuts(size: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, size), max_size=12)


def run[T](feed: Callable[[bytes], list[T]], parts: Iterable[bytes]) -> list[T]:
    return [item for part in parts for item in feed(part)]


def named(kind: str, end: bytes = b"\n\n", **fields: Any) -> bytes:
    """An event with its type as its name, as Responses and Messages have it."""
    return b"event: " + kind.encode() + b"\n" + event({"type": kind, **fields}, end)


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def read(reader: Any, parts: Iterable[bytes]) -> list[Any]:
    return run(reader.feed, parts) + reader.flush()


def pieces(messages: Iterable[Any]) -> list[Any]:
    return [piece for message in messages for piece in message.pieces]
