"""Text completions, OpenAI's and llama.cpp's own: how a stream goes on.

The reasoning stands in the text, between tags; phase 2 is of the same dialect, and
its events are as good as phase 1's for whatever else there is in them.
"""

from __future__ import annotations

from typing import Any

from trackside.handoff.delta import read_chunk
from trackside.handoff.event import is_foreign, unnamed
from trackside.handoff.strategy import THINK
from trackside.handoff.usage import Counts, merged_timings
from trackside.wire.pieces import ToolCall, Usage
from trackside.wire.stream import Message

DONE = b"data: [DONE]\n\n"

_OF_ONE = ("choices", "usage", "timings", "tokens_predicted", "prompt_progress")
"""Members that are true of one event only."""


class Text:
    """A `Form` for `/v1/completions`."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._thinks = False  # phase 2 has opened a block of its own
        self._before: dict[str, float] | None = None  # llama.cpp's timings of phase 1
        self._after: dict[str, float] | None = None

    def follow(self, message: Message) -> None:
        """See `Form.follow`. O(length) once."""
        self._before = _timings(message) or self._before
        if not self._head:
            event = read_chunk(message.raw) or {}
            if "choices" in event:
                self._head = {k: v for k, v in event.items() if k not in _OF_ONE}

    def heard(self, message: Message) -> bytes:
        """See `Form.heard`."""
        self._after = _timings(message) or self._after
        event = read_chunk(message.raw)
        return message.raw if is_foreign(message, event) else b""

    def text(self, text: str) -> bytes:
        """See `Form.text`."""
        closer, self._thinks = THINK[1] if self._thinks else "", False
        return self._chunk(closer + text)

    def reasoning(self, text: str) -> bytes:
        """See `Form.reasoning`."""
        opener, self._thinks = "" if self._thinks else THINK[0], True
        return self._chunk(opener + text)

    def tool(self, call: ToolCall) -> bytes:
        """See `Form.tool`: plain text knows no calls."""
        return b""

    def close(self, finish: str, counts: Counts) -> bytes:
        """See `Form.close`. The counts ride on the finish, as llama.cpp's do."""
        told = _usage(counts)
        if self._after:
            told["timings"] = merged_timings(self._before, self._after)
        return self.closer() + self._chunk("", finish, **told) + DONE

    def fail(self, error: str) -> bytes:
        """See `Form.fail`."""
        return unnamed({"error": {"message": error, "type": "server_error"}}) + DONE

    def closer(self) -> bytes:
        """Return what closes the block that phase 2 opened, if it did."""
        return self.text("") if self._thinks else b""

    def _chunk(self, text: str, finish: str | None = None, **more: Any) -> bytes:
        choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": finish}
        return unnamed({**self._head, "choices": [choice], **more})


def _timings(message: Message) -> dict[str, float] | None:
    for piece in message.pieces:
        if isinstance(piece, Usage) and piece.timings:
            return piece.timings
    return None


def _usage(counts: Counts) -> dict[str, Any]:
    prompt, completion = counts.prompt, counts.completion
    if prompt is None or completion is None:
        return {}
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if counts.cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": counts.cached}
    return {"usage": usage}


class Native(Text):
    """A `Form` for llama.cpp's `/completion`."""

    def __init__(self) -> None:
        super().__init__()
        self._tail: dict[str, Any] = {}

    def follow(self, message: Message) -> None:
        """See `Form.follow`. O(length) once."""
        if not self._head:
            event = read_chunk(message.raw) or {}
            self._head = {k: v for k, v in event.items() if k not in _OF_ONE}

    def heard(self, message: Message) -> bytes:
        """See `Form.heard`: the last frame tells settings and timings."""
        event = read_chunk(message.raw)
        if event and event.get("stop") is True:
            self._tail = event
        return message.raw if is_foreign(message, event) else b""

    def close(self, finish: str, counts: Counts) -> bytes:
        """See `Form.close`. Timings are phase 2's: nobody told phase 1's."""
        told: dict[str, Any] = {"stop": True, "content": "", "tokens": []}
        if counts.prompt is not None:
            told["tokens_evaluated"] = counts.prompt
        if counts.completion is not None:
            told["tokens_predicted"] = counts.completion
        if not self._tail:
            told |= {"stop_type": "limit", "truncated": False}
        return self.closer() + unnamed({**self._head, **self._tail, **told})

    def fail(self, error: str) -> bytes:
        """See `Form.fail`."""
        return unnamed({"error": {"message": error, "type": "server_error"}})

    def _chunk(self, text: str, finish: str | None = None, **more: Any) -> bytes:
        told = {"content": text, "tokens": [], "stop": False}
        return unnamed({**self._head, **told})
