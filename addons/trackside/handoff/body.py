"""Phase-2 request bodies, made from phase 1's by exchanging whole members.

Everything that is not exchanged keeps its bytes: a prompt that were re-encoded could
miss the cache that makes phase 2 start at once.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from trackside.wire.edit import members_of
from trackside.wire.errors import WireError

type Members = dict[str, bytes]


def split(body: bytes) -> Members:
    """Return the top-level members of a JSON object, each value as its own bytes.

    Of members that are there twice the last counts, as for every engine.

    Raises:
        WireError: the body is no JSON object.

    Example:
        >>> split(b'{"n": 1, "messages": [ ]}')
        {'n': b'1', 'messages': b'[ ]'}
    """
    try:
        raw = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        # Half an emoji, or NaN: agents send it and engines read it.
        return {
            member.key: body[member.value : member.end] for member in members_of(body)
        }
    return {key: bytes(value) for key, value in raw.items()}


def join(members: Mapping[str, bytes]) -> bytes:
    """Return the JSON object of these members, in their order.

    Example:
        >>> join({"n": b"1", "messages": b"[ ]"})
        b'{"n":1,"messages":[ ]}'
    """
    pairs = (msgspec.json.encode(key) + b":" + raw for key, raw in members.items())
    return b"{" + b",".join(pairs) + b"}"


def values(members: Members) -> dict[str, Any]:
    """Return the members decoded.

    Raises:
        WireError: one is nested too deeply to be decoded.
    """
    try:
        return {key: msgspec.json.decode(raw) for key, raw in members.items()}
    except (msgspec.DecodeError, RecursionError) as error:
        raise WireError(f"request body, not readable: {error}") from error


def appended(array: bytes, item: object) -> bytes:
    """Return a JSON array with one more item, the old ones byte for byte.

    Raises:
        WireError: what was given is no JSON array.

    Example:
        >>> appended(b'[{"role": "user"}]', 1)
        b'[{"role": "user"},1]'
    """
    head = array.rstrip()
    if not (head.startswith(b"[") and head.endswith(b"]")):
        raise WireError(f"wanted an array of messages, got {array[:20]!r}")
    head = head[:-1]
    comma = b"" if head.strip() == b"[" else b","
    return head + comma + msgspec.json.encode(item) + b"]"


_MEDIA = (b'"image_url"', b'"input_audio"', b'"video_url"', b'"input_image"')


def has_media(messages: bytes) -> bool:
    """Tell whether something in these chat messages is no text.

    Example:
        >>> has_media(b'[{"role":"user","content":[{"type":"image_url"}]}]')
        True
    """
    return any(kind in messages for kind in _MEDIA)
