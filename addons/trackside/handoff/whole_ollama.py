"""Ollama's lines that were streamed for the guard's sake, made one object again.

Ollama itself makes its whole answers so: the last line, with all texts and calls.
Source: ollama server/routes.go (2026-08), writeChatResponse and GenerateHandler.
"""

from __future__ import annotations

from typing import Any

import msgspec

from trackside.handoff.whole import BROKEN_OFF, Object, Objects, failed
from trackside.wire import ndjson


class WholeLines:
    """An answer of `/api/chat`; `WholeGenerated` is one of `/api/generate`.

    Parameters:
        has_tools: the request offers tools; else calls are not gathered.
    """

    media_type = "application/json; charset=utf-8"

    def __init__(self, *, has_tools: bool = True) -> None:
        self._objects = Objects(ndjson.Decoder())
        self._has_tools = has_tools
        self._last: Object = {}
        self._contents: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[Any] = []
        self._error: Any = None

    def add(self, data: bytes) -> None:
        """See `Whole.add`. O(length)."""
        for line in self._objects.read(data):
            self._error = line.get("error", self._error)
            if "done" in line:
                self._last = line
                self._add_said(line)

    def _add_said(self, line: Object) -> None:
        message = line.get("message")
        if isinstance(message, dict):
            self._add_texts(message.get("content"), message.get("thinking"))
            if self._has_tools:
                self._calls += message.get("tool_calls") or ()

    def _add_texts(self, content: Any, thinking: Any) -> None:
        self._contents.append(content if isinstance(content, str) else "")
        self._thoughts.append(thinking if isinstance(thinking, str) else "")

    def body(self) -> tuple[int, bytes]:
        """See `Whole.body`. Errors have no status inside a stream: they are 500."""
        if self._error is not None or not self._last:
            return failed(self._error or BROKEN_OFF["message"])
        return 200, msgspec.json.encode(self._whole())

    def _whole(self) -> Object:
        last = self._last.get("message")
        message = dict(last) if isinstance(last, dict) else {"role": "assistant"}
        calls = self._calls or message.pop("tool_calls", None)
        message |= self._texts("content")
        if calls:
            message["tool_calls"] = calls
        return {**self._last, "message": message}

    def _texts(self, name: str) -> Object:
        """Return the texts, the answer under this name; no thinking if there is none.

        O(length of both).
        """
        thought = {"thinking": "".join(self._thoughts)}
        told: Object = {name: "".join(self._contents)}
        return told | thought if thought["thinking"] else told


class WholeGenerated(WholeLines):
    """An answer of `/api/generate`."""

    def _add_said(self, line: Object) -> None:
        self._add_texts(line.get("response"), line.get("thinking"))

    def _whole(self) -> Object:
        body: Object = {}
        for key, value in self._last.items():
            body |= self._texts(key) if key == "response" else {key: value}
        return body
