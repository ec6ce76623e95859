"""The content blocks of an Anthropic message, told in parts or whole."""

from typing import Any

import msgspec

from trackside.wire.leaves import text_of
from trackside.wire.pieces import Piece, Reasoning, ToolCall
from trackside.wire.tagged import TaggedText


class Blocks:
    """Reads the blocks of one message. O(length of the text) a call.

    Only `tool_use` is a call: those of other names run in the engine.
    """

    def __init__(self) -> None:
        self._text = TaggedText()
        self._call_of: dict[int, int] = {}  # block index: number of the call
        self._calls = 0
        self._inputs: dict[int, str] = {}  # told when the block began

    def open(self, index: Any, block: dict[str, Any]) -> list[Piece]:
        """Return what a block says that has just begun, or is whole."""
        kind = block.get("type")
        if kind == "thinking":
            return self.add_thinking(block.get("thinking"))
        if kind == "text":
            return self.add_text(block.get("text"))
        if kind != "tool_use" or type(index) is not int:
            return []
        call = self._call_of[index] = self._calls
        self._calls += 1
        if given := block.get("input"):
            self._inputs[index] = msgspec.json.encode(given).decode()
        id_ = text_of(block.get("id")) or None
        name = text_of(block.get("name")) or None
        return [*self._text.release(), ToolCall(call, id_, name, "")]

    def add_thinking(self, text: Any) -> list[Piece]:
        """Return a part of a thinking block."""
        if not text or not isinstance(text, str):
            return []
        return [*self._text.release(), Reasoning(text, "thinking")]

    def add_text(self, text: Any) -> list[Piece]:
        """Return a part of a text block."""
        return self._text.feed(text) if text and isinstance(text, str) else []

    def add_input(self, index: Any, text: Any) -> list[Piece]:
        """Return a part of the input of a call."""
        call = self._call_of.get(index) if type(index) is int else None
        if call is None or not text or not isinstance(text, str):
            return []
        self._inputs.pop(index, None)  # clients replace it with what is streamed
        return [ToolCall(call, None, None, text)]

    def close(self, index: Any) -> list[Piece]:
        """Return what a block said at once that its parts did not."""
        given = self._inputs.pop(index, None) if type(index) is int else None
        return self.add_input(index, given)

    def release(self) -> list[Piece]:
        """Return the text held back: nothing more will come."""
        return self._text.release()
