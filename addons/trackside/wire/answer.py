"""Chat completion chunks as pieces, with what must be remembered between them."""

from typing import Any

from trackside.wire.chunk import Choice, Chunk, Delta
from trackside.wire.failure import read_failure
from trackside.wire.leaves import instant_of, list_of, object_of, text_of
from trackside.wire.pieces import (
    Finish,
    Keepalive,
    Piece,
    Reasoning,
    Start,
    TokenIds,
    ToolCall,
)
from trackside.wire.tagged import TaggedText
from trackside.wire.usage import read_usage

_ROLE = Keepalive("role")
_PROGRESS = Keepalive("progress")
_MADE_UP = Keepalive("keepalive")
_EMPTY = Keepalive("empty")


class Answer:
    """Reads the chunks of one response. O(length of the chunk) each."""

    def __init__(self) -> None:
        self._started = False
        self._texts: dict[int, TaggedText] = {}

    def read(self, chunk: Chunk, *, whole: bool = False) -> list[Piece]:
        """Return the pieces of `chunk`; `whole` says that it is the whole response."""
        found: list[Piece] = []
        choices = chunk.choices
        if choices is not None:
            is_telling, is_finished = self._read_choices(choices, found, whole)
            if not is_telling and not whole:
                found += _keepalive(chunk, choices)
            if not self._started and found != [_MADE_UP]:
                self._start(chunk, found)
            if usage := read_usage(
                chunk.usage,
                chunk.timings or chunk.metrics or chunk.stats,
                final=whole or is_finished or not choices,
            ):
                found.append(usage)
        if failure := read_failure(chunk, is_answer=choices is not None):
            found.append(failure)
        return found

    def release(self) -> list[Piece]:
        """Return the text held back: nothing more will come."""
        found: list[Piece] = []
        for text in self._texts.values():
            found += text.release()
        return found

    def _start(self, chunk: Chunk, found: list[Piece]) -> None:
        if not chunk.id and not chunk.choices:
            return  # sent ahead of the stream, e.g. the results of a prompt filter
        self._started = True
        start = Start(
            id=text_of(chunk.id),
            model=text_of(chunk.model),
            created=instant_of(chunk.created),
        )
        found.insert(0, start)

    def _read_choices(
        self, choices: list[Choice], found: list[Piece], whole: bool
    ) -> tuple[bool, bool]:
        """Return whether there was more than a sign of life, and whether one ended."""
        is_telling = is_finished = False
        for position, choice in enumerate(choices):
            index = choice.index if type(choice.index) is int else position
            delta = choice.message if whole else choice.delta
            if delta is not None:
                is_telling = self._read_delta(delta, index, found) or is_telling
            elif choice.text and isinstance(choice.text, str):
                found += self._text(index).feed(choice.text)
                is_telling = True
            if isinstance(choice.token_ids, list) and choice.token_ids:
                found.append(TokenIds(len(choice.token_ids), index))
                is_telling = True
            reason = choice.finish_reason
            if reason and isinstance(reason, str):
                found += self._text(index).release()
                found.append(Finish(reason, index))
                is_telling = is_finished = True
        return is_telling, is_finished

    def _read_delta(self, delta: Delta, index: int, found: list[Piece]) -> bool:
        """Return whether anything was told, be it held back for now."""
        is_telling = False
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details:
            is_telling = self._read_reasoning(delta, index, found)
        content = delta.content
        if content and isinstance(content, str):
            is_telling = True
            found += self._text(index).feed(content)
        if delta.tool_calls and isinstance(delta.tool_calls, list):
            is_telling = True
            found += self._text(index).release()
            for position, call in enumerate(delta.tool_calls):
                if isinstance(call, dict):
                    found.append(_tool_call(call, position, index))
        return is_telling

    def _read_reasoning(self, delta: Delta, index: int, found: list[Piece]) -> bool:
        content, plain = delta.reasoning_content, delta.reasoning
        new: list[Piece] = []
        if content and isinstance(content, str):
            new.append(Reasoning(content, "reasoning_content", index))
        # mlx-vlm sends the same text under both names
        if plain and isinstance(plain, str) and plain != content:
            new.append(Reasoning(plain, "reasoning", index))
        # OpenRouter's details repeat the plain field
        if not new and (text := _details_text(delta.reasoning_details)):
            new.append(Reasoning(text, "reasoning_details", index))
        if not new:
            return False
        # An engine that parses reasoning leaves no tags: those in content are content.
        found += self._text(index).release()
        found += new
        return True

    def _text(self, index: int) -> TaggedText:
        text = self._texts.get(index)
        if text is None:
            text = self._texts[index] = TaggedText(index)
        return text


def _keepalive(chunk: Chunk, choices: list[Choice]) -> list[Piece]:
    if chunk.model == "keepalive":  # oMLX; id and created are made up too
        return [_MADE_UP]
    if chunk.prompt_progress:
        return [_PROGRESS]
    if any(choice.delta is not None and choice.delta.role for choice in choices):
        return [_ROLE]
    is_usage = not choices and chunk.usage
    return [] if is_usage or chunk.error else [_EMPTY]


def _details_text(details: Any) -> str:
    return "".join(text_of(object_of(d).get("text")) for d in list_of(details))


def _tool_call(call: dict[str, Any], position: int, choice: int) -> ToolCall:
    function, index = object_of(call.get("function")), call.get("index")
    return ToolCall(
        index=index if type(index) is int else position,
        id=text_of(call.get("id")) or None,
        name=text_of(function.get("name")) or None,
        arguments=text_of(function.get("arguments")),
        choice=choice,
    )
