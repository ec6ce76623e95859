"""Single server-sent events with JSON in them."""

from typing import Any

import msgspec

from trackside.wire.stream import Message


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


def is_foreign(message: Message, data: dict[str, Any] | None) -> bool:
    """Tell whether an event of phase 2 names a type that nobody knows.

    Its client would get it without us, too; what may be an error never passes as it is.

    Parameters:
        data: the JSON object in it; None if there is none.
    """
    if message.pieces or data is None or "error" in data:
        return False
    return isinstance(data.get("type"), str) or message.raw.startswith(b"event:")
