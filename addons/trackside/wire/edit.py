"""Edits of JSON text that leave every other byte as it was."""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from trackside.wire.errors import WireError

type JSON = bool | int | float | str | list[JSON] | dict[str, JSON] | None

_SPACE = re.compile(r"[ \t\n\r]*")
_DATA_LINE = re.compile(rb"(data: ?)(\{[^\r\n]*\})([ \t\r\n]*)")
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
    brace, found = _members(body)
    text = {key: msgspec.json.encode(value) for key, value in members.items()}
    parts: list[bytes] = []
    at = 0
    for member in found:
        if member.key in text:
            parts += (body[at : member.value], text[member.key])
            at = member.end
    end = found[-1].end if found else brace + 1
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
    same = [member for member in _members(body)[1] if member.key == key]
    for member in reversed(same):
        value = body[member.value : member.end]
        if not value.startswith(b"{"):
            return add_members(body, {key: dict(members)})
        body = body[: member.value] + add_members(value, members) + body[member.end :]
    return body if same else add_members(body, {key: dict(members)})


def cut_member(raw: bytes, key: str) -> bytes:
    r"""Remove the member `key` from the JSON object of an SSE event.

    Returns `raw` itself if it has no such member, or is anything but one line of
    `data:` with an object. O(length).

    Example:
        >>> cut_member(b'data: {"id":1,"usage":{}}\n\n', "usage")
        b'data: {"id":1}\n\n'
    """
    if key.encode() not in raw or not (match := _DATA_LINE.fullmatch(raw)):
        return raw
    field, text, line_end = match.groups()
    try:
        _, found = _members(text)
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


def _members(body: bytes) -> tuple[int, list[_Member]]:
    """Return the offset of the outermost brace, and the members in order."""
    text = body.decode("latin-1")  # one character a byte, and JSON's own are ASCII
    try:
        return _walk(body, text)
    except (ValueError, RecursionError) as error:
        raise WireError(f"got {body[:40]!r}…, wanted a JSON object") from error


def _walk(body: bytes, text: str) -> tuple[int, list[_Member]]:
    found: list[_Member] = []
    brace = _skip(text, 0)
    at = _expect(text, brace, "{")
    if text.startswith("}", at):
        at = _expect(text, at, "}")
    else:
        while True:
            start = at
            _expect(text, at, '"')
            _, end = _scan(text, start)
            value = _expect(text, _skip(text, end), ":")
            key = json.loads(body[start:end])
            _, end = _scan(text, value)
            found.append(_Member(key, start, value, end))
            at = _skip(text, end)
            if text.startswith("}", at):
                at = _expect(text, at, "}")
                break
            at = _expect(text, at, ",")
    if at != len(text):
        raise ValueError("more than one value")
    return brace, found


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, mark: str) -> int:
    """Return where the token after `mark` begins."""
    if not text.startswith(mark, at):
        raise ValueError(f"no {mark} at {at}")
    return _skip(text, at + len(mark))
