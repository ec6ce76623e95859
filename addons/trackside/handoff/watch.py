"""Reads one response as it comes and decides when to act: the guard's judgement."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from trackside.handoff.usage import Counts
from trackside.loops.finding import Finding
from trackside.loops.monitor import Monitor
from trackside.loops.tokens import Counter, count
from trackside.wire.pieces import (
    Content,
    Failure,
    Finish,
    Piece,
    Reasoning,
    Start,
    TokenIds,
    ToolCall,
    Usage,
)

type Stage = Literal[
    "before_first_token", "reasoning", "content", "tool_call", "complete"
]

# Some models call tools from inside the reasoning: what follows is not thinking.
_TOOL_OPENER = re.compile(
    r"<(?:\w+:)?tool_call|<\|tool_call|<function[=_]|\[TOOL_CALLS\]|<｜tool▁call"
    r"|<｜DSML｜|<\|python_tag\|>|to=functions\."
)
_OPENER_CHARS = 32  # no opener is longer


class Trip(msgspec.Struct, frozen=True):
    """The decision to act, and on what."""

    reason: str  # the detector's name, or "budget"
    channel: Literal["reasoning", "content"]
    finding: Finding | None  # None for a budget
    reasoning_tokens: int
    tokens_source: Literal["engine", "tiktoken"]


class Watch:
    """Follows one response; returns each trip once.

    Parameters:
        reasoning: the monitor for reasoning text, None to leave it alone.
        content: the monitor for answer text, None to leave it alone.
        limit_tokens: reasoning tokens after which to trip, None for no limit.
        has_tools: the request offers tools, so a tool-call opener is to be feared.
        tokens_per_char: count by this instead, as an engine did when the response
            was live; what a capture tells about a stream whose counts were hidden.
    """

    def __init__(
        self,
        *,
        reasoning: Monitor | None,
        content: Monitor | None = None,
        limit_tokens: int | None = None,
        has_tools: bool = False,
        tokens_per_char: float | None = None,
    ) -> None:
        self.stage: Stage = "before_first_token"
        self.start: Start | None = None
        self.counts = Counts()
        self.timings: dict[str, float] | None = None
        self.swallowed = False  # more was generated at first than came through
        self.inline = False
        self.may_act = True
        self.finish_reason: str | None = None
        self._reasoning, self._content = reasoning, content
        self._limit_tokens = limit_tokens
        self._has_tools = has_tools
        self._tokens_per_char = tokens_per_char
        self._texts: list[str] = []
        self._chars = 0
        self._tail = ""
        self._counter = Counter()
        self._engine_tokens: int | None = None
        self._id_tokens = 0

    @property
    def reasoning(self) -> str:
        """The reasoning so far."""
        return "".join(self._texts)

    @property
    def reasoning_chars(self) -> int:
        """Length of the reasoning so far."""
        return self._chars

    @property
    def evidence(self) -> list[dict[str, Any]]:
        """What raised suspicion in the reasoning, as plain values."""
        found = self._reasoning.evidence if self._reasoning else []
        return [
            {"detector": f.detector, "start_char": f.start, "copies": f.copies}
            for f in found
        ]

    @property
    def reasoning_tokens(self) -> int:
        """Tokens of reasoning so far, by the best source there is."""
        if self._engine_tokens is not None:
            return self._engine_tokens
        if self._tokens_per_char is not None:
            return round(self._chars * self._tokens_per_char)
        return self._counter.tokens

    @property
    def tokens_source(self) -> Literal["engine", "tiktoken"]:
        """Who counted `reasoning_tokens`."""
        told = self._engine_tokens is not None or self._tokens_per_char is not None
        return "engine" if told else "tiktoken"

    def read(self, pieces: Iterable[Piece]) -> Trip | None:
        """Take the pieces of one message; return a trip if they cause one."""
        trip: Trip | None = None
        spoke = False
        for piece in pieces:
            match piece:
                case Reasoning(choice=0):
                    spoke = True
                    trip = self._read_reasoning(piece) or trip
                case Content(choice=0):
                    trip = self._read_content(piece) or trip
                case Reasoning() | Content():
                    self.may_act = False  # aborting would end all choices
                case ToolCall():
                    self.stage, self.may_act = "tool_call", False
                case Usage():
                    self._read_usage(piece)
                case TokenIds():
                    self._id_tokens += piece.count
                    if self.stage in ("before_first_token", "reasoning"):
                        self._engine_tokens = self._id_tokens
                case Finish():
                    self.finish_reason = self.finish_reason or piece.reason
                    self.stage, self.may_act = "complete", False
                case Failure():
                    self.may_act = False
                case Start():
                    self.start = self.start or piece
        if spoke and trip is None:
            trip = self._check_limit()
        return trip if self.may_act else None

    def _read_reasoning(self, piece: Reasoning) -> Trip | None:
        if self.stage not in ("before_first_token", "reasoning"):
            self.may_act = False  # reasoning after an answer: not ours to judge
            return None
        self.stage = "reasoning"
        self.inline = piece.source == "inline"
        self._texts.append(piece.text)
        self._chars += len(piece.text)
        if self._engine_tokens is None and self._tokens_per_char is None:
            self._counter.add(piece.text)
        if self._has_tools:
            seen = self._tail + piece.text
            self._tail = seen[-_OPENER_CHARS:]
            if _TOOL_OPENER.search(seen):
                self.may_act = False
        if self._reasoning is None:
            return None
        finding = self._reasoning.update(piece.text)
        return self._trip("reasoning", finding) if finding else None

    def _read_content(self, piece: Content) -> Trip | None:
        opens = self.stage != "before_first_token" or not piece.text.isspace()
        if opens and self.stage != "complete":  # white space alone is no answer yet
            self.stage = "content"
        if self._content is None:
            return None
        finding = self._content.update(piece.text)
        return self._trip("content", finding) if finding else None

    def _read_usage(self, usage: Usage) -> None:
        self.timings = usage.timings or self.timings
        self.counts = self.counts.updated(usage)
        if usage.completion and self.stage == "reasoning":
            if self._engine_tokens is None and not self._texts[0][0].isspace():
                self.swallowed = usage.completion > count(self.reasoning)
            self._engine_tokens = usage.completion

    def _check_limit(self) -> Trip | None:
        limit = self._limit_tokens
        if limit is None or self.reasoning_tokens < limit:
            return None
        self._limit_tokens = None
        return self._trip("reasoning", None)

    def _trip(
        self, channel: Literal["reasoning", "content"], finding: Finding | None
    ) -> Trip:
        return Trip(
            finding.detector if finding else "budget",
            channel,
            finding,
            self.reasoning_tokens,
            self.tokens_source,
        )


SHORT_CHARS = 80
"""Kept reasoning below this says too little to answer from."""


def kept_reasoning(text: str, finding: Finding | None, *, trim: bool) -> str:
    """Return the reasoning to hand on: up to the loop, never nothing.

    A loop that began at once leaves nothing before it: then its first copy is kept.

    Example:
        >>> text = "We need a name. " + "So it is Bob. " * 9
        >>> kept_reasoning(text, Finding("cycles", 16, 142, 9, 30), trim=True)
        'We need a name. So it is Bob.'
    """
    if trim and finding:
        before = text[: finding.start].rstrip()
        text = before if len(before) >= SHORT_CHARS else text[: finding.second]
    return text.rstrip()
