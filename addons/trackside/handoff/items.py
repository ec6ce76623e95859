"""The output items of a response, as far as its stream has told them."""

from __future__ import annotations

from typing import Any

from trackside.wire.pieces import Reasoning, ToolCall
from trackside.wire.stream import Message

_DELTAS = (  # the many; what they say is what their pieces say
    b"event: response.reasoning_text.delta",
    b"event: response.reasoning_summary_text.delta",
)
_PARTS = ("content_part", "reasoning_part", "reasoning_summary_part")
_TEXTS = {"reasoning_text", "reasoning_summary_text", "output_text"}
_PREFIXES = {"reasoning": "rs_", "message": "msg_", "function_call": "fc_"}


class Item:
    """One output item: reasoning, a message, a function call or what else there is."""

    def __init__(self, told: dict[str, Any], index: int) -> None:
        self._told = told  # as the engine began it, or ended it
        self.index = index
        self.id = str(told.get("id", ""))
        self.kind = str(told.get("type", ""))
        self.call = {k: told.get(k) for k in ("call_id", "name")}
        self.texts = [""]  # of its parts, or its arguments
        self.part_event = ""  # what its parts are called in events, "" without any
        self.text_event = "output_text" if self.kind == "message" else "reasoning_text"
        self.is_part_open = False
        self.is_final = False  # told by the engine to its end
        self.is_closed = False  # by us

    @property
    def index_name(self) -> str:
        """What the index of a part is called."""
        summary = self.text_event == "reasoning_summary_text"
        return "summary_index" if summary else "content_index"

    @property
    def part_index(self) -> int:
        """The index of the open part."""
        return len(self.texts) - 1

    def part(self, text: str) -> dict[str, Any]:
        """Return a part with this text."""
        if self.kind == "message":
            return {
                "type": "output_text",
                "text": text,
                "annotations": [],
                "logprobs": [],
            }
        summary = self.text_event == "reasoning_summary_text"
        return {"type": "summary_text" if summary else "reasoning_text", "text": text}

    def begun(self) -> dict[str, Any]:
        """Return the item as it is when it is added."""
        return {**self._told, "status": "in_progress"}

    def whole(self) -> dict[str, Any]:
        """Return the item as it is when it is done."""
        if self.is_final:
            return self._told
        item = {**self._told, "status": "completed"}
        if self.kind == "function_call":
            return {**item, "arguments": self.texts[-1]}
        summary = self.text_event == "reasoning_summary_text"
        parts = [self.part(text) for text in self.texts]
        return {**item, "summary" if summary else "content": parts}


class Items:
    """Follows the items of phase 1, and adds those of phase 2."""

    def __init__(self) -> None:
        self.all: list[Item] = []
        self.open: Item | None = None
        self.are_numbered = False  # events tell `output_index`

    def add_text(self, message: Message) -> bool:
        """Take the text of a delta; False if the message is something else."""
        item = self.open
        if item is None or not item.is_part_open:
            return False
        if not message.raw.startswith(_DELTAS):
            return False
        for piece in message.pieces:
            if isinstance(piece, Reasoning):
                item.texts[-1] += piece.text
        return True

    def follow(self, event: dict[str, Any]) -> None:
        """Take an event that is no plain text."""
        kind = str(event.get("type", "")).removeprefix("response.")
        subject, _, verb = kind.rpartition(".")
        told = event.get("item")
        if subject == "output_item" and isinstance(told, dict):
            self.are_numbered = self.are_numbered or "output_index" in event
            if verb == "added":
                index = event.get("output_index", len(self.all))
                self.open = Item(told, index)
                self.all.append(self.open)
            elif verb == "done":
                self._end(told)
        elif item := self.open:
            if subject in _PARTS:
                self._follow_part(item, subject, verb)
            elif subject in _TEXTS and verb == "delta":
                # llama.cpp's reasoning has no parts that are announced
                item.text_event, item.is_part_open = subject, True
                item.texts[-1] += str(event.get("delta", ""))

    def unended(self) -> list[Item]:
        """Return the items that are still to be closed, in their order."""
        return [item for item in self.all if not (item.is_final or item.is_closed)]

    def start(self, kind: str, response_id: str, call: ToolCall | None) -> Item:
        """Add an item of phase 2 and return it."""
        index = self.all[-1].index + 1 if self.all else 0
        name = f"{_PREFIXES[kind]}{response_id.removeprefix('resp_')}_{index}"
        told: dict[str, Any] = {"id": name, "type": kind}
        if kind == "message":
            told |= {"role": "assistant", "content": []}
        elif kind == "reasoning":
            told |= {"summary": [], "content": []}
        elif call:
            told |= {"call_id": call.id or f"call_{index}", "name": call.name or ""}
            told["arguments"] = ""
        item = Item(told, index)
        item.is_part_open = kind != "function_call"
        item.part_event = "content_part" if kind == "message" else ""
        self.all.append(item)
        self.open = item
        return item

    def _end(self, told: dict[str, Any]) -> None:
        """Replace an item by its final form; llama.cpp ends one inside the next."""
        for at, item in enumerate(self.all):
            if item.id == told.get("id"):
                self.all[at] = Item(told, item.index)
                self.all[at].is_final = True
                if item is self.open:
                    self.open = None

    @staticmethod
    def _follow_part(item: Item, subject: str, verb: str) -> None:
        if verb == "added":
            if item.part_event:
                item.texts.append("")
            item.part_event, item.is_part_open = subject, True
            if subject == "reasoning_summary_part":
                item.text_event = "reasoning_summary_text"
        elif verb == "done":
            item.is_part_open = False
