"""Phase 2's events, made to look as if phase 1's response had simply gone on."""

from __future__ import annotations

from typing import Any

import msgspec

from trackside.handoff.usage import Counts, counts_of, merged_timings, merged_usage
from trackside.wire import sse
from trackside.wire.chat import Message
from trackside.wire.pieces import (
    Content,
    End,
    Failure,
    Reasoning,
    Start,
    ToolCall,
    Usage,
)

DONE = b"data: [DONE]\n\n"
ECHO_CHARS = 8
"""Shorter kept reasoning may well be how an answer starts."""

_REASONING = ("reasoning_content", "reasoning", "reasoning_details")


class Phase1(msgspec.Struct, frozen=True):
    """What the client has had of its response, and what it asked for."""

    start: Start
    kept: str
    kept_tokens: int
    counts: Counts
    timings: dict[str, float] | None = None
    wants_usage: bool = False
    wants_running_usage: bool = False  # usage on every chunk
    closes_inline: str = (
        ""  # closing tag owed to a client that gets the tags in content
    )
    trusts_labels: bool = True  # the engine's parser knows that the block is closed


class Rewriter:
    """Turns phase 2's messages into the rest of phase 1's response.

    One id, model and creation time; the role was said; one finish, one usage, one
    terminator. A prefill that is echoed is dropped, answer text that an old parser
    calls reasoning becomes content. What is not known is passed on as it is.
    """

    def __init__(self, phase1: Phase1) -> None:
        self._phase1 = phase1
        self._owed = phase1.closes_inline
        self._usage: dict[str, Any] | None = None
        self._timings: dict[str, float] | None = None
        self._finished = self._closed = False
        self._relabels = not phase1.trusts_labels
        self._extra: dict[str, Any] = {"object": "chat.completion.chunk"}
        self.phase1 = phase1.counts
        self.counts = Counts()
        self.said = False  # some text or tool call of phase 2 went to the client
        self.error: str | None = None
        self.finish_reason: str | None = None

    @property
    def refused(self) -> bool:
        """The engine answered with nothing but an error: another way may work."""
        return self.error is not None and not self.said

    def edit(self, message: Message) -> bytes:
        """Return the bytes that stand for one message of phase 2."""
        if self._closed or self.error is not None:
            return b""
        pieces = message.pieces
        for piece in pieces:
            if isinstance(piece, Failure):
                self.error = piece.message
                return b""
            if isinstance(piece, Usage):
                self.counts = counts_of(piece)
                self.phase1 = self._with_prompt(self.phase1)
            elif isinstance(piece, Content):
                self._relabels = False
        if any(isinstance(piece, End) for piece in pieces):
            return self._close()
        chunk = _decoded(message.raw)
        if chunk is None:
            return message.raw
        return self._chunk(chunk, message)

    def _with_prompt(self, phase1: Counts) -> Counts:
        """Fill in a prompt that phase 1 did not live to tell: phase 2's, less R."""
        if phase1.prompt is not None or self.counts.prompt is None:
            return phase1
        prompt = max(0, self.counts.prompt - self._phase1.kept_tokens)
        return msgspec.structs.replace(phase1, prompt=prompt)

    def _chunk(self, chunk: dict[str, Any], message: Message) -> bytes:
        choices = chunk.get("choices")
        told, timings = chunk.pop("usage", None), chunk.pop("timings", None)
        self._usage = told or self._usage
        self._timings = timings or self._timings
        if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
            return b""
        choice = choices[0]
        if "delta" not in choice:
            choice = _as_delta(choice)
        delta = choice["delta"] = dict(choice.get("delta") or {})
        delta.pop("role", None)
        self._label(delta)
        if choice.get("finish_reason"):
            self._finished = True
            self.finish_reason = choice["finish_reason"]
        elif not any(delta.values()):
            return b""
        kinds = (Content, Reasoning, ToolCall)
        self.said = self.said or any(isinstance(p, kinds) for p in message.pieces)
        start = self._phase1.start
        chunk |= {"id": start.id, "model": start.model, "created": start.created}
        chunk["object"] = "chat.completion.chunk"
        chunk["choices"] = [choice]
        self._extra = {k: v for k, v in chunk.items() if k != "choices"}
        if self._phase1.wants_running_usage and told:
            chunk["usage"] = merged_usage(told, self.phase1, self.counts)
        if timings and self._finished and not self._phase1.wants_usage:
            chunk["timings"] = merged_timings(self._phase1.timings, timings)
        return self._opening() + _event(chunk)

    def _label(self, delta: dict[str, Any]) -> None:
        """Drop an echo of the prefill, and call answer text content."""
        for key in (*_REASONING, "content"):
            text = delta.get(key)
            if isinstance(text, str) and not self.said and self._is_echo(text):
                delta[key] = text.partition(self._phase1.kept.strip())[2]
                delta[key] = delta[key].partition("</think>")[2].lstrip("\n")
        if self._relabels:
            moved = "".join(
                delta.pop(key)
                for key in _REASONING[:2]
                if isinstance(delta.get(key), str)
            )
            delta.pop("reasoning_details", None)
            if moved:
                delta["content"] = moved + (delta.get("content") or "")

    def _is_echo(self, text: str) -> bool:
        kept = self._phase1.kept.strip()
        return len(kept) >= ECHO_CHARS and kept in text

    def _opening(self) -> bytes:
        """Return the closing tag that the client is still owed, once."""
        owed, self._owed = self._owed, ""
        return self.chunk({"content": owed}) if owed else b""

    def chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        """Return an event of our own in the shape of the others."""
        start = self._phase1.start
        return _event(
            {
                **self._extra,
                "id": start.id,
                "model": start.model,
                "created": start.created,
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            }
        )

    def end(self, error: str | None = None) -> bytes:
        """Return what the client's response lacks: finish, usage, terminator."""
        self.error = self.error or error
        return b"" if self._closed else self._close()

    def _close(self) -> bytes:
        self._closed = True
        out = self._opening()
        if not self._finished:
            # The turn was cut short: "length" is what every client knows as that.
            self.finish_reason = "length"
            out += self.chunk({}, "length")
        if self._phase1.wants_usage:
            out += self._usage_event()
        return out + DONE

    def _usage_event(self) -> bytes:
        phase1 = self.phase1
        told, phase2 = self._usage, self.counts
        if told is None:  # no phase 2, or one that died: phase 1 is all there is
            told, phase2 = {}, Counts(completion=0)
            if phase1.prompt is None or phase1.completion is None:
                return b""
        start = self._phase1.start
        event = {**self._extra, "id": start.id, "model": start.model}
        event |= {"created": start.created, "choices": []}
        event["usage"] = merged_usage(told, phase1, phase2)
        if self._timings:
            event["timings"] = merged_timings(self._phase1.timings, self._timings)
        return _event(event)


def _decoded(raw: bytes) -> dict[str, Any] | None:
    """Return the JSON object an event carries, or None."""
    decoder = sse.Decoder()
    for event in (*decoder.feed(raw), *decoder.flush()):
        if event.data is not None:
            try:
                value = msgspec.json.decode(event.data)
            except msgspec.DecodeError:
                return None
            return value if isinstance(value, dict) else None
    return None


def _as_delta(choice: dict[str, Any]) -> dict[str, Any]:
    """Turn a choice of a text completion into one of a chat chunk."""
    return {
        "index": choice.get("index", 0),
        "delta": {"content": choice.get("text") or ""},
        "finish_reason": choice.get("finish_reason"),
    }


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(chunk) + b"\n\n"
