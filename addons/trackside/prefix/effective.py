"""What of a message, a tool or a system block can reach the prompt."""

from collections.abc import Mapping
from typing import Any

import msgspec

from trackside.prefix.dialects import Dialect
from trackside.prefix.spans import BodyError, decode_value

IDS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "item_id", "status"})
"""Keys that name things; templates do not print them."""

SEALED = frozenset({"signature", "encrypted_content"})
"""Keys that only the vendor's own engine can open: as good as ids to any other."""

CACHE_MARKS = frozenset({"cache_control", "copilot_cache_control"})
"""Where a harness puts its cache marks: between a vendor and itself."""

REASONING = frozenset(
    {"reasoning_content", "reasoning", "reasoning_details", "thinking"}
)
"""Keys of a message that send reasoning back."""

PRIVATE = frozenset(
    {
        *("usage", "uuid", "timestamp", "created", "created_at", "updated_at"),
        *("model", "provider", "provider_specific_fields", "extra_content"),
        *("finish_reason", "stop_reason", "matched_stop", "index", "logprobs"),
        *("annotations", "parsed", "token_ids", "cost", "latency", "duration_ms"),
    }
)
"""Keys of a message that harnesses keep for themselves, or that engines answer with."""

_DROPPED = IDS | SEALED | CACHE_MARKS
_FREE_FORM = frozenset({"arguments", "input", "parameters", "input_schema"})
# Keys whose objects are printed as they stand: there, key order reaches the prompt.


def message_value(raw: bytes, dialect: Dialect) -> Any:
    """Return what a template may print of one message, in one key order.

    Dropped are nulls, ids, cache marks and keys no template knows; a content of one
    text part becomes that text. Key order is kept inside arguments only.

    Raises:
        BodyError: bytes that are no readable JSON value.
    """
    return _message(decode_value(raw), dialect)


def _message(value: Any, dialect: Dialect) -> Any:
    if not isinstance(value, dict):
        return value
    keys = dialect.parts.get(str(value.get("type", "")))
    if keys is None:
        known = frozenset(value) - _DROPPED
        keys = dialect.message_keys if "role" in value else known
        if dialect.is_open and "role" in value:
            keys |= {name for name in known - keys if not is_private(name)}
    return {
        name: _inner(name, value[name], dialect)
        for name in sorted(keys & value.keys())
        if value[name] is not None and value[name] != []
    }


def is_private(name: str) -> bool:
    """Return whether no template will ask for a key of a message that is unknown here.

    Templates name keys in lower case; a mark or a capital is a harness's own.

    Example:
        >>> is_private("rawUsage"), is_private("__source"), is_private("tool_plan")
        (True, True, False)
    """
    return name in PRIVATE or name.startswith("_") or name != name.lower()


def _inner(name: str, value: Any, dialect: Dialect) -> Any:
    if name in ("content", "output", "summary") and isinstance(value, list):
        parts = [_message(part, dialect) for part in value]
        return _plain_text(parts[0]) if len(parts) == 1 else parts
    if name == "tool_calls" and isinstance(value, list):
        return [_call(call) for call in value]
    return value


def _plain_text(part: Any) -> Any:
    if isinstance(part, dict) and part.keys() == {"type", "text"}:
        return part["text"]
    return [part]


def _call(call: Any) -> Any:
    """Keep the function of a tool call: its id and type say nothing to the model."""
    if not isinstance(call, dict):
        return call
    function = call.get("function")
    if not isinstance(function, dict):
        return {name: call[name] for name in sorted(call.keys() - _DROPPED)}
    return {name: function[name] for name in sorted(function.keys() - _DROPPED)}


def tool_value(raw: bytes) -> Any:
    """Return what a template may print of one tool: outer keys in one order.

    Inside a schema the key order is kept: templates print it as it was sent.

    Raises:
        BodyError: bytes that are no readable JSON value.
    """
    return _outer_sorted(decode_value(raw))


def _outer_sorted(value: Any) -> Any:
    if isinstance(value, list):
        return [_outer_sorted(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        name: value[name] if name in _FREE_FORM else _outer_sorted(value[name])
        for name in sorted(value.keys() - CACHE_MARKS)
        if value[name] is not None
    }


def all_sorted(value: Any) -> Any:
    """Return `value` with the keys of every object sorted: equal whatever the order."""
    if isinstance(value, list):
        return [all_sorted(inner) for inner in value]
    if isinstance(value, dict):
        return {name: all_sorted(value[name]) for name in sorted(value)}
    return value


def encode(value: Any) -> bytes:
    """Return `value` as compact JSON."""
    return msgspec.json.encode(value)


def effective_tool(raw: bytes) -> bytes:
    """Return the bytes to compare a tool by; an unreadable one as it was sent."""
    try:
        return encode(tool_value(raw))
    except (BodyError, RecursionError):
        return raw


def effective_message(raw: bytes, dialect: Dialect) -> tuple[str, bytes]:
    """Return who speaks in a message and the bytes to compare it by.

    A message that cannot be read counts as it was sent, byte for byte.

    Example:
        >>> from trackside.prefix.dialects import DIALECTS
        >>> raw = b'{"content":"a","id":"x","role":"user"}'
        >>> effective_message(raw, DIALECTS["chat"])
        ('user', b'{"content":"a","role":"user"}')
    """
    try:
        value = decode_value(raw)
        return role_of(value), encode(_message(value, dialect))
    except (BodyError, RecursionError):
        return "unreadable", raw


def role_of(value: Any) -> str:
    """Return who speaks in a message or item: its role, or what kind of item it is.

    Example:
        >>> role_of({"type": "function_call_output", "output": "4"})
        'tool'
        >>> role_of({"role": "developer"})
        'system'
        >>> role_of({"role": "user", "content": [{"type": "tool_result"}]})
        'tool'
    """
    if not isinstance(value, Mapping):
        return "other"
    role = str(value.get("role") or "")
    if role == "user" and _is_tool_result(value.get("content")):
        return "tool"
    if role:
        return "system" if role == "developer" else role
    kind = str(value.get("type") or "")
    if kind.endswith("_output"):
        return "tool"
    return "assistant" if kind.endswith("call") or kind == "reasoning" else kind


def _is_tool_result(content: Any) -> bool:
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(part, Mapping) for part in content)
        and any(part.get("type") == "tool_result" for part in content)
    )
