"""Ollama's own API: how a stream of lines goes on after its thinking was stopped.

Source: https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from trackside.handoff.usage import Counts
from trackside.wire.pieces import ToolCall
from trackside.wire.stream import Message

type Object = dict[str, Any]

_SAYING = ("message", "response", "thinking", "context", "tool_calls")


class Lines:
    """A `Form` for `/api/chat`; `Generated` is the one for `/api/generate`."""

    def __init__(self) -> None:
        self._head: Object = {}  # model and time, of the latest line
        self._tail: Object = {}
        self._began: Any = None  # time of phase 1's first line
        self._latest = b""  # and its last one
        self._calls: dict[int, list[ToolCall]] = {}

    def follow(self, message: Message) -> None:
        """See `Form.follow`. O(length) once."""
        if not self._head:
            self._read(message.raw)
            self._began = self._head.get("created_at")
        self._latest = message.raw

    def heard(self, message: Message) -> bytes:
        """See `Form.heard`: each line has its time, the last one the durations."""
        line = self._read(message.raw)
        is_foreign = line and not message.pieces and not {"done", "error"} & line.keys()
        return message.raw if is_foreign else b""

    def _read(self, raw: bytes) -> Object:
        line = _object(raw)
        if "created_at" in line:
            names = ("model", "created_at")
            self._head |= {
                k: line[k] for k in names if k in line and k not in self._head
            }
            self._head["created_at"] = line["created_at"]
            if line.get("done") is True:
                self._tail = {k: v for k, v in line.items() if k not in _SAYING}
        return line

    def text(self, text: str) -> bytes:
        """See `Form.text`."""
        return self._calls_told() + self._line(self.saying(content=text))

    def reasoning(self, text: str) -> bytes:
        """See `Form.reasoning`."""
        return self._line(self.saying(thinking=text))

    def tool(self, call: ToolCall) -> bytes:
        """See `Form.tool`: calls are told whole, so they wait until they are."""
        told = b"" if call.index in self._calls else self._calls_told()
        self._calls.setdefault(call.index, []).append(call)
        return told

    def close(self, finish: str, counts: Counts) -> bytes:
        """See `Form.close`. Clients divide the tokens by the time it took to make them,
        so phase 1's is added, as far as the times of its lines tell it.
        """
        told: Object = {"done": True, "done_reason": finish}
        if finish == "tool_calls":  # not a reason of Ollama's
            told["done_reason"] = "stop"
        if counts.prompt is not None:
            told["prompt_eval_count"] = counts.prompt
        if counts.completion is not None:
            told["eval_count"] = counts.completion
        return self._calls_told() + self._line(
            {**self._tail, **self._durations(), **self.saying(content=""), **told}
        )

    def _durations(self) -> Object:
        latest = _object(self._latest).get("created_at")
        spent_ns = _ns_between(self._began, latest)
        names = ("total_duration", "eval_duration")
        known = {name: self._tail.get(name) for name in names}
        return {k: ns + spent_ns for k, ns in known.items() if type(ns) is int}

    def fail(self, error: str) -> bytes:
        """See `Form.fail`."""
        return msgspec.json.encode({"error": error}) + b"\n"

    def saying(self, *, content: str = "", **more: Any) -> Object:
        """Return the members that say something."""
        return {"message": {"role": "assistant", "content": content, **more}}

    def _calls_told(self) -> bytes:
        out = b""
        for parts in self._calls.values():
            try:
                arguments = msgspec.json.decode(
                    "".join(part.arguments for part in parts) or "{}"
                )
            except msgspec.DecodeError:  # cut by the token limit
                arguments = {}
            function = {"name": parts[0].name or "", "arguments": arguments}
            out += self._line(self.saying(tool_calls=[{"function": function}]))
        self._calls = {}
        return out

    def _line(self, said: Object) -> bytes:
        return msgspec.json.encode({**self._head, "done": False, **said}) + b"\n"


def _object(raw: bytes) -> Object:
    try:
        value = msgspec.json.decode(raw.strip() or b"{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _ns_between(began: Any, ended: Any) -> int:
    """Return the time between two of Ollama's time stamps, 0 if they tell none."""
    try:
        spent = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    except (TypeError, ValueError):
        return 0
    return max(0, spent // timedelta(microseconds=1) * 1000)


class Generated(Lines):
    """A `Form` for `/api/generate`."""

    def saying(self, *, content: str = "", **more: Any) -> Object:
        """Return the members that say something."""
        return {"response": content, **more}
