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
_COUNTS = re.compile(rb'(?:"\w+":(?:[-+.\w]+|\{(?:"\w+":[-+.\w]+,?)*\}),?)*\}')
_LITTLE_MORE = re.compile(rb'(?:,"\w+":(?:\w+|"[^"\\\n]*"))*\}\n\n\Z')
# Scanning is all that is wanted: numbers stay text, however long they are.
_scan = json.JSONDecoder(strict=False, parse_int=str, parse_float=str).raw_decode


class Member(NamedTuple):
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
    found = members_of(body)
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
    same = [member for member in members_of(body) if member.key == key]
    for member in reversed(same):
        value = body[member.value : member.end]
        if not value.startswith(b"{"):
            return add_members(body, {key: dict(members)})
        body = body[: member.value] + add_members(value, members) + body[member.end :]
    return body if same else add_members(body, {key: dict(members)})


def cut_member(raw: bytes, key: str) -> bytes:
    r"""Remove the member `key` from the JSON object of an SSE event.

    Returns `raw` itself if it has no such member, or is anything but one line of
    `data:` with an object. Keys written with escapes are not found. O(length), and
    some 15 times faster for an object of numbers near the end, as engines put their
    counts; that all of such an event is JSON is taken for granted.

    Example:
        >>> cut_member(b'data: {"id":1,"usage":{}}\n\n', "usage")
        b'data: {"id":1}\n\n'
    """
    name = b'"%s"' % key.encode()
    at = raw.find(name)
    if at == -1:
        return raw
    value = at + len(name) + 2
    if (
        raw[at - 1 : at] == b","
        and raw[value - 2 : value] == b":{"
        and (end := _end_of_counts(raw, value))
        and raw.find(name, value) == -1
        and raw.startswith(b"data: {")
        and raw.find(b"\n") == len(raw) - 2
        and raw.find(b"\r") == -1  # it ends lines, too
    ):
        return raw[: at - 1] + raw[end:]
    return _cut_anywhere(raw, name)


def _end_of_counts(raw: bytes, start: int) -> int:
    """Return where an object of numbers ends that goes on at `start`; 0 if not sure.

    In JSON, with `,"key":{` before `start`, this is never sure inside a string or
    deeper than in the outermost object. Were that comma inside a string, the quote
    behind it would end the string, and a letter would follow: no JSON. So `start` is
    outside of strings. From there to the end of the event either whole tokens are
    matched, or text without a brace is skipped up to a `}`: were that inside a string,
    what is matched next would end the string in front of a letter, or leave it open.
    Every brace that is opened is closed, and one more: that of the object the member is
    in. Nothing follows it, so it is the outermost.
    """
    end = raw.find(b"}", start) + 1
    if raw.find(b"{", start, end) != -1:
        counts = _COUNTS.match(raw, start)
        end = counts.end() if counts else 0
    return end if end and _LITTLE_MORE.match(raw, end) else 0


def swap_member(raw: bytes, key: str, member: bytes) -> bytes:
    r"""Put another member, written out, in the place of `key` in an SSE event.

    Finds it as `cut_member` does, only the last one, and is slow. O(length).

    Example:
        >>> swap_member(b'data: {"usage":{},"id":1}\n\n', "usage", b'"n":2')
        b'data: {"n":2,"id":1}\n\n'
    """
    name = b'"%s"' % key.encode()
    field, text, line_end, found = _data_object(raw)
    for old in reversed(found):
        if text.startswith(name, old.start):
            return field + text[: old.start] + member + text[old.end :] + line_end
    return raw


def put_behind(raw: bytes, key: str, member: bytes) -> bytes:
    r"""Put a member, written out, behind `key` in an SSE event.

    Finds `key` as `cut_member` does; without it, `raw` is returned. O(length).

    Example:
        >>> put_behind(b'data: {"choices":[],"id":1}\n\n', "choices", b'"n":2')
        b'data: {"choices":[],"n":2,"id":1}\n\n'
    """
    field, text, line_end, found = _data_object(raw)
    for old in found:
        if old.key == key:
            upto = text[: old.end] + b"," + member
            return field + upto + text[old.end :] + line_end
    return raw


def _cut_anywhere(raw: bytes, name: bytes) -> bytes:
    """Do as `cut_member` says, wherever the member stands and whatever it is."""
    field, text, line_end, found = _data_object(raw)
    kept = [
        n for n, member in enumerate(found) if not text.startswith(name, member.start)
    ]
    if len(kept) == len(found):
        return raw
    parts = [field, text[: found[0].start]]
    for at in kept:
        # with the separator in front of it, unless it has become the first
        start = found[at - 1].end if len(parts) > 2 else found[at].start
        parts.append(text[start : found[at].end])
    return b"".join((*parts, text[found[-1].end :], line_end))


def _data_object(raw: bytes) -> tuple[bytes, bytes, bytes, list[Member]]:
    """Return an event as field, object and line end; no members if it is not that."""
    match = _DATA_LINE.fullmatch(raw)
    if match and b"\r" not in match[2]:
        try:
            return match[1], match[2], match[3], members_of(match[2])
        except WireError:
            pass
    return raw, b"", b"", []


def members_of(body: bytes) -> list[Member]:
    """Return the members of the object that `body` is, in order.

    O(length). Raises WireError if it is not a JSON object.
    """
    text = body.decode("latin-1")  # one character a byte, and JSON's own are ASCII
    try:
        return _walk(body, text)
    except (ValueError, RecursionError) as error:
        raise WireError(f"got {body[:40]!r}, wanted a JSON object") from error


def _walk(body: bytes, text: str) -> list[Member]:
    found: list[Member] = []
    step = _expect(_OPEN, text, 0)
    while step[1] != "}":
        key = _expect(_KEY, text, step.end())
        _, end = _scan(text, key.end())
        step = _expect(_NEXT, text, end)
        name = _unquote(body[key.start(1) : key.end(1)])
        found.append(Member(name, key.start(), key.end(), end))
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
