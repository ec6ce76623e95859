"""The output items of an OpenAI response, told in parts, whole, or both."""

from collections.abc import Iterable
from typing import Any

from trackside.wire.leaves import list_of, object_of, text_of
from trackside.wire.pieces import Content, Piece, Reasoning, ToolCall
from trackside.wire.tagged import TaggedText

type Keys = tuple[Any, ...]
"""What an event names its item by: `output_index`, `item_id`; either may be missing
(llama.cpp) or wrong (older vLLM), so an item is known by each."""

_CALLS = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
        "computer_call",
    }
)
"""Calls that wait for the client. Others, like `web_search_call`, the engine runs."""


class _Call:
    def __init__(self, index: int) -> None:
        self.index = index
        self.has_arguments = False


class Output:
    """Reads the items of one response; tells nothing twice. O(text) a call."""

    def __init__(self) -> None:
        self.has_told = False
        """Anything was told so far."""
        self._text = TaggedText()
        self._told: set[int | str] = set()
        self._calls: dict[int | str, _Call] = {}
        self._last_call: _Call | None = None

    def add_reasoning(self, keys: Keys, reasoning: Reasoning) -> list[Piece]:
        """Return a part of a reasoning item."""
        self._tell(keys)
        return [*self._text.release(), reasoning]

    def add_text(self, keys: Keys, text: str) -> list[Piece]:
        """Return a part of a message."""
        self._tell(keys)
        return self._text.feed(text)

    def add_arguments(self, keys: Keys, text: str) -> list[Piece]:
        """Return a part of a call's arguments."""
        self._tell(keys)
        call = self._find_call(keys) or self._last_call or self._open_call(keys)
        call.has_arguments = True
        return [*self._text.release(), ToolCall(call.index, None, None, text)]

    def open_item(self, index: Any, item: dict[str, Any]) -> list[Piece]:
        """Return what an item says that has just begun."""
        if item.get("type") not in _CALLS:
            return []
        keys = (index, item.get("id"), item.get("call_id"))
        self._tell(())
        call, arguments = self._open_call(keys), _arguments(item)
        call.has_arguments = bool(arguments)
        return [*self._text.release(), _tool_call(call, item, arguments)]

    def close_item(self, index: Any, item: dict[str, Any]) -> list[Piece]:
        """Return what a whole item says that its parts did not."""
        keys = (index, item.get("id"), item.get("call_id"))
        if item.get("type") in _CALLS:
            call = self._find_call(keys)
            if call is None:
                return self.open_item(index, item)
            arguments = _arguments(item)
            if call.has_arguments or not arguments:
                return []
            return self.add_arguments(keys, arguments)
        if any(key in self._told for key in _names(keys)):
            return []
        found: list[Piece] = []
        for piece in _whole(item):
            self._tell(keys)
            if isinstance(piece, Content):
                found += self._text.feed(piece.text)
            else:
                found += (*self._text.release(), piece)
        return found

    def release(self) -> list[Piece]:
        """Return the text held back: nothing more will come."""
        return self._text.release()

    def _tell(self, keys: Keys) -> None:
        self.has_told = True
        self._told.update(_names(keys))

    def _open_call(self, keys: Keys) -> _Call:
        call = self._last_call = _Call(
            self._last_call.index + 1 if self._last_call else 0
        )
        self._calls.update((key, call) for key in _names(keys))
        return call

    def _find_call(self, keys: Keys) -> _Call | None:
        found = (self._calls[key] for key in _names(keys) if key in self._calls)
        return next(found, None)


def _names(keys: Keys) -> Iterable[int | str]:
    return [key for key in keys if type(key) is int or (key and type(key) is str)]


def _whole(item: dict[str, Any]) -> Iterable[Piece]:
    if item.get("type") == "reasoning":
        summary = list(_texts(item.get("summary"), "text"))
        yield from (Reasoning(text, "reasoning_summary") for text in summary)
        content = list(_texts(item.get("content"), "text"))
        if content != summary:
            yield from (Reasoning(text, "reasoning_text") for text in content)
    elif item.get("type") == "message":
        answer = _texts(item.get("content"), "text", "refusal")
        yield from (Content(text) for text in answer)


def _texts(parts: Any, *names: str) -> Iterable[str]:
    for part in list_of(parts):
        texts = (text_of(object_of(part).get(name)) for name in names)
        yield from filter(None, texts)


def _tool_call(call: _Call, item: dict[str, Any], arguments: str) -> ToolCall:
    return ToolCall(
        index=call.index,
        id=text_of(item.get("call_id") or item.get("id")) or None,
        name=text_of(item.get("name") or item.get("type")) or None,
        arguments=arguments,
    )


def _arguments(item: dict[str, Any]) -> str:
    return text_of(item.get("arguments") or item.get("input"))
