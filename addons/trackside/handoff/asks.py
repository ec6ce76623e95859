"""What is asked of an engine on top of the client's request, and hidden again.

Source: llama.cpp tools/server (2026-10), vLLM 0.33 chat_completion/serving.py and
completion/serving.py, SGLang 0.5.23 serving_chat.py and serving_completions.py, mlx-lm
0.32.2 server.py, Ollama 0.33 middleware/openai.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from trackside.handoff import in_place
from trackside.handoff.delta import read_chunk
from trackside.handoff.strategy import Engine
from trackside.wire.edit import (
    JSON,
    add_members,
    cut_member,
    merge_members,
    put_behind,
    swap_member,
)
from trackside.wire.pieces import Finish, Usage
from trackside.wire.request import Request
from trackside.wire.stream import Message

type Edit = Callable[[Message], bytes]


class Asked(msgspec.Struct, frozen=True):
    """A request body with our wishes, and how to hide what they bring."""

    body: bytes
    hide: Edit | None  # None: forward the engine's bytes as they are
    armed: bool = False  # the engine can be told to end the reasoning in place


def ask(
    body: bytes, request: Request, engine: Engine | None, closing: str | None
) -> Asked:
    """Ask for token counts while the stream runs, if the engine tells them.

    Parameters:
        engine: None if it is not known: then nothing is asked.
        closing: last words of reasoning that is ended in place; None to not arm it.
    """
    if engine == "llama.cpp":
        armed = closing is not None and b'"reasoning_control"' not in body
        if armed and closing is not None:
            body = add_members(body, _unsaid(in_place.arming(closing), body))
        if b'"timings_per_token"' in body:
            return Asked(body, None, armed)
        body = add_members(body, {"timings_per_token": True})
        return Asked(body, _HideTimings(request.include_usage), armed)
    if engine in ("vllm", "sglang") and not request.continuous_usage:
        wishes = {"include_usage": True, "continuous_usage_stats": True}
        body = merge_members(body, "stream_options", wishes)
        cut = _cut_usage if engine == "vllm" else _null_usage
        hide = _HideUsage if request.include_usage else _HideAllUsage
        return Asked(body, hide(cut))
    return Asked(body, None)


TELLS_UNASKED: tuple[Engine, ...] = ("llama.cpp", "deepseek")
"""Engines whose streams always end with counts; asking would move them elsewhere."""


def ask_usage(body: bytes, request: Request, engine: Engine | None) -> Asked:
    """Ask for the token counts at the end of a stream whose client does not.

    Parameters:
        request: of a chat or a text completion; other dialects tell unasked.
        engine: None if it is not known: it might refuse, so nothing is asked.
    """
    told = request.include_usage or request.continuous_usage or not request.stream
    if told or engine is None or engine in TELLS_UNASKED:
        return Asked(body, None)
    if engine == "vllm" and request.n != 1:  # each finish has a stamp: see below
        return Asked(body, None)
    body = merge_members(body, "stream_options", {"include_usage": True})
    return Asked(body, _HideLastUsage(engine))


def ask_timings(body: bytes, engine: Engine | None) -> Asked:
    """Ask llama.cpp for counts and times with every part of a text completion."""
    if engine != "llama.cpp" or b'"timings_per_token"' in body:
        return Asked(body, None)
    body = add_members(body, {"timings_per_token": True})
    return Asked(body, _HideTimings(in_usage=False))


def ask_for_stream(body: bytes, dialect: str) -> Asked:
    """Ask for a stream on behalf of a client that wants none, to watch it."""
    if dialect == "chat":
        body = merge_members(body, "stream_options", {"include_usage": True})
    wishes: dict[str, JSON] = {"stream": True}
    if dialect == "completions":  # tells if a character was cut off
        wishes["timings_per_token"] = True
    return Asked(add_members(body, wishes), None)


def _unsaid(wishes: Mapping[str, JSON], body: bytes) -> dict[str, JSON]:
    """Return the wishes on which the client has no word."""
    return {k: v for k, v in wishes.items() if b'"%s"' % k.encode() not in body}


class _HideTimings:
    """llama.cpp always tells timings once: with the usage, or else with the finish."""

    def __init__(self, in_usage: bool) -> None:
        self._in_usage = in_usage

    def __call__(self, message: Message) -> bytes:
        for piece in message.pieces:
            if isinstance(piece, Usage) and piece.final and self._in_usage:
                return message.raw
            if isinstance(piece, Finish) and not self._in_usage:
                return message.raw
        return cut_member(message.raw, "timings")


def _ends_in_usage(message: Message) -> bool:
    """Tell the event that has the last counts and no choice."""
    is_final = False
    for piece in message.pieces:
        if isinstance(piece, Finish):
            return False  # the counts of this moment
        is_final = is_final or (isinstance(piece, Usage) and piece.final)
    return is_final


def _cut_usage(raw: bytes) -> bytes:
    return cut_member(raw, "usage")


def _null_usage(raw: bytes) -> bytes:
    """SGLang writes every member that its tool-call chunks could have."""
    if b'"tool_calls":' in raw:
        return swap_member(raw, "usage", b'"usage":null')
    return cut_member(raw, "usage")


class _HideUsage:
    """Leave the usage to a client that asked for it, where it ends the stream."""

    def __init__(self, cut: Callable[[bytes], bytes]) -> None:
        self._cut = cut

    def __call__(self, message: Message) -> bytes:
        return message.raw if _ends_in_usage(message) else self._cut(message.raw)


class _HideAllUsage:
    """Take out usage altogether, for a client that asked for none.

    vLLM stamps its `system_fingerprint` on the last event. That would have been the
    finish, so the finish waits for what comes next and gets the usage's stamp.
    """

    def __init__(self, cut: Callable[[bytes], bytes]) -> None:
        self._cut = cut
        self._finish = b""

    def __call__(self, message: Message) -> bytes:
        finish, self._finish = self._finish, b""
        if _ends_in_usage(message):
            return self._stamped(finish, message.raw)
        out = self._cut(finish)
        if any(isinstance(piece, Finish) for piece in message.pieces):
            self._finish = message.raw
            return out
        return out + self._cut(message.raw)

    def _stamped(self, finish: bytes, usage: bytes) -> bytes:
        stamp = _stamp_of(usage)
        return swap_member(finish, "usage", stamp) if stamp else self._cut(finish)


class _HideLastUsage:
    """Take out the counts that a stream ends with because they were asked for.

    Where an engine tells counts before the end, it does so unasked: then its client
    gets them all. vLLM's stamp: see `_HideAllUsage`.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._finish = b""
        self._tells_unasked = False

    def __call__(self, message: Message) -> bytes:
        finish, self._finish = self._finish, b""
        if self._tells_unasked:
            return message.raw
        if _ends_in_usage(message):
            return self._stamped(finish, message.raw)
        ends = any(isinstance(piece, Finish) for piece in message.pieces)
        if b'"usage"' in message.raw and _tells_counts(message):
            self._tells_unasked = not ends
            return finish + message.raw
        raw = self._cut(message.raw)
        if ends and self._engine == "vllm":
            self._finish = raw
            return finish
        return finish + raw

    def _cut(self, raw: bytes) -> bytes:
        """Take out the null, or Ollama's zeros, that stand where counts may come."""
        # SGLang writes its null to those who did not ask, too.
        return raw if self._engine == "sglang" else _cut_usage(raw)

    def _stamped(self, finish: bytes, usage: bytes) -> bytes:
        stamp = _stamp_of(usage)
        return put_behind(finish, "choices", stamp) if finish and stamp else finish


def _tells_counts(message: Message) -> bool:
    return any(isinstance(piece, Usage) for piece in message.pieces)


def _stamp_of(usage: bytes) -> bytes:
    """Return the `system_fingerprint` of an event, written out; b"" if it has none."""
    stamp = (read_chunk(usage) or {}).get("system_fingerprint")
    if stamp is None:
        return b""
    return b'"system_fingerprint":' + msgspec.json.encode(stamp)
