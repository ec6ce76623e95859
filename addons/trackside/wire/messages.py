"""Anthropic messages: what each event of a stream, or a whole body, says.

Source: https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from typing import Any

import msgspec

from trackside.wire import sse, stream
from trackside.wire.blocks import Blocks
from trackside.wire.errors import WireError
from trackside.wire.failure import Complaint, read_failure
from trackside.wire.leaves import count_of, list_of, object_of, text_of
from trackside.wire.pieces import End, Finish, Keepalive, Piece, Start, Usage
from trackside.wire.respell import decode_leniently

_PING = Keepalive("keepalive")
_END = End()
_COUNTS = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
    "thinking_tokens",
)


class _Delta(msgspec.Struct, gc=False):
    type: Any = None
    thinking: Any = None
    text: Any = None
    partial_json: Any = None
    stop_reason: Any = None


class _Event(Complaint, gc=False, kw_only=True):
    index: Any = None
    delta: _Delta | None = None
    content_block: Any = None
    usage: Any = None


class _Body(Complaint, gc=False, kw_only=True):
    id: Any = None
    model: Any = None
    content: Any = None
    stop_reason: Any = None
    usage: Any = None


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_body = msgspec.json.Decoder(_Body).decode


class Reader(stream.Reader):
    r"""Reads a Messages stream.

    Example:
        >>> reader = Reader()
        >>> [message] = reader.feed(b'event: ping\ndata: {"type":"ping"}\n\n')
        >>> message.pieces
        (Keepalive(kind='keepalive'),)
    """

    def __init__(self) -> None:
        super().__init__(sse.Decoder(), _Voice())


def read_body(body: bytes) -> list[Piece]:
    """Return what a response that was not streamed says; nothing if it is not JSON."""
    try:
        whole = decode_leniently(_decode_body, body)
    except (WireError, msgspec.ValidationError):
        return []
    if whole.type != "message":
        failure = read_failure(whole)
        return [failure] if failure else []
    blocks, counts = Blocks(), _Counts()
    counts.add(whole.usage)
    found: list[Piece] = [_start(whole.id, whole.model)]
    for index, block in enumerate(list_of(whole.content)):
        found += blocks.open(index, object_of(block))
        found += blocks.close(index)
    found += blocks.release()
    if reason := text_of(whole.stop_reason):
        found.append(Finish(reason))
    return [*found, *counts.read(final=True)]


class _Voice:
    def __init__(self) -> None:
        self._blocks = Blocks()
        self._counts = _Counts()
        self._has_stopped = False
        self.release = self._blocks.release

    def read(self, data: bytes, name: str) -> list[Piece]:
        try:
            event = decode_leniently(_decode_event, data)
        except msgspec.ValidationError:
            return []
        kind = event.type if isinstance(event.type, str) else name
        delta = event.delta
        if kind == "content_block_delta":
            return self._read_delta(event.index, delta) if delta is not None else []
        if kind == "content_block_start":
            return self._blocks.open(event.index, object_of(event.content_block))
        if kind == "content_block_stop":
            return self._blocks.close(event.index)
        if kind == "message_start":
            message = object_of(event.message)
            self._counts.add(message.get("usage"))
            start = _start(message.get("id"), message.get("model"))
            return [start, *self._counts.read(final=False)]
        if kind == "message_delta":
            return self._read_end(event.usage, delta)
        if kind == "message_stop":
            return [*self._blocks.release(), _END]
        if kind == "ping":
            return [_PING]
        failure = read_failure(
            event, is_answer=event.type is not None, is_error=name == "error"
        )
        return [failure] if failure else []

    def _read_delta(self, index: Any, delta: _Delta) -> list[Piece]:
        blocks = self._blocks
        if delta.type == "thinking_delta":
            return blocks.add_thinking(delta.thinking)
        if delta.type == "text_delta":
            return blocks.add_text(delta.text)
        if delta.type == "input_json_delta":
            return blocks.add_input(index, delta.partial_json)
        return []

    def _read_end(self, usage: Any, delta: _Delta | None) -> list[Piece]:
        found: list[Piece] = []
        if delta is not None and (reason := text_of(delta.stop_reason)):
            self._has_stopped = True
            found += (*self._blocks.release(), Finish(reason))
        self._counts.add(usage)
        return [*found, *self._counts.read(final=self._has_stopped)]


class _Counts:
    """Token counts, the latest of each: engines spread them over several events."""

    def __init__(self) -> None:
        self._latest: dict[str, int] = {}

    def add(self, usage: Any) -> None:
        counts = object_of(usage)
        counts = {**counts, **object_of(counts.get("output_tokens_details"))}
        for name in _COUNTS:
            if (tokens := count_of(counts.get(name))) is not None:
                self._latest[name] = tokens

    def read(self, *, final: bool) -> list[Piece]:
        told = self._latest
        if not told:
            return []
        prompt = told.get("input_tokens")
        if prompt is not None:  # which leaves out what was read from or put into cache
            prompt += told.get("cache_read_input_tokens", 0)
            prompt += told.get("cache_creation_input_tokens", 0)
        usage = Usage(
            prompt,
            completion=told.get("output_tokens"),
            reasoning=told.get("thinking_tokens"),
            cached=told.get("cache_read_input_tokens"),
            timings=None,
            final=final,
        )
        return [usage]


def _start(id_: Any, model: Any) -> Start:
    return Start(id=text_of(id_), model=text_of(model), created=0)
