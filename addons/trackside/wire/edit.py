"""Edits of JSON text that leave every other byte as it was."""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from trackside.wire.errors import WireError

type JSON = bool | int | float | str | list[JSON] | dict[str, JSON] | None

_OPEN = re.compile(r"[ \t\n\r]*\{[ \t\n\r]*(\}?)[ \t\n\r]*")
_KEY = re.compile(r'("(?:[^"\\]|\\.)*")[ \t\n\r]*:[ \t\n\r]*')
_NEXT = re.compile(r"[ \t\n\r]*([,}])[ \t\n\r]*")
_DATA_LINE = re.compile(rb"(data: ?)(\{.*\})(\s*)")  # a CR may hide in the object
# Scanning is all that is wanted: numbers stay text, however long they are.
_scan = json.JSONDecoder(strict=False, parse_int=str, parse_float=str).raw_decode


class _Member(NamedTuple):
    """A `"key": value` of the outermost object. Offsets count bytes."""

    key: str
    start: int  # of the key
    value: int  # start of the value
    end: int  # one past the value


def add_members(body: bytes, members: Mapping[str, JSON]) -> bytes:
    """Set members of the object that `body` is.

    A member that exists gets its new value in its place; the others are put behind
    the last one. O(length). Raises WireError if `body` is not a JSON object.

    Example:
        >>> add_members(b'{ "a" : 1 }', {"a": 2, "b": True})
        b'{ "a" : 2,"b":true }'
    """
    found = _members(body)
    text = {key: msgspec.json.encode(value) for key, value in members.items()}
    parts: list[bytes] = []
    at = 0
    for member in found:
        if member.key in text:
            parts += (body[at : member.value], text[member.key])
            at = member.end
    end = found[-1].end if found else body.index(b"{") + 1
    parts.append(body[at:end])
    known = {member.key for member in found}
    added = [
        msgspec.json.encode(key) + b":" + value
        for key, value in text.items()
        if key not in known
    ]
    if found and added:
        parts.append(b",")
    return b"".join((*parts, b",".join(added), body[end:]))


def merge_members(body: bytes, key: str, members: Mapping[str, JSON]) -> bytes:
    """Set members of the object that member `key` of `body` is, making it if needed.

    A value that is not an object is replaced. Raises WireError like `add_members`.

    Example:
        >>> merge_members(b'{"o":{"x":0}}', "o", {"y": 1})
        b'{"o":{"x":0,"y":1}}'
    """
    same = [member for member in _members(body) if member.key == key]
    for member in reversed(same):
        value = body[member.value : member.end]
        if not value.startswith(b"{"):
            return add_members(body, {key: dict(members)})
        body = body[: member.value] + add_members(value, members) + body[member.end :]
    return body if same else add_members(body, {key: dict(members)})


def cut_member(raw: bytes, key: str) -> bytes:
    r"""Remove the member `key` from the JSON object of an SSE event.

    Returns `raw` itself if it has no such member, or is anything but one line of
    `data:` with an object. Keys written with escapes are not found. O(length).

    Example:
        >>> cut_member(b'data: {"id":1,"usage":{}}\n\n', "usage")
        b'data: {"id":1}\n\n'
    """
    if key.encode() not in raw or not (match := _DATA_LINE.fullmatch(raw)):
        return raw
    field, text, line_end = match.groups()
    if b"\r" in text:
        return raw
    try:
        found = _members(text)
    except WireError:
        return raw
    kept = [at for at, member in enumerate(found) if member.key != key]
    if len(kept) == len(found):
        return raw
    parts = [field, text[: found[0].start]]
    for at in kept:
        # with the separator in front of it, unless it has become the first
        start = found[at - 1].end if len(parts) > 2 else found[at].start
        parts.append(text[start : found[at].end])
    return b"".join((*parts, text[found[-1].end :], line_end))


def _members(body: bytes) -> list[_Member]:
    """Return the members of the outermost object in order."""
    text = body.decode("latin-1")  # one character a byte, and JSON's own are ASCII
    try:
        return _walk(body, text)
    except (ValueError, RecursionError) as error:
        raise WireError(f"got {body[:40]!r}, wanted a JSON object") from error


def _walk(body: bytes, text: str) -> list[_Member]:
    found: list[_Member] = []
    step = _expect(_OPEN, text, 0)
    while step[1] != "}":
        key = _expect(_KEY, text, step.end())
        _, end = _scan(text, key.end())
        step = _expect(_NEXT, text, end)
        name = _unquote(body[key.start(1) : key.end(1)])
        found.append(_Member(name, key.start(), key.end(), end))
    if step.end() != len(text):
        raise ValueError("more than one value")
    return found


def _expect(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    match = pattern.match(text, at)
    if not match:
        raise ValueError(f"no {pattern.pattern} at {at}")
    return match


def _unquote(key: bytes) -> str:
    is_plain = b"\\" not in key and key.isascii()
    return key[1:-1].decode() if is_plain else str(json.loads(key))
