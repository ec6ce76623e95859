"""What a stream says, one typed item at a time, whatever the dialect."""

from typing import Literal

import msgspec

ReasoningSource = Literal[
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "reasoning_text",
    "reasoning_summary",
    "thinking",
    "inline",
]
KeepaliveKind = Literal["comment", "role", "progress", "keepalive", "empty"]


class Start(msgspec.Struct, frozen=True, gc=False):
    """The first real chunk of a response. Never taken from a keepalive."""

    id: str  # "" if the engine gave none
    model: str  # the engine's name for it, "" if none
    created: int  # Unix seconds, 0 if none


class Reasoning(msgspec.Struct, frozen=True, gc=False):
    """Some reasoning text, never empty."""

    text: str
    source: ReasoningSource  # the field it came in; "inline": between tags in content
    choice: int = 0


class Content(msgspec.Struct, frozen=True, gc=False):
    """Some answer text, never empty."""

    text: str
    choice: int = 0


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """A part of a tool call, or a whole one."""

    index: int  # which call of this choice
    id: str | None  # told once, with the first part
    name: str | None  # told once, with the first part
    arguments: str  # a part of the JSON text, may be ""
    choice: int = 0


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Token counts of the turn so far. None: not told; 0: told to be zero."""

    prompt: int | None  # cached tokens included; mid-prefill: those processed so far
    completion: int | None  # reasoning tokens included
    reasoning: int | None
    cached: int | None  # prompt tokens taken from the engine's cache
    timings: dict[str, float] | None  # under the engine's own names and units
    final: bool  # False: came mid-stream, more will follow


class Finish(msgspec.Struct, frozen=True, gc=False):
    """The end of one choice."""

    reason: str  # stop, length, max_tokens, tool_use, …: as the engine says
    choice: int = 0


class Failure(msgspec.Struct, frozen=True, gc=False):
    """An error that the engine put into the response."""

    message: str
    code: str | int | None  # `code`, or else `type`; None if neither is told


class Keepalive(msgspec.Struct, frozen=True, gc=False):
    """A sign of life that carries no token, so it does not end the wait for one.

    Kinds: `comment` (an SSE comment), `role` (only the role), `progress` (of the
    prefill), `keepalive` (a chunk made up to keep clients waiting), `empty` (a chunk
    in which there is nothing to read).
    """

    kind: KeepaliveKind


class TokenIds(msgspec.Struct, frozen=True, gc=False):
    """Token ids rode on the chunk."""

    count: int  # tokens, at least 1
    choice: int = 0


class End(msgspec.Struct, frozen=True, gc=False):
    """The terminator of the stream."""


Piece = (
    Start
    | Reasoning
    | Content
    | ToolCall
    | Usage
    | Finish
    | Failure
    | Keepalive
    | TokenIds
    | End
)
