"""Phase 2's events, made to look as if phase 1's response had simply gone on."""

from __future__ import annotations

from typing import Any

import msgspec

from trackside.handoff.delta import drop_echo, read_chunk, relabel, says, take_choice
from trackside.handoff.event import is_foreign, unnamed
from trackside.handoff.phases import Phase1
from trackside.handoff.usage import Counts, merge, merged_timings, merged_usage
from trackside.wire.pieces import Content, End, Failure, Keepalive, Usage
from trackside.wire.stream import Message

DONE = b"data: [DONE]\n\n"
KEEPALIVE = b": keep-alive\n\n"

_WAITING = ("comment", "progress", "keepalive")


class Rewriter:
    """Turns phase 2's messages into the rest of phase 1's response.

    One id, model and creation time; the role was said; one finish, one usage, one
    terminator. A prefill that is echoed is dropped, answer text that an old parser
    calls reasoning becomes content. Members that are not known are passed on, and
    events of a type that is not. Raises nothing, whatever comes.
    """

    def __init__(self, phase1: Phase1) -> None:
        self._phase1 = phase1
        self._owed = phase1.closes_inline
        self._relabels = not phase1.trusts_labels
        self._usage: dict[str, Any] | None = None
        self._timings: dict[str, Any] | None = None
        self._finish: dict[str, Any] | None = None  # held for the timings behind it
        self._closed = False
        self.counts = Counts()
        self.said = False  # some of phase 2 went to the client, or is sure to
        self.error: str | None = None
        self.finish_reason: str | None = None

    @property
    def refused(self) -> bool:
        """Nothing came that a client could use, so far: another way may work."""
        return not self.said and (self._finish is None or self.error is not None)

    @property
    def phase1(self) -> Counts:
        """Phase 1's counts, completed by what phase 2 tells."""
        return self._phase1.counted(self.counts)

    @property
    def merged(self) -> Counts:
        """The counts of both phases; phase 1's alone while phase 2 says nothing."""
        if self.counts.completion is None and not self.said:
            return self.phase1
        return merge(self.phase1, self.counts)

    def edit(self, message: Message) -> bytes:
        """Return the bytes that stand for one message of phase 2."""
        if self._closed or self.error is not None:
            return b""
        for piece in message.pieces:
            match piece:
                case Failure():
                    self.error = piece.message
                    return b""
                case Usage():
                    self.counts = self.counts.updated(piece)
                case Content(choice=0):
                    self._relabels = False
                case End():
                    return self._on_end()
        chunk = read_chunk(message.raw)
        if is_foreign(message, chunk):
            return message.raw
        if chunk and (out := self._chunk(chunk, message)):
            return out
        waits = any(
            isinstance(piece, Keepalive) and piece.kind in _WAITING
            for piece in message.pieces
        )
        return KEEPALIVE if waits else b""

    def _on_end(self) -> bytes:
        if self.refused:
            self.error = "phase 2 ended before it said anything"
            return b""
        return self._close()

    def _chunk(self, chunk: dict[str, Any], message: Message) -> bytes:
        usage = _object(chunk.pop("usage", None))
        timings = _object(chunk.pop("timings", None))
        self._usage = usage or self._usage
        self._timings = timings or self._timings
        chunk.pop("error", None)  # null, or in a chunk of no shape: clients would raise
        choice = take_choice(chunk)
        if choice is None or self._finish is not None:
            return b""
        if self._relabels:
            relabel(choice["delta"], message.pieces)
        if not self.said:
            drop_echo(choice["delta"], self._phase1.kept)
        self.said = self.said or says(choice)
        chunk = self._framed({**chunk, "choices": [choice]})
        if usage and self._phase1.wants_running_usage:
            chunk["usage"] = merged_usage(usage, self.merged)
        reason = choice.get("finish_reason")
        if reason and isinstance(reason, str):
            self._finish, self.finish_reason = chunk, reason
            return b""
        choice["finish_reason"] = None
        if not says(choice):
            return b""
        if timings:  # on a chunk in mid-stream: the client asked for it
            chunk["timings"] = merged_timings(self._phase1.timings, timings)
        return self._opening() + unnamed(chunk)

    def _framed(self, chunk: dict[str, Any]) -> dict[str, Any]:
        start = self._phase1.start
        return {
            **chunk,
            "id": start.id,
            "object": "chat.completion.chunk",
            "created": start.created,
            "model": start.model,
        }

    def _made(self, delta: dict[str, str], finish: str | None = None) -> dict[str, Any]:
        """Return a chunk of our own in the shape of the others."""
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return self._framed({"choices": [choice]})

    def _opening(self) -> bytes:
        """Return the closing tag that the client is still owed, once."""
        owed, self._owed = self._owed, ""
        return unnamed(self._made({"content": owed})) if owed else b""

    def end(self, error: str | None = None) -> bytes:
        """Return what the client's response lacks: finish, usage, terminator."""
        self.error = self.error or error
        return b"" if self._closed else self._close()

    def _close(self) -> bytes:
        self._closed = True
        finish = self._finish
        if finish is None or self.refused:
            # The turn was cut short: "length" is what every client knows as that.
            finish, self.finish_reason = self._made({}, "length"), "length"
        usage = self._usage_event() if self._phase1.wants_usage else b""
        if self._timings and not usage:  # llama.cpp tells them in the last event
            finish["timings"] = merged_timings(self._phase1.timings, self._timings)
        return self._opening() + unnamed(finish) + usage + DONE

    def _usage_event(self) -> bytes:
        counts = self.merged
        if counts.completion is None:  # it died untold: phase 1's is a lower bound
            completion = self._phase1.counts.completion
            counts = msgspec.structs.replace(counts, completion=completion)
        if counts.prompt is None or counts.completion is None:
            return b""
        event = self._framed({"choices": []})
        event["usage"] = merged_usage(self._usage or {}, counts)
        if self._timings:
            event["timings"] = merged_timings(self._phase1.timings, self._timings)
        return unnamed(event)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
