"""What the guard asks of an engine on top of the client's request, and hides again."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from trackside.handoff import in_place
from trackside.handoff.strategy import Engine
from trackside.wire.chat import Message
from trackside.wire.edit import add_members, cut_member, merge_members
from trackside.wire.pieces import Finish, Usage
from trackside.wire.request import ChatRequest

type Edit = Callable[[Message], bytes]


class Asked(msgspec.Struct, frozen=True):
    """A request body with the guard's wishes, and how to hide what they bring."""

    body: bytes
    hide: Edit | None  # None: forward the engine's bytes as they are
    armed: bool = False  # the engine can be told to end the reasoning in place


def ask(
    body: bytes, request: ChatRequest, engine: Engine | None, closing: str | None
) -> Asked:
    """Ask for token counts while the stream runs, if the engine tells them.

    Parameters:
        engine: None if it is not known: then nothing is asked.
        closing: last words of reasoning that is ended in place; None to not arm it.
    """
    if engine == "llama.cpp":
        armed = closing is not None and b'"reasoning_control"' not in body
        if armed and closing is not None:
            body = add_members(body, in_place.arming(closing))
        if b'"timings_per_token"' in body:
            return Asked(body, None, armed)
        body = add_members(body, {"timings_per_token": True})
        return Asked(body, _hide_timings(request.include_usage), armed)
    if engine in ("vllm", "sglang") and not request.continuous_usage:
        wishes = {"include_usage": True, "continuous_usage_stats": True}
        body = merge_members(body, "stream_options", wishes)
        return Asked(body, _hide_usage(request.include_usage))
    return Asked(body, None)


def _hide_timings(in_usage: bool) -> Edit:
    """llama.cpp always tells timings once: with the usage, or else with the finish."""

    def edit(message: Message) -> bytes:
        for piece in message.pieces:
            if isinstance(piece, Usage) and piece.final and in_usage:
                return message.raw
            if isinstance(piece, Finish) and not in_usage:
                return message.raw
        return cut_member(message.raw, "timings")

    return edit


def _hide_usage(wants_final: bool) -> Edit:
    """Leave the usage that ends the stream to a client that asked for it."""

    def edit(message: Message) -> bytes:
        for piece in message.pieces:
            if isinstance(piece, Usage) and piece.final:
                return message.raw if wants_final else b""
        return cut_member(message.raw, "usage")

    return edit
