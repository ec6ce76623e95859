"""The messages of a request: who spoke last, and whether there are images."""

from typing import Any

import msgspec

from trackside.wire.errors import WireError
from trackside.wire.leaves import list_of, object_of, text_of
from trackside.wire.respell import decode_leniently

_IMAGE_TYPES = ("image_url", "input_image", "image")
_IMAGE_WORDS = tuple(
    f'"{word}"'.encode() for word in (*_IMAGE_TYPES, "images", "multimodal_data")
)


class _Speaker(msgspec.Struct, gc=False):
    role: Any = None
    type: Any = None


class _Message(msgspec.Struct, gc=False):
    content: Any = None
    output: Any = None  # Responses: what a tool gave back
    images: Any = None  # Ollama


_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_speaker = msgspec.json.Decoder(_Speaker).decode
_decode_message = msgspec.json.Decoder(_Message).decode


def read_items(raw: msgspec.Raw) -> list[msgspec.Raw] | None:
    """Return the items of a list without building them, or None if it is none."""
    text = bytes(raw)
    return _decode_list(text) if text.startswith(b"[") else None


def read_role(item: msgspec.Raw) -> str | None:
    """Return who speaks in a message, or in any item of a Responses request.

    Example:
        >>> read_role(msgspec.Raw(b'{"type": "function_call_output"}'))
        'tool'
    """
    speaker = _read_speaker(item)
    role, kind = text_of(speaker.role), text_of(speaker.type)
    if role or not kind or kind in ("message", "item_reference"):
        return role or None
    return "tool" if kind.endswith("_output") else "assistant"


def has_type(items: list[msgspec.Raw], kind: str) -> bool:
    """Return whether an item is of type `kind`."""
    return any(_read_speaker(item).type == kind for item in items)


def may_have_images(body: bytes) -> bool:
    """Return False if `body` surely has no images. O(its length), fast."""
    return any(word in body for word in _IMAGE_WORDS)


def has_images(items: list[msgspec.Raw]) -> bool:
    """Return whether a message has an image, be it in what a tool gave back."""
    for item in items:
        try:
            message = decode_leniently(_decode_message, bytes(item))
        except (WireError, msgspec.ValidationError):
            continue
        parts = [*list_of(message.content), *list_of(message.output)]
        for part in map(object_of, tuple(parts)):
            parts += list_of(part.get("content"))
        kinds = (object_of(part).get("type") for part in parts)
        if list_of(message.images) or any(kind in _IMAGE_TYPES for kind in kinds):
            return True
    return False


def _read_speaker(item: msgspec.Raw) -> _Speaker:
    try:
        return decode_leniently(_decode_speaker, bytes(item))
    except (WireError, msgspec.ValidationError):
        return _Speaker()
