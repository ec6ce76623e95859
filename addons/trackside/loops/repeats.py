"""The turns an agent has behind it, read from its request, and whether they repeat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from trackside.loops.toolcalls import Call, Repetition, ToolCalls

RECENT_MESSAGES = 64
"""Enough for three copies of a cycle of five calls, each with its result."""

_KEYS = {"responses": "input"}
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def repetition(dialect: str, body: bytes) -> Repetition | None:
    """Return what the latest turn of this request's history repeats, or None.

    It is told by the request whose newest turn is the third copy, and by none behind
    it. Reads the last 64 messages; never raises, whatever the body is.

    Parameters:
        dialect: as `trackside.wire.dialect_of` names it.

    Example:
        >>> call = '{"function": {"name": "ls", "arguments": "{}"}}'
        >>> turn = '{"role": "assistant", "tool_calls": [%s]},{"role": "tool"}' % call
        >>> body = '{"messages": [%s]}' % ",".join([turn] * 3)
        >>> repetition("chat", body.encode())
        Repetition(what='call', calls=('ls',), copies=3, turns=3)
    """
    thread, found = ToolCalls(), None
    try:
        messages = _decode_list(_decode(body)[_KEYS.get(dialect, "messages")])
        recent = [msgspec.json.decode(raw) for raw in messages[-RECENT_MESSAGES:]]
    except (msgspec.DecodeError, RecursionError, KeyError):
        return None
    for calls, text in _turns(recent):
        found = thread.add(calls, text)
    return found


def _turns(messages: list[Any]) -> Iterator[tuple[list[Call], str]]:
    """Yield the calls and the text of each answer; items of one answer stand apart."""
    calls: list[Call] = []
    texts: list[str] = []
    for message in (m for m in messages if isinstance(m, dict)):
        if not _is_answer(message):
            if calls or texts:
                yield calls, " ".join(texts)
            calls, texts = [], []
            continue
        calls += _calls(message)
        content = message.get("content")
        parts = content if isinstance(content, list) else [content]
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, dict) and part.get("type") == "tool_use":
                calls.append(_call(part.get("name"), part.get("input")))
            elif isinstance(part, dict) and isinstance(part.get("text"), str):
                texts.append(part["text"])
    if calls or texts:
        yield calls, " ".join(texts)


def _is_answer(message: dict[str, Any]) -> bool:
    return message.get("role") == "assistant" or message.get("type") in (
        "function_call",
        "reasoning",
    )


def _calls(message: dict[str, Any]) -> Iterator[Call]:
    if message.get("type") == "function_call":
        yield _call(message.get("name"), message.get("arguments"))
    told = message.get("tool_calls")
    for call in told if isinstance(told, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield _call(function.get("name"), function.get("arguments"))


def _call(name: Any, arguments: Any) -> Call:
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return Call(name if isinstance(name, str) else "", arguments)
