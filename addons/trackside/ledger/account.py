"""What one response shows while it runs: first token, gaps, stage, counts, end."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from trackside.ledger.spread import Spread
from trackside.wire.pieces import (
    Content,
    End,
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


BURST_S = 0.02


class Counts(msgspec.Struct, frozen=True):
    """Tokens of a turn. None: not told; 0: told to be zero."""

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None


class Account:
    """Follows one response, in bounded memory. O(pieces) a call.

    Example:
        >>> account = Account()
        >>> account.see([Start("1", "m", 0)], 1.0)
        >>> account.see([Reasoning("Hm", "reasoning")], 1.5)
        >>> account.first_token_s, account.stage
        (1.5, 'reasoning')
    """

    def __init__(self) -> None:
        self.stage: Stage = "before_first_token"
        self.first_token_s: float | None = None
        """When the first non-empty reasoning, content or tool-call piece came."""
        self.last_token_s: float | None = None
        self.ended_s: float | None = None
        """When the terminator came."""
        self.model: str | None = None
        self.finish_reason: str | None = None
        self.failure: str | None = None
        """Code of an error that the engine put into the stream, or "error"."""
        self.counts = Counts()
        self.timings: dict[str, float] | None = None
        self.gaps = Spread()

    def see(self, pieces: Iterable[Piece], at_s: float) -> None:
        """Take pieces that came at `at_s`, in seconds of any steady clock."""
        has_tokens = False
        for piece in pieces:
            match piece:
                case Reasoning():
                    self._enter("reasoning")
                    has_tokens = True
                case Content():
                    self._enter("content")
                    has_tokens = True
                case ToolCall():
                    self._enter("tool_call")
                    has_tokens = True
                case Usage():
                    self._count(piece)
                case Finish():
                    self.finish_reason = self.finish_reason or piece.reason
                    self.stage = "complete"
                case Failure():
                    self.failure = str(piece.code or "error")
                case Start():
                    self.model = self.model or piece.model or None
                case TokenIds():
                    pass
                case End():
                    self.ended_s = at_s
        if has_tokens:
            if self.last_token_s is None:
                self.first_token_s = at_s
            else:
                self.gaps.add(at_s - self.last_token_s)
            self.last_token_s = at_s

    def _enter(self, stage: Stage) -> None:
        if self.stage != "complete":
            self.stage = stage

    def _count(self, usage: Usage) -> None:
        self.timings = usage.timings or self.timings
        if not usage.final and self.stage == "before_first_token":
            return  # progress of the prefill: the prompt is not all counted yet
        old = self.counts
        self.counts = Counts(
            old.prompt if usage.prompt is None else usage.prompt,
            old.completion if usage.completion is None else usage.completion,
            old.reasoning if usage.reasoning is None else usage.reasoning,
            old.cached if usage.cached is None else usage.cached,
        )

    def tokens_per_s(self) -> float | None:
        """Return the output's speed behind the first token; None if not known.

        A burst tells nothing of it: its tokens had waited somewhere.
        """
        completion, first, last = (
            self.counts.completion,
            self.first_token_s,
            self.last_token_s,
        )
        if not completion or first is None or last is None:
            return None
        if last - first < BURST_S:
            return None
        return (completion - 1) / (last - first)
