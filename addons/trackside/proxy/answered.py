"""What a diff needs of the response to a request: its id, its kind, how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mitmproxy import http

from trackside.proxy.arrivals import Ending
from trackside.proxy.reading import pieces_of
from trackside.wire.pieces import (
    Content,
    End,
    Failure,
    Finish,
    Piece,
    Reasoning,
    Start,
    ToolCall,
    Usage,
)
from trackside.wire.stream import Message


class Answered:
    """Observes a response (see `tap.Observer`). O(pieces).

    Parameters:
        told: called with the response's id as soon as it is known: a request that
            goes on from it may come before mitmproxy says that the flow is over.
    """

    def __init__(self, told: Callable[[str], None] = lambda _: None) -> None:
        self.response_id = ""
        self.prompt_tokens: int | None = None
        self.has_tokens = False
        self.has_reasoned = False
        self.is_over = False
        self._told = told

    def see(self, messages: Sequence[Message], at_s: float) -> None:
        """See `tap.Observer`."""
        for message in messages:
            self.read(message.pieces)

    def read(self, pieces: Iterable[Piece]) -> None:
        """Take pieces in the order in which they came."""
        for piece in pieces:
            match piece:
                case Start():
                    self.response_id = piece.id
                    self._told(piece.id)
                case Reasoning():
                    self.has_tokens = self.has_reasoned = True
                case Content() | ToolCall():
                    self.has_tokens = True
                case Usage(final=True, prompt=int(count)):
                    self.prompt_tokens = count
                case Finish() | Failure() | End():
                    self.is_over = True


def read_answer(flow: http.HTTPFlow, dialect: str) -> Answered | None:
    """Return what a response says that is all there; None if none of it is."""
    content = flow.response and flow.response.get_content(strict=False)
    if not flow.response or not content:
        return None
    answer = Answered()
    answer.read(pieces_of(dialect, flow.response, content))
    return answer


def ending_of(flow: http.HTTPFlow, now_s: float, answer: Answered | None) -> Ending:
    """Return how a flow's turn ended.

    Parameters:
        now_s: Unix time, for a flow that does not tell its own end.
        answer: what its response said; None if that was not seen.
    """
    response = flow.response
    turn = flow.metadata.get("trackside.turn") or {}
    is_silent = (turn.get("end") or {}).get("stage") == "before_first_token"
    reasoned = prompt_tokens = None
    if answer:
        is_silent = not (answer.has_tokens or answer.is_over)
        reasoned = None if is_silent else answer.has_reasoned
        prompt_tokens = answer.prompt_tokens
    counted = (flow.metadata.get("trackside.guard") or {}).get("reasoning_tokens")
    if not reasoned and counted is not None:
        reasoned = counted > 0  # also of a phase that the client did not see
    if prompt_tokens is None:  # hidden from the client, as in a capture of the suite
        prompt_tokens = (turn.get("usage") or {}).get("prompt")
    return Ending(
        ended_s=(response.timestamp_end if response else None) or now_s,
        # Most clients end a turn by closing: an error behind a response tells little.
        has_failed=response is None or response.status_code >= 400,
        is_abandoned=flow.error is not None
        and "client" in flow.error.msg.lower()
        and (response is None or is_silent),
        has_reasoned=reasoned,
        prompt_tokens=prompt_tokens,
        response_id=answer.response_id if answer else "",
    )
