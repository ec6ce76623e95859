"""Where the members of a JSON object and the elements of an array stand, in bytes."""

import re
from dataclasses import dataclass
from typing import Any

import msgspec

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_VALUE = msgspec.json.Decoder(msgspec.Raw)
_SPACE = re.compile(rb"[ \t\n\r]*")
_KEY = re.compile(rb'[ \t\n\r,]*("(?:[^"\\]|\\.)*")[ \t\n\r]*:[ \t\n\r]*', re.DOTALL)
# A nested object may hold a member of the same name as the one looked for: try a few.
_MAX_TRIES = 8
_PIECE_BYTES, _LARGE_PIECE_BYTES = 1 << 12, 1 << 20
_SMALL_PIECE_BYTES = 1 << 12  # compared as one number


class BodyError(ValueError):
    """A body that is not what it should be; the text says what it is."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of bytes."""

    start: int
    end: int

    def of(self, raw: bytes) -> bytes:
        """Return the bytes of the span."""
        return raw[self.start : self.end]


def decode_members(raw: bytes) -> dict[str, msgspec.Raw]:
    """Return the members of a JSON object, each as its own bytes.

    Raises:
        BodyError: what is no JSON object, with the reason.
    """
    try:
        return _MEMBERS.decode(raw)
    except msgspec.ValidationError as error:
        raise BodyError(f"JSON, but no object: {error}") from error
    except msgspec.DecodeError as error:
        raise BodyError(_describe(raw, error)) from error
    except RecursionError as error:
        raise BodyError("JSON nested too deeply to be read") from error


def decode_elements(raw: bytes) -> list[msgspec.Raw]:
    """Return the elements of a JSON array, each as its own bytes.

    Raises:
        BodyError: what is no JSON array.
    """
    try:
        return _ELEMENTS.decode(raw)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BodyError(f"no JSON array: {error}") from error


def decode_value(raw: bytes) -> Any:
    """Return a JSON value as Python objects, keys in the order sent.

    Raises:
        BodyError: the text is no valid UTF-8 or a number has no value.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise BodyError(f"unreadable value: {error}") from error


def is_value(raw: bytes) -> bool:
    """Return whether the bytes are one JSON value, whole and alone."""
    try:
        _VALUE.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def _describe(raw: bytes, error: Exception) -> str:
    if not raw.strip():
        return "empty body"
    if "truncated" in str(error):
        return f"JSON truncated after {len(raw)} bytes"
    if raw.lstrip()[:1] != b"{":
        return "not JSON"
    return str(error)


def member_spans(raw: bytes, start: int = 0) -> dict[str, list[Span]]:
    """Return where each member's value stands in the object that begins at `start`.

    A member sent twice has two spans: readers disagree on which of them counts.
    O(bytes), with one Python step a member.

    Example:
        >>> member_spans(b'{"a": 1, "b":[2]}')
        {'a': [Span(start=6, end=7)], 'b': [Span(start=13, end=16)]}
    """
    body = raw[start:] if start else raw
    values = decode_members(body)
    found: dict[str, list[Span]] = {}
    at = skip_space(body, 0) + 1
    while match := _KEY.match(body, at):
        name = str(decode_value(match[1]))
        at = match.end()
        value = bytes(values[name])
        if not _ends_value(body, at, value):
            value = body[at : skip_value(body, at)]
        found.setdefault(name, []).append(Span(start + at, start + at + len(value)))
        at += len(value)
    return found


def _ends_value(body: bytes, at: int, value: bytes) -> bool:
    after = skip_space(body, at + len(value))
    return body.startswith(value, at) and body[after : after + 1] in (b",", b"}")


_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^"\[\]{}, \t\n\r]+', re.DOTALL)


def skip_value(raw: bytes, at: int) -> int:
    """Return the offset just past the JSON value at `at`, one token at a time.

    For the rare value no decoder has measured: the first of two equal keys.
    """
    depth = 0
    for token in _TOKEN.finditer(raw, at):
        mark = token[0]
        if mark in (b"[", b"{"):
            depth += 1
        elif mark in (b"]", b"}"):
            depth -= 1
        if depth == 0:
            return token.end()
    raise BodyError("JSON ends within a value")


def element_spans(raw: bytes, elements: list[msgspec.Raw], at: int) -> list[Span]:
    """Return where `elements` stand in `raw`, of which the first is at or after `at`.

    O(elements): each is found from the length of the one before.

    Example:
        >>> body = b'[ {"a" : 1 } , 22 ]'
        >>> element_spans(body, decode_elements(body), 1)
        [Span(start=2, end=12), Span(start=15, end=17)]
    """
    spans = []
    for element in elements:
        at = skip_space(raw, at)
        if raw[at : at + 1] == b",":
            at = skip_space(raw, at + 1)
        end = at + memoryview(element).nbytes
        spans.append(Span(at, end))
        at = end
    return spans


def skip_space(raw: bytes, at: int) -> int:
    """Return the first offset from `at` on that holds no JSON white space."""
    match = _SPACE.match(raw, at)
    return match.end() if match else at


def find_member(raw: bytes, name: str) -> int | None:
    """Return the offset of the value of a top-level member, or None.

    What stands before it is read, what follows is not: O(bytes before it). A text
    that only looks like the key, inside a string or a nested object, is told apart
    by closing the object there: only a top-level key leaves valid JSON behind.

    Example:
        >>> find_member(b'{"x":{"messages":1},"messages":[]}', "messages")
        31
    """
    key = b'"' + name.encode() + b'"'
    at = -1
    for _ in range(_MAX_TRIES):
        at = raw.find(key, at + 1)
        if at < 0:
            break  # not there, or written with escapes
        match = _KEY.match(raw, at)
        if match is None or raw[:at].rstrip()[-1:] not in (b"{", b","):
            continue
        try:
            _MEMBERS.decode(raw[:at] + b'"":0}')
        except (msgspec.MsgspecError, RecursionError):
            continue
        return match.end()
    spans = member_spans(raw).get(name)
    return spans[0].start if spans else None


def common_bytes(first: bytes, second: bytes, at: int = 0, other_at: int = 0) -> int:
    """Return how many bytes of `first[at:]` and `second[other_at:]` agree.

    Compares pieces, then halves the piece that differs: about 0.1 ms a megabyte.

    Example:
        >>> common_bytes(b"abcX", b"--abcY", 0, 2)
        3
    """
    limit = min(len(first) - at, len(second) - other_at)
    done, size = 0, _PIECE_BYTES
    while done < limit:
        size = min(2 * size, _LARGE_PIECE_BYTES, limit - done)
        here, there = at + done, other_at + done
        if not first.startswith(second[there : there + size], here):
            return done + _agreeing(first, second, here, there, size)
        done += size
    return done


def _agreeing(first: bytes, second: bytes, here: int, there: int, size: int) -> int:
    """Return how many bytes agree in a piece that differs somewhere."""
    low, high = 0, size  # bytes before low agree, those before high do not
    while high - low > _SMALL_PIECE_BYTES:
        middle = (low + high) // 2
        if first.startswith(second[there + low : there + middle], here + low):
            low = middle
        else:
            high = middle
    mine = int.from_bytes(first[here + low : here + high])
    other = int.from_bytes(second[there + low : there + high])
    return high - ((mine ^ other).bit_length() + 7) // 8
