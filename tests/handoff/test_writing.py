"""Phase 2's pieces as a client's own: labels, echoes, counts, how it may end."""

from __future__ import annotations

from typing import Any

import pytest

from trackside.handoff.phases import Phase1
from trackside.handoff.usage import Counts
from trackside.handoff.write_text import Text
from trackside.handoff.writing import Writing
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

KEPT = "So it is Bob.\n\nEnough."
TOLD = Usage(40, 3, None, 30, None, final=True)


class Noted(Text):
    """A form that notes what it is told to say."""

    def text(self, text: str) -> bytes:
        return f"[{text}]".encode()

    def reasoning(self, text: str) -> bytes:
        return f"({text})".encode()

    def tool(self, call: ToolCall) -> bytes:
        return f"{call.name}".encode()

    def close(self, finish: str, counts: Counts) -> bytes:
        return f" {finish} {counts.prompt} {counts.completion}".encode()

    def fail(self, error: str) -> bytes:
        return f" failed: {error}".encode()


def writing(**more: Any) -> Writing:
    known = {
        "start": Start("", "", 0),
        "kept": KEPT,
        "kept_tokens": 12,
        "counts": Counts(completion=300),
        "wants_usage": True,
    }
    return Writing(Phase1(**{**known, **more}), Noted())


def told(writer: Writing, *pieces: Piece) -> str:
    """Return what a client gets for these pieces, each a message of its own."""
    out = b"".join(writer.edit(Message(b"x", (piece,))) for piece in pieces)
    return (out + writer.end()).decode()


CALL = ToolCall(0, "c", "look", "{}")
RESULT = (TOLD, Finish("stop"), End())


@pytest.mark.parametrize(
    ("pieces", "more", "client"),
    [
        pytest.param([Content("Bob"), *RESULT], {}, "[Bob] stop 28 303", id="answer"),
        pytest.param(
            [Reasoning("Bob", "reasoning"), *RESULT],
            {"trusts_labels": False},
            "[Bob] stop 28 303",
            id="an old parser's label",
        ),
        pytest.param(
            [Reasoning("Hm", "reasoning"), Content("Bob"), *RESULT],
            {},
            "(Hm)[Bob] stop 28 303",
            id="a label that is trusted",
        ),
        pytest.param(
            [Content("A"), Reasoning("Hm", "reasoning"), *RESULT],
            {"trusts_labels": False},
            "[A](Hm) stop 28 303",
            id="reasoning behind an answer",
        ),
        pytest.param(
            [Content(f"<think>\n{KEPT}\n</think>\n\nBob"), *RESULT],
            {},
            "[Bob] stop 28 303",
            id="echo",
        ),
        pytest.param(
            [Content("Bob"), *RESULT],
            {"closes_inline": "</t>"},
            "[</t>][Bob] stop 28 303",
            id="a tag that is owed",
        ),
        pytest.param(
            [Reasoning("Hm", "inline"), Content("Bob"), *RESULT],
            {"closes_inline": "</t>"},
            "[Hm][</t>][Bob] stop 28 303",
            id="a block that stays open",
        ),
        pytest.param(
            [Content("Bob"), *RESULT, Content("more"), End()],
            {"wants_usage": False},
            "[Bob] stop None None",
            id="usage that is not wanted",
        ),
        pytest.param([Content("Bob")], {}, "[Bob] length None 301", id="broken off"),
        pytest.param([], {}, " length None 300", id="nothing"),
        pytest.param(
            [Content("Bob"), Failure("gone", None), Content("x")],
            {},
            "[Bob] length None 301",
            id="failed midway",
        ),
        pytest.param(
            [CALL, TOLD, Finish("tool_calls"), End()],
            {},
            "look tool_calls 28 303",
            id="tool call",
        ),
        pytest.param(
            [CALL, Failure("gone", None)], {}, "look failed: gone", id="half a call"
        ),
    ],
)
def test_pieces_are_told(
    pieces: list[Piece], more: dict[str, Any], client: str
) -> None:
    assert told(writing(**more), *pieces) == client


def test_another_way_is_open_until_something_was_said() -> None:
    writer = writing()
    writer.edit(Message(b"", (Failure("gone", None),)))
    assert writer.refused
    writer = writing()
    writer.edit(Message(b"", (Content("Bob"), Failure("gone", None))))
    assert not writer.refused
    assert writer.error == "gone"
