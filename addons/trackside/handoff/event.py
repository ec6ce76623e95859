"""Single server-sent events with JSON in them."""

from typing import Any

import msgspec


def unnamed(data: dict[str, Any]) -> bytes:
    """Return an event of chat's kind, which has only data."""
    return b"data: " + msgspec.json.encode(data) + b"\n\n"


def named(kind: str, /, **data: Any) -> bytes:
    r"""Return an event that is named as the `type` in its data.

    Example:
        >>> named("ping", index=1)
        b'event: ping\ndata: {"type":"ping","index":1}\n\n'
    """
    text = msgspec.json.encode({"type": kind, **data})
    return b"event: " + kind.encode() + b"\ndata: " + text + b"\n\n"
