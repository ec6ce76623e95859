"""The one JSON body of a turn that was streamed for the guard's sake alone.

A body is rebuilt from what a streaming client would have got, handoff and all, and
only where it comes out as the engine itself would have sent it: llama.cpp's chat,
messages and responses, compared live in tests/test_dialects_live.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from trackside.wire import sse

JSON_TYPE = "application/json; charset=utf-8"

type Object = dict[str, Any]


class Whole(Protocol):
    """Gathers a stream into a body."""

    def add(self, data: bytes) -> None:
        """Take bytes that a streaming client would have got."""
        ...

    def body(self) -> tuple[int, bytes]:
        """Return status and body, once the stream is over."""
        ...


class Objects:
    """Yields the JSON objects in a stream of events; skips what is none."""

    def __init__(self) -> None:
        self._decoder = sse.Decoder()

    def read(self, data: bytes) -> Iterator[Object]:
        """Yield the objects that `data` completes."""
        for event in self._decoder.feed(data):
            try:
                value = msgspec.json.decode(event.data or b"")
            except (msgspec.DecodeError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value


def failed(error: Any) -> tuple[int, bytes]:
    """Return status and body for an error that came inside a stream.

    Example:
        >>> failed({"code": 503, "message": "busy"})
        (503, b'{"error":{"code":503,"message":"busy"}}')
    """
    code = error.get("code") if isinstance(error, dict) else None
    status = code if type(code) is int and 400 <= code < 600 else 500
    return status, msgspec.json.encode({"error": error})


class WholeChat:
    """A chat completion of one choice."""

    def __init__(self) -> None:
        self._objects = Objects()
        self._head: Object = {}
        self._tail: Object = {}  # usage and timings
        self._texts: dict[str, list[str]] = {"content": [], "reasoning_content": []}
        self._calls: dict[int, Object] = {}
        self._finish: str | None = None
        self._error: Any = None

    def add(self, data: bytes) -> None:
        """See `Whole.add`. O(length)."""
        for chunk in self._objects.read(data):
            self._error = chunk.get("error", self._error)
            choices = chunk.get("choices")
            for key in ("usage", "timings"):
                if key in chunk:
                    self._tail[key] = chunk[key]
            if isinstance(choices, list) and choices and isinstance(choices[0], dict):
                self._head = self._head or chunk
                self._finish = choices[0].get("finish_reason") or self._finish
                self._add_delta(choices[0].get("delta"))

    def _add_delta(self, delta: Any) -> None:
        if not isinstance(delta, dict):
            return
        for key, texts in self._texts.items():
            if isinstance(text := delta.get(key), str):
                texts.append(text)
        for part in delta.get("tool_calls") or ():
            function = part.get("function") or {}
            call = self._calls.setdefault(
                part.get("index", 0), {"name": "", "arguments": [], "id": None}
            )
            call["name"] = function.get("name") or call["name"]
            call["id"] = part.get("id") or call["id"]
            call["arguments"].append(function.get("arguments") or "")

    def body(self) -> tuple[int, bytes]:
        """See `Whole.body`."""
        if self._error is not None:
            return failed(self._error)
        message: Object = {"role": "assistant"}
        message["content"] = "".join(self._texts["content"])
        if thought := "".join(self._texts["reasoning_content"]):
            message["reasoning_content"] = thought
        if self._calls:
            message["tool_calls"] = [_call(call) for call in self._calls.values()]
        choice = {"finish_reason": self._finish, "index": 0, "message": message}
        head = self._head
        body: Object = {"choices": [choice]}
        for key in ("created", "model", "system_fingerprint"):
            if key in head:
                body[key] = head[key]
        body["object"] = "chat.completion"
        if "usage" in self._tail:
            body["usage"] = self._tail["usage"]
        body["id"] = head.get("id", "")
        if "timings" in self._tail:
            body["timings"] = self._tail["timings"]
        return 200, msgspec.json.encode(body)


def _call(call: Object) -> Object:
    function = {"name": call["name"], "arguments": "".join(call["arguments"])}
    return {"type": "function", "function": function, "id": call["id"]}


class WholeMessage:
    """An Anthropic message."""

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


class WholeResponse:
    """A response: the last event of its stream has nearly all of it."""

    def __init__(self) -> None:
        self._objects = Objects()
        self._response: Object | None = None
        self._error: Any = None

    def add(self, data: bytes) -> None:
        """See `Whole.add`. O(length)."""
        for event in self._objects.read(data):
            match event:
                case {"type": "response.completed", "response": dict(response)}:
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
            return failed(self._error or {"message": "the engine broke off"})
        response = dict(self._response)
        output = response.get("output")
        if isinstance(output, list):
            response["output"] = [{**item, "status": "completed"} for item in output]
        if "created_at" in response:
            response["completed_at"] = response["created_at"]
        return 200, msgspec.json.encode(response)
