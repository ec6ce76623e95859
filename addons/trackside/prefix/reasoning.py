"""Reasoning that a request sends back, in whichever member the dialect has for it."""

from collections.abc import Iterable, Mapping
from typing import Any

from trackside.prefix.effective import REASONING
from trackside.prefix.spans import BodyError, decode_value
from trackside.prefix.units import Body, Unit

_THINK_END = "</think>"  # of an engine that leaves reasoning in its answer
_THINKING = frozenset({"thinking", "redacted_thinking", "reasoning"})


def has_reasoning(value: Any) -> bool:
    """Return whether a message or item holds reasoning.

    Example:
        >>> has_reasoning({"role": "assistant", "reasoning_content": "Hm."})
        True
        >>> has_reasoning({"role": "assistant", "content": [{"type": "text"}]})
        False
    """
    if not isinstance(value, Mapping):
        return False
    content = value.get("content")
    parts = content if isinstance(content, list) else []
    return (
        any(value.get(name) for name in REASONING)
        or (isinstance(content, str) and _THINK_END in content)
        or _is_thinking(value)
        or any(map(_is_thinking, parts))
    )


def without_reasoning(value: Any) -> Any:
    """Return a message without its reasoning; what remains of one text is that text."""
    if not isinstance(value, Mapping):
        return value
    rest = {name: inner for name, inner in value.items() if name not in REASONING}
    content = rest.get("content")
    if isinstance(content, list):
        parts = [part for part in content if not _is_thinking(part)]
        only = parts[0] if len(parts) == 1 else None
        if isinstance(only, Mapping) and only.keys() == {"type", "text"}:
            rest["content"] = only["text"]
        else:
            rest["content"] = parts
    elif isinstance(content, str) and _THINK_END in content:
        rest["content"] = content.rpartition(_THINK_END)[2].lstrip()
    return rest


def sends_reasoning(body: Body, units: Iterable[Unit]) -> bool:
    """Return whether one of the turns holds reasoning."""
    for unit in units:
        try:
            value = decode_value(body.unit_bytes(unit))
        except BodyError:
            continue
        if has_reasoning(value):
            return True
    return False


def _is_thinking(part: Any) -> bool:
    return isinstance(part, Mapping) and str(part.get("type")) in _THINKING
