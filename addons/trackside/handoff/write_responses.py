"""OpenAI responses: how a stream goes on after its reasoning was stopped.

The engine's own habits are kept where they differ: whether events are numbered
(llama.cpp: neither `sequence_number` nor `output_index`) and reasoning has parts.
Source: https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from typing import Any

from trackside.handoff.delta import read_chunk
from trackside.handoff.event import named
from trackside.handoff.items import Item, Items
from trackside.handoff.usage import Counts
from trackside.wire.pieces import Start, ToolCall
from trackside.wire.stream import Message


class Responses:
    """A `Form`: keeps the output items, as the last event repeats all of them."""

    def __init__(self) -> None:
        self._items = Items()
        self._response: dict[str, Any] = {}
        self._last = b""  # its number is read only if it is needed
        self._number: int | None = None
        self._calls: dict[int, Item] = {}

    def follow(self, message: Message) -> None:
        """See `Form.follow`. O(length of the message)."""
        raw = message.raw
        if self._items.add_text(message):
            self._last = raw
            return
        event = read_chunk(raw)
        if event is None:
            return
        self._last = b""
        self._number = event.get("sequence_number", self._number)
        if event.get("type") in ("response.created", "response.in_progress"):
            response = event.get("response")
            self._response = response if isinstance(response, dict) else {}
        else:
            self._items.follow(event)

    def heard(self, message: Message) -> bytes:
        """See `Form.heard`: llama.cpp tells model and time only at the end."""
        for piece in message.pieces:
            if isinstance(piece, Start):
                if piece.created:
                    self._response.setdefault("created_at", piece.created)
                self._response.setdefault("model", piece.model)
        return b""

    def text(self, text: str) -> bytes:
        """See `Form.text`."""
        item, out = self._items.open, b""
        if item is None or item.kind != "message" or not item.is_part_open:
            item, out = self._started("message")
        item.texts[-1] += text
        at = {"content_index": item.part_index, "logprobs": []}
        return out + self._event("output_text.delta", item, delta=text, **at)

    def reasoning(self, text: str) -> bytes:
        """See `Form.reasoning`."""
        item, out = self._items.open, b""
        if item is None or item.kind != "reasoning" or not item.is_part_open:
            item, out = self._started("reasoning")
        item.texts[-1] += text
        at = {"content_index": item.part_index}
        return out + self._event("reasoning_text.delta", item, delta=text, **at)

    def tool(self, call: ToolCall) -> bytes:
        """See `Form.tool`."""
        item, out = self._calls.get(call.index), b""
        if item is None:
            item, out = self._started("function_call", call)
            self._calls[call.index] = item
        if not call.arguments:
            return out
        item.texts[-1] += call.arguments
        return out + self._event(
            "function_call_arguments.delta", item, delta=call.arguments
        )

    def close(self, finish: str, counts: Counts) -> bytes:
        """See `Form.close`.

        A response that was cut short is `completed` with the status `incomplete`, as
        vLLM's are: `response.incomplete` makes openai's Python helper raise.
        """
        is_cut = finish in ("length", "content_filter")
        reason = "max_output_tokens" if finish == "length" else finish
        return self._ended(
            "completed",
            status="incomplete" if is_cut else "completed",
            incomplete_details={"reason": reason} if is_cut else None,
            usage=_usage(counts),
        )

    def fail(self, error: str) -> bytes:
        """See `Form.fail`."""
        told = {"code": "server_error", "message": error}
        return self._ended("failed", status="failed", error=told)

    def _ended(self, kind: str, **told: Any) -> bytes:
        out = self._done()
        output = [item.whole() for item in self._items.all]
        response = {**self._response, "output": output, **told}
        return out + self._event(kind, None, response=response)

    def _started(self, kind: str, call: ToolCall | None = None) -> tuple[Item, bytes]:
        out = self._done()
        item = self._items.start(kind, str(self._response.get("id", "")), call)
        out += self._event("output_item.added", item, item=item.begun())
        if item.part_event:
            out += self._event(
                f"{item.part_event}.added",
                item,
                content_index=item.part_index,
                part=item.part(""),
            )
        return item, out

    def _done(self) -> bytes:
        """Close what is open."""
        self._items.open = None
        return b"".join(map(self._item_done, self._items.unended()))

    def _item_done(self, item: Item) -> bytes:
        """Close an item: its text, its part, itself."""
        item.is_closed, out = True, b""
        text = item.texts[-1]
        if item.kind == "function_call":
            name = {"name": item.call.get("name"), "arguments": text}
            out = self._event("function_call_arguments.done", item, **name)
        elif item.is_part_open:
            at = {item.index_name: item.part_index}
            more: dict[str, Any] = {"logprobs": []} if item.kind == "message" else {}
            out = self._event(f"{item.text_event}.done", item, text=text, **at, **more)
            if item.part_event:
                part = item.part(text)
                out += self._event(f"{item.part_event}.done", item, part=part, **at)
        return out + self._event("output_item.done", item, item=item.whole())

    def _event(self, kind: str, item: Item | None, /, **data: Any) -> bytes:
        if self._last:
            last, self._last = read_chunk(self._last) or {}, b""
            self._number = last.get("sequence_number", self._number)
        if item is not None:
            if "item" not in data:
                data["item_id"] = item.id
            if self._items.are_numbered:
                data["output_index"] = item.index
        if isinstance(self._number, int):
            self._number += 1
            data["sequence_number"] = self._number
        return named(f"response.{kind}", **data)


def _usage(counts: Counts) -> dict[str, Any]:
    prompt, output = counts.prompt or 0, counts.completion or 0
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": counts.cached or 0},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": counts.reasoning or 0},
        "total_tokens": prompt + output,
    }
