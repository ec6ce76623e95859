"""OpenAI Responses: what each event of a stream, or a whole body, says.

Source: https://platform.openai.com/docs/api-reference/responses-streaming
"""

from typing import Any

import msgspec

from trackside.wire import sse, stream
from trackside.wire.errors import WireError
from trackside.wire.failure import Complaint, read_failure
from trackside.wire.leaves import instant_of, object_of, text_of
from trackside.wire.output import Output
from trackside.wire.pieces import (
    End,
    Finish,
    Keepalive,
    Piece,
    Reasoning,
    ReasoningSource,
    Start,
)
from trackside.wire.respell import decode_leniently
from trackside.wire.usage import read_usage

_REASONING: dict[str, ReasoningSource] = {
    "response.reasoning_text.delta": "reasoning_text",
    "response.reasoning_summary_text.delta": "reasoning_summary",
}
_CONTENT = ("response.output_text.delta", "response.refusal.delta")
_ARGUMENTS = (
    "response.function_call_arguments.delta",
    "response.custom_tool_call_input.delta",
)
_TERMINAL = ("completed", "incomplete", "failed", "cancelled")
_KEEPALIVE = Keepalive("keepalive")
_END = End()


class _Response(Complaint, gc=False, kw_only=True):
    id: Any = None
    model: Any = None
    created_at: Any = None
    status: Any = None
    incomplete_details: Any = None
    output: msgspec.Raw = msgspec.Raw(b"")  # all the texts once more: seldom read
    usage: Any = None
    timings: Any = None


class _Event(Complaint, gc=False, kw_only=True):
    delta: Any = None
    item_id: Any = None
    output_index: Any = None
    item: Any = None
    response: _Response | None = None
    timings: Any = None


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_body = msgspec.json.Decoder(_Response).decode
_decode_output = msgspec.json.Decoder(list[Any]).decode


class Reader(stream.Reader):
    r"""Reads a Responses stream.

    Example:
        >>> reader = Reader()
        >>> delta = b'{"type":"response.output_text.delta","delta":"Hi"}'
        >>> [message] = reader.feed(b"data: " + delta + b"\n\n")
        >>> message.pieces
        (Content(text='Hi', choice=0),)
    """

    def __init__(self) -> None:
        super().__init__(sse.Decoder(), _Voice())


def read_body(body: bytes) -> list[Piece]:
    """Return what a response that was not streamed says; nothing if it is not JSON."""
    try:
        response = decode_leniently(_decode_body, body)
    except (WireError, msgspec.ValidationError):
        return []
    if response.object == "response" or bytes(response.output):
        output = Output()
        return [
            _start(response),
            *_read_output(response, output),
            *output.release(),
            *_end(response, response.status, response.timings),
        ]
    failure = read_failure(response)
    return [failure] if failure else []


class _Voice:
    def __init__(self) -> None:
        self._output = Output()
        self.release = self._output.release
        self._started = False

    def read(self, data: bytes, name: str) -> list[Piece]:
        try:
            event = decode_leniently(_decode_event, data)
        except msgspec.ValidationError:
            return []
        kind = event.type if isinstance(event.type, str) else name
        delta, output = event.delta, self._output
        if delta and isinstance(delta, str):
            keys = (event.output_index, event.item_id)
            if kind in _REASONING:
                return output.add_reasoning(keys, Reasoning(delta, _REASONING[kind]))
            if kind in _CONTENT:
                return output.add_text(keys, delta)
            if kind in _ARGUMENTS:
                return output.add_arguments(keys, delta)
            return []
        if event.response is not None:
            return self._read_response(event.response, kind, event.timings)
        if kind == "response.output_item.added":
            return output.open_item(event.output_index, object_of(event.item))
        if kind == "response.output_item.done":
            return output.close_item(event.output_index, object_of(event.item))
        if kind == "keepalive":
            return [_KEEPALIVE]
        if kind.startswith("response."):
            return []
        failure = read_failure(event, is_error=name == "error")
        return [failure] if failure else []

    def _read_response(
        self, response: _Response, kind: str, timings: Any
    ) -> list[Piece]:
        found: list[Piece] = []
        if not self._started:
            self._started = True
            found.append(_start(response))
        ending = kind.removeprefix("response.")
        if ending in _TERMINAL:
            if not self._output.has_told:
                found += _read_output(response, self._output)
            found += self._output.release()
            # vLLM calls the event completed even where the status is another
            status = response.status if response.status in _TERMINAL else ending
            found += _end(response, status, timings or response.timings)
            found.append(_END)
        return found


def _start(response: _Response) -> Start:
    return Start(
        id=text_of(response.id),
        model=text_of(response.model),
        created=instant_of(response.created_at),
    )


def _read_output(response: _Response, output: Output) -> list[Piece]:
    try:
        items = decode_leniently(_decode_output, bytes(response.output))
    except (WireError, msgspec.ValidationError):
        return []
    return [
        piece
        for index, item in enumerate(items)
        for piece in output.close_item(index, object_of(item))
    ]


def _end(response: _Response, status: Any, timings: Any) -> list[Piece]:
    """Return the error, the reason and the counts that a response ends with."""
    found: list[Piece] = []
    if response.error:
        failure = read_failure(response)
        found += [failure] if failure else []
    if status in _TERMINAL:
        reason = text_of(object_of(response.incomplete_details).get("reason"))
        found.append(Finish(reason or status))
    counts = object_of(response.usage)
    usage = read_usage(
        {
            "prompt_tokens": counts.get("input_tokens"),
            "completion_tokens": counts.get("output_tokens"),
            "prompt_tokens_details": counts.get("input_tokens_details"),
            "completion_tokens_details": counts.get("output_tokens_details"),
        }
        if counts
        else None,
        timings,
        final=True,
    )
    return [*found, usage] if usage else found
