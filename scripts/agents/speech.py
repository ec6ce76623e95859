"""What an engine says in one turn, as events of each dialect. Pure.

Shaped like the streams of llama.cpp and vLLM that were captured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MODEL = "scripted"
CREATED = 1_700_000_000


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call."""

    id: str
    name: str
    arguments: Mapping[str, Any]

    @property
    def json(self) -> str:
        """The arguments as they are streamed."""
        return json.dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the model."""

    id: str  # end of every id in it
    reasoning: Iterable[str]  # pieces; may take their time
    text: str
    call: Call | None = None
    is_cut: bool = False  # the token limit ends it after its reasoning
    tokens: int = 10  # told as completion tokens


def chat(turn: Turn) -> Iterator[bytes]:
    """Yield a turn as chunks of a chat completion."""
    head = {
        "id": f"chatcmpl-{turn.id}",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": MODEL,
    }

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({**head, "choices": [choice]})

    yield chunk({"role": "assistant", "content": None})
    for piece in turn.reasoning:
        yield chunk({"reasoning_content": piece})
    if turn.text:
        yield chunk({"content": turn.text})
    if call := turn.call:
        function = {"name": call.name, "arguments": ""}
        named = {"index": 0, "id": call.id, "type": "function", "function": function}
        yield chunk({"tool_calls": [named]})
        part = {"index": 0, "function": {"arguments": call.json}}
        yield chunk({"tool_calls": [part]})
    yield chunk({}, "length" if turn.is_cut else "tool_calls" if call else "stop")
    usage = {"prompt_tokens": 90, "completion_tokens": turn.tokens}
    usage["total_tokens"] = sum(usage.values())
    yield _data({**head, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def messages(turn: Turn) -> Iterator[bytes]:
    """Yield a turn as events of an Anthropic message."""
    message = {"id": f"msg_{turn.id}", "type": "message", "role": "assistant"}
    start: dict[str, Any] = {"model": MODEL, "content": [], "stop_reason": None}
    start["usage"] = {"input_tokens": 90, "output_tokens": 0}
    yield _named("message_start", message={**message, **start})
    index = 0
    for block, deltas in _blocks(turn):
        is_empty = True
        for delta in deltas:
            if is_empty:
                yield _named("content_block_start", index=index, content_block=block)
            is_empty = False
            yield _named("content_block_delta", index=index, delta=delta)
        if not is_empty:
            yield _named("content_block_stop", index=index)
            index += 1
    stop = "max_tokens" if turn.is_cut else "tool_use" if turn.call else "end_turn"
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield _named("message_delta", delta=delta, usage={"output_tokens": turn.tokens})
    yield _named("message_stop")


def _blocks(turn: Turn) -> Iterator[tuple[Any, Iterable[Any]]]:
    yield {"type": "thinking", "thinking": ""}, _thinking(turn.reasoning)
    text = [{"type": "text_delta", "text": turn.text}] if turn.text else []
    yield {"type": "text", "text": ""}, text
    if call := turn.call:
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield block, [{"type": "input_json_delta", "partial_json": call.json}]


def _thinking(pieces: Iterable[str]) -> Iterator[Any]:
    is_empty = True
    for piece in pieces:
        is_empty = False
        yield {"type": "thinking_delta", "thinking": piece}
    if not is_empty:
        yield {"type": "signature_delta", "signature": ""}


def responses(turn: Turn) -> Iterator[bytes]:
    """Yield a turn as events of an OpenAI response."""
    number = -1

    def event(kind: str, **data: Any) -> bytes:
        nonlocal number
        number += 1
        return _named(f"response.{kind}", sequence_number=number, **data)

    head = {"id": f"resp_{turn.id}", "object": "response", "created_at": CREATED}
    head["model"] = MODEL
    yield event("created", response={**head, "status": "in_progress", "output": []})
    output: list[Any] = []
    for item, key, pieces in _items(turn):
        at = {"output_index": len(output)}
        part_at = {**at, "item_id": item["id"], "content_index": 0}
        whole = ""
        for piece in pieces:
            if not whole:
                begun = {**item, "status": "in_progress"}
                yield event("output_item.added", item=begun, **at)
                if item["type"] == "message":
                    yield event("content_part.added", part=_part(""), **part_at)
            whole += piece
            yield event(f"{key}.delta", delta=piece, **part_at)
        if whole:
            done = {**item, "status": "completed"}
            text = "arguments" if item["type"] == "function_call" else "text"
            yield event(f"{key}.done", **{text: whole}, **part_at)
            if item["type"] == "message":
                done["content"] = [_part(whole)]
                yield event("content_part.done", part=_part(whole), **part_at)
            elif item["type"] == "reasoning":
                done["content"] = [{"type": "reasoning_text", "text": whole}]
            else:
                done["arguments"] = whole
            output.append(done)
            yield event("output_item.done", item=done, **at)
    usage = {"input_tokens": 90, "output_tokens": turn.tokens}
    usage["total_tokens"] = sum(usage.values())
    status = "incomplete" if turn.is_cut else "completed"
    reason = {"reason": "max_output_tokens"} if turn.is_cut else None
    end = {"status": status, "incomplete_details": reason}
    yield event(status, response={**head, **end, "output": output, "usage": usage})


def _items(turn: Turn) -> Iterator[tuple[Any, str, Iterable[str]]]:
    reasoning = {"id": f"rs_{turn.id}", "type": "reasoning", "summary": []}
    yield {**reasoning, "content": []}, "reasoning_text", turn.reasoning
    message = {"id": f"msg_{turn.id}", "type": "message", "role": "assistant"}
    text = [turn.text] if turn.text else []
    yield {**message, "content": []}, "output_text", text
    if call := turn.call:
        item = {"id": f"fc_{turn.id}", "type": "function_call", "call_id": call.id}
        item |= {"name": call.name, "arguments": ""}
        yield item, "function_call_arguments", [call.json]


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _data(told: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(told)}\n\n".encode()


def _named(kind: str, **data: Any) -> bytes:
    told = json.dumps({"type": kind, **data})
    return f"event: {kind}\ndata: {told}\n\n".encode()


SPEECHES = {
    "/v1/chat/completions": chat,
    "/v1/messages": messages,
    "/v1/responses": responses,
}
"""How to speak, by the path that was asked."""
