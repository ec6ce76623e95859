r"""Server-sent events, cut out of a byte stream without losing a byte.

An event ends with two line ends in a row. Blank lines on top of that lead the next
event: `b"".join(event.raw)` is always the input.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

import re

import msgspec

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""A longer event is passed on in parts and has no data: memory stays bounded."""

_BOM = b"\xef\xbb\xbf"
_CR = 0x0D
_LINE_END = re.compile(rb"\r\n|\n|\r")
# A CR after an LF ends the event only once the next byte shows that it is no CRLF. A CR
# after a CR ends it at once, or a stream of lone CRs would lag an event behind.
_END_AFTER_LF = re.compile(rb"\n(?:\n|\r\n|\r(?=[^\n]))")
_END_AFTER_CR = b"\r\r"
_LOOKBACK = 2  # bytes of an event end that may have come with earlier chunks


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event and the bytes it was made of."""

    raw: bytes
    data: bytes | None  # its data lines, joined by LF; None if it has none
    name: str = ""  # "" means the default, "message"


class Decoder:
    r"""Cuts a byte stream into events; holds back at most one partial event.

    Amortised O(bytes), whatever the chunks.

    Example:
        >>> decoder = Decoder()
        >>> for event in decoder.feed(b": hi\n\ndata: 1\n\ndat"):
        ...     event
        Event(raw=b': hi\n\n', data=None, name='')
        Event(raw=b'data: 1\n\n', data=b'1', name='')
        >>> decoder.held
        3
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._has_cr = False  # in what is held back; without, the search is faster
        self._at_start = True  # nothing was cut off yet: a BOM may come
        self._in_overlong = False

    @property
    def held(self) -> int:
        """Return the bytes held back for want of the end of their event."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that `chunk` completes, in order."""
        self._has_cr = self._has_cr or _CR in chunk
        buffer = self._buffer
        if not buffer:
            text = chunk
            ends = _find_ends(text, 0, self._has_cr)
        else:
            scan = max(0, len(buffer) - _LOOKBACK)
            buffer += chunk
            ends = _find_ends(buffer, scan, self._has_cr)
            if not ends:
                return [self._overlong()] if len(buffer) > MAX_EVENT_BYTES else []
            text = bytes(buffer)
            buffer.clear()
        events: list[Event] = []
        start = 0
        for end in ends:
            events.append(self._event(text[start:end]))
            start = end
        if start < len(text):
            buffer += text[start:]
            if len(buffer) > MAX_EVENT_BYTES:
                events.append(self._overlong())
        self._has_cr = self._has_cr and _CR in buffer
        return events

    def flush(self) -> list[Event]:
        """Return what is held back as an event of its own, complete or not.

        Standard parsers drop such an event, readers of lines do not.
        """
        if not self._buffer:
            return []
        raw = bytes(self._buffer)
        self._buffer.clear()
        return [self._event(raw)]

    def _event(self, raw: bytes) -> Event:
        at_start, self._at_start = self._at_start, False
        if self._in_overlong or len(raw) > MAX_EVENT_BYTES:
            self._in_overlong = False
            return Event(raw, None)
        if raw.startswith(b"data: "):  # and nothing else, as nearly every event
            line_end = raw.find(b"\n")
            if not self._has_cr and raw[line_end:] == b"\n\n":
                return Event(raw, raw[6:-2])
            if raw.find(b"\r") == line_end - 1 and raw[line_end:] == b"\n\r\n":
                return Event(raw, raw[6:-4])
        elif raw.startswith(b"event: ") and not self._has_cr:  # one line of each
            name_end = raw.find(b"\n")
            if raw.startswith(b"data: ", name_end + 1):
                line_end = raw.find(b"\n", name_end + 1)
                if raw[line_end:] == b"\n\n":
                    name = raw[7:name_end].decode("utf-8", "replace")
                    return Event(raw, raw[name_end + 7 : -2], name)
        return _parse(raw, raw.removeprefix(_BOM) if at_start else raw)

    def _overlong(self) -> Event:
        """Return all of an overlong event but the bytes that may begin its end."""
        self._at_start = False
        self._in_overlong = True
        raw = bytes(self._buffer[:-_LOOKBACK])
        del self._buffer[:-_LOOKBACK]
        return Event(raw, None)


def _find_ends(text: bytes | bytearray, scan: int, has_cr: bool) -> list[int]:
    """Return where the events end that end after `scan`. O(length of the rest)."""
    ends: list[int] = []
    if not has_cr:
        start = text.find(b"\n\n", scan)
        while start != -1:
            ends.append(start + 2)
            start = text.find(b"\n\n", start + 2)
        return ends
    # Two searches led side by side: each is many times faster than one for both.
    after_lf = _END_AFTER_LF.search(text, scan)
    after_cr = text.find(_END_AFTER_CR, scan)
    while after_lf or after_cr != -1:
        if after_lf and (after_cr == -1 or after_lf.start() < after_cr):
            scan = after_lf.end()
        else:
            scan = after_cr + 2
        ends.append(scan)
        if after_lf and after_lf.start() < scan:
            after_lf = _END_AFTER_LF.search(text, scan)
        if -1 < after_cr < scan:
            after_cr = text.find(_END_AFTER_CR, scan)
    return ends


def _parse(raw: bytes, text: bytes) -> Event:
    data: list[bytes] = []
    name = b""
    for line in _LINE_END.split(text):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    return Event(
        raw, b"\n".join(data) if data else None, name.decode("utf-8", "replace")
    )
