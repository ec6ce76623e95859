"""Anthropic messages: how a stream goes on after its thinking was stopped.

Sources: https://docs.anthropic.com/en/api/messages-streaming; of signatures: llama.cpp
tools/server/server-task.cpp (always, an empty one), vLLM 0.32, SGLang 0.5.23
entrypoints/anthropic/serving.py and Ollama 0.33 anthropic/anthropic.go (none).
"""

from typing import Any

from trackside.handoff.delta import read_chunk
from trackside.handoff.event import named
from trackside.handoff.strategy import Engine
from trackside.handoff.usage import Counts
from trackside.wire.pieces import ToolCall
from trackside.wire.stream import Message

_STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
_DELTA = b"event: content_block_delta"


class Messages:
    """A `Form`: knows which block is open, and numbers the blocks that follow."""

    def __init__(self) -> None:
        self._open: int | None = None  # index of the open block
        self._kind = ""  # its type
        self._is_signed = False
        self._signs: bool | None = None  # as the last thinking block that ended
        self.engine: Engine = "openai"
        """Told at the trip: whose habit it is while no thinking block has ended."""
        self._next = 0
        self._calls: dict[int, int] = {}  # a call's index to its block's

    def follow(self, message: Message) -> None:
        """See `Form.follow`. O(1) for text, O(length) for the rest."""
        raw = message.raw
        if raw.startswith(_DELTA) and b"signature_delta" not in raw:
            return
        event = read_chunk(raw) or {}
        index = event.get("index")
        match event.get("type"):
            case "content_block_start" if isinstance(index, int):
                block = event.get("content_block")
                self._kind = block.get("type", "") if isinstance(block, dict) else ""
                self._open, self._next = index, max(self._next, index + 1)
                self._is_signed = False
            case "content_block_delta":
                delta = event.get("delta")
                kind = delta.get("type") if isinstance(delta, dict) else None
                self._is_signed = self._is_signed or kind == "signature_delta"
            case "content_block_stop" if index == self._open:
                if self._kind == "thinking":
                    self._signs = self._is_signed
                self._open = None

    def heard(self, message: Message) -> bytes:
        """See `Form.heard`: phase 1's message_start has said it all."""
        return b""

    def text(self, text: str) -> bytes:
        """See `Form.text`."""
        opening = self._opened({"type": "text", "text": ""})
        return opening + self._delta({"type": "text_delta", "text": text})

    def reasoning(self, text: str) -> bytes:
        """See `Form.reasoning`."""
        opening = self._opened({"type": "thinking", "thinking": ""})
        return opening + self._delta({"type": "thinking_delta", "thinking": text})

    def tool(self, call: ToolCall) -> bytes:
        """See `Form.tool`."""
        out = b""
        if call.index not in self._calls:
            out = self._stopped()
            block = {
                "type": "tool_use",
                "id": call.id or f"toolu_{self._next}",
                "name": call.name or "",
                "input": {},
            }
            self._calls[call.index] = self._next
            out += self._started(block)
        if call.arguments:
            delta = {"type": "input_json_delta", "partial_json": call.arguments}
            out += named(
                "content_block_delta", index=self._calls[call.index], delta=delta
            )
        return out

    def close(self, finish: str, counts: Counts) -> bytes:
        """See `Form.close`. The prompt's counts repeat those of message_start."""
        reason = _STOP_REASONS.get(finish, finish)
        if self._calls and finish == "stop":  # vLLM, for a named tool
            reason = "tool_use"
        usage: dict[str, int] = {"output_tokens": counts.completion or 0}
        if counts.prompt is not None:
            usage["input_tokens"] = counts.prompt - (counts.cached or 0)
        if counts.cached is not None:
            usage["cache_read_input_tokens"] = counts.cached
        delta = {"stop_reason": reason, "stop_sequence": None}
        return (
            self._stopped()
            + named("message_delta", delta=delta, usage=usage)
            + named("message_stop")
        )

    def fail(self, error: str) -> bytes:
        """See `Form.fail`. SDKs raise on this event, but only if it is named."""
        return named("error", error={"type": "api_error", "message": error})

    def _opened(self, block: dict[str, Any]) -> bytes:
        if self._open is not None and self._kind == block["type"]:
            return b""
        return self._stopped() + self._started(block)

    def _started(self, block: dict[str, Any]) -> bytes:
        self._open, self._kind, self._is_signed = self._next, block["type"], False
        self._next += 1
        return named("content_block_start", index=self._open, content_block=block)

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return named("content_block_delta", index=self._open, delta=delta)

    def _stopped(self) -> bytes:
        """Close the open block; a thinking block is signed as the engine does it.

        SDKs promise a signature but read a block without, and an empty one would fail
        with whoever checks it.
        """
        index, self._open = self._open, None
        if index is None:
            return b""
        out = b""
        signs = self.engine == "llama.cpp" if self._signs is None else self._signs
        if self._kind == "thinking" and signs and not self._is_signed:
            delta = {"type": "signature_delta", "signature": ""}
            out = named("content_block_delta", index=index, delta=delta)
        return out + named("content_block_stop", index=index)
