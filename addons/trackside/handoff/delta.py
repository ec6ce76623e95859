"""What one event of phase 2 adds to the answer, freed of what was said before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from trackside.wire import sse
from trackside.wire.errors import WireError
from trackside.wire.pieces import Piece, Reasoning
from trackside.wire.respell import decode_leniently

ECHO_CHARS = 8
"""Shorter kept reasoning may well be how an answer starts."""

_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
_decode = msgspec.json.Decoder().decode


def read_chunk(raw: bytes) -> dict[str, Any] | None:
    """Return the JSON object that the bytes of one event carry, None without one."""
    decoder = sse.Decoder()
    for event in (*decoder.feed(raw), *decoder.flush()):
        if event.data is not None:
            try:
                value = decode_leniently(_decode, event.data)
            except (WireError, msgspec.DecodeError):
                return None
            return value if isinstance(value, dict) else None
    return None


def take_choice(chunk: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a chunk says of the first choice, as a choice of a chat chunk.

    A text completion's text becomes content; the role is left out, as phase 1 said it.
    """
    choices = chunk.get("choices")
    for position, choice in enumerate(choices if isinstance(choices, list) else ()):
        if not isinstance(choice, dict):
            continue
        index = choice.get("index")
        if (index if type(index) is int else position) != 0:
            continue
        delta = choice.get("delta")
        delta = dict(delta) if isinstance(delta, dict) else {}
        delta.pop("role", None)
        text = choice.get("text")
        if "delta" not in choice and isinstance(text, str):
            return {
                "index": 0,
                "delta": {"content": text},
                "finish_reason": choice.get("finish_reason"),
            }
        return {**choice, "index": 0, "delta": delta}
    return None


def says(choice: dict[str, Any]) -> bool:
    """Tell whether a choice holds anything that a client could miss."""
    told = (*choice["delta"].values(), choice.get("token_ids"), choice.get("logprobs"))
    return any(told)


def relabel(delta: dict[str, Any], pieces: Sequence[Piece]) -> None:
    """Move the reasoning of a delta into its content, in front of what is there."""
    texts = [
        piece.text
        for piece in pieces
        if isinstance(piece, Reasoning)
        and piece.source != "inline"
        and not piece.choice
    ]
    if texts:
        for key in _REASONING:
            delta.pop(key, None)
        content = delta.get("content")
        delta["content"] = "".join(texts) + (
            content if isinstance(content, str) else ""
        )


def drop_echo(delta: dict[str, Any], kept: str) -> None:
    """Take an echo of the prefill out of a delta: the reasoning and its tags.

    llama.cpp sends the whole prefill as one delta, in content or as reasoning.
    """
    for key in (*_REASONING[:2], "content"):
        text = delta.get(key)
        if isinstance(text, str) and (rest := without_echo(text, kept)) != text:
            delta[key] = rest
            delta.pop("reasoning_details", None)  # says the same once more


def without_echo(text: str, kept: str) -> str:
    r"""Return the first text of phase 2 without the prefill, if that is echoed.

    Example:
        >>> without_echo("<think>\nIt is blue.\n</think>\n\nBlue", "It is blue.")
        'Blue'
        >>> without_echo("Blue", "It is blue.")
        'Blue'
    """
    kept = kept.strip()
    if len(kept) < ECHO_CHARS or kept not in text:
        return text
    rest = text.partition(kept)[2]
    rest = rest.partition("</think>")[2] if "</think>" in rest else rest
    return rest.lstrip("\n")
