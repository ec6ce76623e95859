"""Ollama's own API: what each line of a stream, or a whole body, says.

`/api/chat` answers in `message`, `/api/generate` in `response` and `thinking`.

Source: https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from datetime import UTC, datetime
from typing import Any

import msgspec

from trackside.wire import ndjson, stream
from trackside.wire.errors import WireError
from trackside.wire.failure import Complaint, read_failure
from trackside.wire.leaves import count_of, list_of, object_of, text_of
from trackside.wire.pieces import (
    End,
    Finish,
    Keepalive,
    Piece,
    Reasoning,
    Start,
    ToolCall,
    Usage,
)
from trackside.wire.respell import decode_leniently
from trackside.wire.tagged import TaggedText

_EMPTY = Keepalive("empty")
_END = End()
_DURATIONS = (  # nanoseconds
    "total_duration",
    "load_duration",
    "prompt_eval_duration",
    "eval_duration",
)


class _Line(Complaint, gc=False, kw_only=True):
    model: Any = None
    created_at: Any = None
    response: Any = None
    thinking: Any = None
    tool_calls: Any = None
    done: Any = None
    done_reason: Any = None
    prompt_eval_count: Any = None
    prompt_eval_cached_count: Any = None
    eval_count: Any = None
    total_duration: Any = None
    load_duration: Any = None
    prompt_eval_duration: Any = None
    eval_duration: Any = None


_decode = msgspec.json.Decoder(_Line).decode


class Reader(stream.Reader):
    r"""Reads a stream of `/api/chat` or `/api/generate`.

    Example:
        >>> reader = Reader()
        >>> [message] = reader.feed(b'{"response":"Hi","done":false}\n')
        >>> message.pieces[-1]
        Content(text='Hi', choice=0)
    """

    def __init__(self) -> None:
        super().__init__(ndjson.Decoder(), _Voice())


def read_body(body: bytes) -> list[Piece]:
    """Return what a response that was not streamed says; nothing if it is not JSON."""
    try:
        found = _Voice().read(body, "")
    except WireError:
        return []
    return [piece for piece in found if piece is not _END]


class _Voice:
    def __init__(self) -> None:
        self._text = TaggedText()
        self.release = self._text.release
        self._started = False
        self._calls = 0

    def read(self, data: bytes, name: str) -> list[Piece]:
        try:
            line = decode_leniently(_decode, data)
        except msgspec.ValidationError:
            return []
        message = object_of(line.message)
        is_answer = line.done is not None or bool(message)
        if not is_answer:
            failure = read_failure(line)
            return [failure] if failure else []
        found: list[Piece] = []
        content = text_of(message.get("content") or line.response)
        if thinking := text_of(message.get("thinking") or line.thinking):
            found += (*self._text.release(), Reasoning(thinking, "thinking"))
        if content:
            found += self._text.feed(content)
        self._read_calls(message.get("tool_calls") or line.tool_calls, found)
        if line.done is True:
            found += self._text.release()
            # older servers give no reason
            found.append(Finish(text_of(line.done_reason) or "stop"))
            if usage := _usage(line):
                found.append(usage)
            found.append(_END)
        if not found and not content:
            found.append(_EMPTY)
        if not self._started:
            self._started = True
            found.insert(0, _start(line))
        if line.error and (failure := read_failure(line, is_answer=True)):
            found.append(failure)
        return found

    def _read_calls(self, calls: Any, found: list[Piece]) -> None:
        for call in list_of(calls):
            function = object_of(object_of(call).get("function"))
            if not function:
                continue
            found += self._text.release()
            arguments = function.get("arguments") or {}
            found.append(
                ToolCall(
                    index=self._calls,  # they come whole, line by line
                    id=text_of(call.get("id")) or None,
                    name=text_of(function.get("name")) or None,
                    arguments=msgspec.json.encode(arguments).decode(),
                )
            )
            self._calls += 1


def _start(line: _Line) -> Start:
    try:
        at = datetime.fromisoformat(text_of(line.created_at))
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        created = max(0, int(at.timestamp()))
    except (ValueError, OverflowError):
        created = 0
    return Start(id="", model=text_of(line.model), created=created)


def _usage(line: _Line) -> Usage | None:
    prompt, completion = count_of(line.prompt_eval_count), count_of(line.eval_count)
    times = {name: getattr(line, name) for name in _DURATIONS}
    timings: dict[str, float] = {
        name: ns for name, ns in times.items() if type(ns) is int
    }
    if prompt is None and completion is None and not timings:
        return None
    cached = count_of(line.prompt_eval_cached_count)  # since August 2026
    return Usage(prompt, completion, None, cached, timings or None, True)
