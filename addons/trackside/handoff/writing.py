"""Phase 2's pieces, told in the client's dialect as the rest of phase 1's response."""

from __future__ import annotations

from typing import Protocol

import msgspec

from trackside.handoff.delta import without_echo
from trackside.handoff.phases import Phase1
from trackside.handoff.usage import Counts, merge
from trackside.loops.tokens import Counter
from trackside.wire.pieces import (
    Content,
    End,
    Failure,
    Finish,
    Reasoning,
    ToolCall,
    Usage,
)
from trackside.wire.stream import Message


class Form(Protocol):
    """How one dialect goes on with a response that was followed from its start."""

    def follow(self, message: Message) -> None:
        """Take note of a message that the client gets in phase 1."""
        ...

    def heard(self, message: Message) -> bytes:
        """Take note of a message of phase 2, for what phase 1 left open.

        Return what the client gets of it as it is: an event that nobody knows, if
        both phases speak the client's dialect.
        """
        ...

    def text(self, text: str) -> bytes:
        """Go on with answer text; what else is open is closed first."""
        ...

    def reasoning(self, text: str) -> bytes:
        """Go on with reasoning."""
        ...

    def tool(self, call: ToolCall) -> bytes:
        """Go on with a part of a tool call."""
        ...

    def close(self, finish: str, counts: Counts) -> bytes:
        """End the response: what is open, the finish (in chat's words), the usage."""
        ...

    def fail(self, error: str) -> bytes:
        """End the response as one that failed, so that no client takes it for whole."""
        ...


class Writing:
    """Turns phase 2's messages into the rest of phase 1's response.

    A prefill that is echoed is dropped, answer text that an old parser calls
    reasoning becomes content. See `rewrite.Rewriter`, which does it for chat.

    Parameters:
        form: has followed all of phase 1.
    """

    def __init__(self, phase1: Phase1, form: Form) -> None:
        self._phase1, self._form = phase1, form
        self._owed = phase1.closes_inline
        self._relabels = not phase1.trusts_labels
        self._calls = self._closed = False
        self._counter = Counter()
        self.counts = Counts()
        self.said = False
        self.error: str | None = None
        self.finish_reason: str | None = None

    @property
    def refused(self) -> bool:
        """The engine answered with nothing but an error: another way may work."""
        return self.error is not None and not self.said

    @property
    def phase1(self) -> Counts:
        """Phase 1's counts, completed by what phase 2 tells."""
        return self._phase1.counted(self.counts)

    @property
    def merged(self) -> Counts:
        """The counts of both phases; what phase 2 did not live to tell is counted."""
        counts = self.counts
        if counts.completion is None:
            counts = msgspec.structs.replace(counts, completion=self._counter.tokens)
        return merge(self.phase1, counts)

    def edit(self, message: Message) -> bytes:
        """Return the bytes that stand for one message of phase 2."""
        foreign = self._form.heard(message)
        if self._closed or self.error is not None:
            return b""
        out = bytearray(foreign)
        for piece in message.pieces:
            if self._closed or self.error is not None:
                break
            match piece:
                case Content():
                    self._relabels = False
                    out += self._say(piece.text)
                case Reasoning():
                    out += self._say(piece.text, is_content=self._relabels)
                case ToolCall():
                    self.said = self._calls = True
                    out += self._opening() + self._form.tool(piece)
                case Usage():
                    self.counts = self.counts.updated(piece)
                case Finish():
                    self.finish_reason = self.finish_reason or piece.reason
                case Failure():
                    self.error = piece.message
                case End():
                    out += self._close()
        return bytes(out)

    def _say(self, text: str, *, is_content: bool = True) -> bytes:
        if not self.said:
            text = without_echo(text, self._phase1.kept)
        if not text:
            return b""
        self.said = True
        self._counter.add(text)
        if is_content:
            return self._opening() + self._form.text(text)
        # Where the tags stand in the text, the block is still open.
        return self._form.text(text) if self._owed else self._form.reasoning(text)

    def _opening(self) -> bytes:
        """Return the closing tag that the client is still owed, once."""
        owed, self._owed = self._owed, ""
        return self._form.text(owed) if owed else b""

    def end(self, error: str | None = None) -> bytes:
        """Return what the client's response lacks."""
        self.error = self.error or error
        return b"" if self._closed else self._close()

    def _close(self) -> bytes:
        self._closed = True
        if self.finish_reason is None and self._calls:
            return self._form.fail(self.error or "the engine broke off a tool call")
        # The turn was cut short: "length" is what every client knows as that.
        self.finish_reason = self.finish_reason or "length"
        counts = self.merged if self._phase1.wants_usage else Counts()
        return self._opening() + self._form.close(self.finish_reason, counts)
