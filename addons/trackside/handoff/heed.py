"""Whether the engine did as phase 2's request told it, seen from how it begins."""

from collections.abc import Iterable

from trackside.handoff.strategy import Call
from trackside.wire.pieces import Content, Piece, Reasoning, ToolCall, Usage


class Heed:
    """Reads an answer up to its first word.

    Example:
        >>> heed = Heed(Call("/v1/chat/completions", b"{}", may_reason=False))
        >>> heed.fault([Reasoning("Hm", "reasoning")], others=False)
        'the engine thinks again'
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self._begun = False

    def fault(self, pieces: Iterable[Piece], *, others: bool) -> str | None:
        """Return why this is not the answer that was asked for, or None.

        Parameters:
            others: there are other ways to try. An answer without the reasoning is
                better than none.
        """
        for piece in pieces:
            if self._begun:
                break
            match piece:
                case Content() | ToolCall():
                    self._begun = True
                case Reasoning() if not self._call.may_reason and piece.text.strip():
                    return "the engine thinks again"
                case Usage(prompt=int(tokens)) if others:
                    least = self._call.least_prompt_tokens
                    if tokens < least:
                        return f"prompt of {tokens} tokens, not {least} or more: its \
reasoning was dropped"
        return None
