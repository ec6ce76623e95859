"""Leaves of foreign JSON: what they are worth if they are what they should be."""

from typing import Any, TypeGuard


def text_of(value: Any) -> str:
    """Return `value` if it is text, or else ""."""
    return value if isinstance(value, str) else ""


def object_of(value: Any) -> dict[str, Any]:
    """Return `value` if it is an object, or else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return `value` if it is a list, or else an empty one."""
    return value if isinstance(value, list) else []


def count_of(value: Any) -> int | None:
    """Return `value` if it can count something, or else None."""
    return value if type(value) is int and value >= 0 else None


def instant_of(value: Any) -> int:
    """Return `value` as Unix seconds, or 0 if it can't be."""
    return int(value) if is_number(value) and 0 <= value < 2**53 else 0


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether `value` is a JSON number."""
    return type(value) is int or type(value) is float
