"""The one JSON body of a turn that was streamed for the guard's sake alone.

A body is rebuilt from what a streaming client would have got, handoff and all, and
only where it comes out as the engine itself would have sent it: from engines that make
both out of the same parts. vLLM reads a whole answer by other code than a streamed one
(white space and calls come out otherwise), and vLLM, mlx-lm and SGLang have members in
it that the stream does not tell, by version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from trackside.wire import sse
from trackside.wire.errors import WireError
from trackside.wire.respell import decode_leniently
from trackside.wire.stream import Decoder

type Object = dict[str, Any]


class Whole(Protocol):
    """Gathers a stream into a body."""

    media_type: str
    """What the engine calls its whole bodies."""

    def add(self, data: bytes) -> None:
        """Take bytes that a streaming client would have got."""
        ...

    def body(self) -> tuple[int, bytes]:
        """Return status and body, once the stream is over."""
        ...


_decode = msgspec.json.Decoder().decode


class Objects:
    """Yields the JSON objects in a stream; skips what is none.

    Parameters:
        decoder: the framing, if it is not that of events.
    """

    def __init__(self, decoder: Decoder | None = None) -> None:
        self._decoder = decoder or sse.Decoder()

    def read(self, data: bytes) -> Iterator[Object]:
        """Yield the objects that `data` completes."""
        for event in self._decoder.feed(data):
            try:
                value = decode_leniently(_decode, event.data or b"")
            except (WireError, msgspec.DecodeError):
                continue
            if isinstance(value, dict):
                yield value


BROKEN_OFF = {"message": "the engine broke off", "type": "server_error"}
"""What is wrong with a stream that ended without a finish."""


def failed(error: Any) -> tuple[int, bytes]:
    """Return status and body for an error that came inside a stream.

    Example:
        >>> failed({"code": 503, "message": "busy"})
        (503, b'{"error":{"code":503,"message":"busy"}}')
    """
    code = error.get("code") if isinstance(error, dict) else None
    status = code if type(code) is int and 400 <= code < 600 else 500
    return status, msgspec.json.encode({"error": error})


class WholeMessage:
    """An Anthropic message, as llama.cpp makes it."""

    media_type = "application/json; charset=utf-8"

    def __init__(self) -> None:
        self._objects = Objects()
        self._message: Object = {}
        self._blocks: dict[Any, Object] = {}
        self._texts: dict[Any, list[str]] = {}
        self._error: Object | None = None

    def add(self, data: bytes) -> None:
        """See `Whole.add`. O(length)."""
        for event in self._objects.read(data):
            index = event.get("index")
            match event:
                case {"type": "message_start", "message": dict(message)}:
                    self._message = message
                case {"type": "content_block_start", "content_block": dict(block)}:
                    self._blocks[index], self._texts[index] = block, []
                case {"type": "content_block_delta", "delta": dict(delta)}:
                    self._add_delta(index, delta)
                case {"type": "message_delta", "delta": dict(delta)}:
                    usage = {**self._message.get("usage", {}), **event.get("usage", {})}
                    self._message |= {**delta, "usage": usage}
                case {"type": "error"}:
                    self._error = event

    def _add_delta(self, index: Any, delta: Object) -> None:
        for key in ("thinking", "text", "partial_json"):
            if isinstance(delta.get(key), str) and index in self._texts:
                self._texts[index].append(delta[key])
        if "signature" in delta and index in self._blocks:
            self._blocks[index]["signature"] = delta["signature"]

    def body(self) -> tuple[int, bytes]:
        """See `Whole.body`."""
        if self._error is None and not self._message.get("stop_reason"):
            self._error = {"type": "error", "error": BROKEN_OFF}
        if self._error is not None:
            return 500, msgspec.json.encode(self._error)
        content = []
        for index, block in self._blocks.items():
            text = "".join(self._texts[index])
            kind = str(block.get("type"))
            if kind == "tool_use":
                block = {**block, "input": _input(text)}
            elif kind in ("thinking", "text"):
                block = {"type": kind, kind: text, **_signature(block)}
            content.append(block)
        return 200, msgspec.json.encode({**self._message, "content": content})


def _signature(block: Object) -> Object:
    return {"signature": block["signature"]} if "signature" in block else {}


def _input(text: str) -> Any:
    try:
        return msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:  # cut by the token limit
        return {}


_RESPONSE_ORDER = ("created_at", "id", "model", "object", "output")
"""How llama.cpp's whole responses begin; the rest is in the order of the event."""


class WholeResponse:
    """A response, as llama.cpp makes it: the last event has nearly all of it."""

    media_type = "application/json; charset=utf-8"

    def __init__(self) -> None:
        self._objects = Objects()
        self._response: Object | None = None
        self._error: Any = None

    def add(self, data: bytes) -> None:
        """See `Whole.add`. O(length)."""
        for event in self._objects.read(data):
            match event:
                case {
                    "type": "response.completed" | "response.incomplete",
                    "response": dict(response),
                }:
                    self._response = response
                case {"type": "response.failed", "response": {"error": error}}:
                    self._error = error
                case {"error": error}:
                    self._error = error
                case {"type": "error"}:
                    self._error = event

    def body(self) -> tuple[int, bytes]:
        """See `Whole.body`."""
        if self._response is None:
            return failed(self._error or BROKEN_OFF)
        told = self._response
        output = told.get("output")
        if isinstance(output, list):
            output = [{**item, "status": "completed"} for item in output]
        response: Object = {"completed_at": told.get("created_at")}
        response |= {key: told[key] for key in _RESPONSE_ORDER if key in told}
        response |= {**told, "output": output}
        return 200, msgspec.json.encode(response)
