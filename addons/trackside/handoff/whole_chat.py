"""A chat completion that was streamed for the guard's sake, made whole again.

Source: llama.cpp tools/server (2026-10).
"""

from __future__ import annotations

from typing import Any

import msgspec

from trackside.handoff.whole import BROKEN_OFF, Object, Objects, failed


class WholeChat:
    """A chat completion of one choice, as llama.cpp makes it."""

    media_type = "application/json; charset=utf-8"

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
        if self._error is not None or self._finish is None:
            return failed(self._error or BROKEN_OFF)
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
