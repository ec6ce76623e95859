"""JSON that strict parsers refuse although engines and agents write it."""

import json
from collections.abc import Callable

import msgspec

from trackside.wire.errors import WireError


def respell(data: bytes) -> bytes:
    r"""Return `data` as JSON that any parser reads. O(length), slow.

    NaN and Infinity become null, halves of surrogate pairs (an emoji cut between two
    tokens, or by a truncated tool result) "?", bytes that are not UTF-8 U+FFFD.
    Raises WireError if it is not JSON even so.

    Example:
        >>> respell(b'{"loss": NaN, "text": "\\ud83d"}')
        b'{"loss": null, "text": "?"}'
    """
    try:
        text = data.decode("utf-8", "replace")
        value = json.loads(text, parse_constant=lambda _: None)
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError) as error:
        raise WireError(f"got {data[:40]!r} ({error}), wanted JSON") from error


def decode_leniently[T](decode: Callable[[bytes], T], data: bytes) -> T:
    """Decode `data` with a msgspec decoder, and once more respelt if it is refused.

    Raises WireError if it is not JSON, and msgspec.ValidationError if it is JSON of
    another shape.
    """
    try:
        return decode(data)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, RecursionError):
        return decode(respell(data))
