"""JSON lines, cut out of a byte stream without losing a byte.

Source: https://github.com/ndjson/ndjson-spec
"""

from trackside.wire.sse import Event

MAX_LINE_BYTES = 32 * 1024 * 1024
"""A longer line is passed on in parts and has no data: memory stays bounded."""


class Decoder:
    r"""Cuts a byte stream into lines; holds back at most one partial line.

    `b"".join(event.raw)` is always the input. Amortised O(bytes), whatever the chunks.

    Example:
        >>> decoder = Decoder()
        >>> for event in decoder.feed(b'{"a":1}\n\n{"a"'):
        ...     event
        Event(raw=b'{"a":1}\n', data=b'{"a":1}', name='')
        Event(raw=b'\n', data=None, name='')
        >>> decoder.held
        4
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._in_overlong = False

    @property
    def held(self) -> int:
        """Return the bytes held back for want of the end of their line."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the lines that `chunk` completes, in order."""
        events: list[Event] = []
        start = 0
        while end := chunk.find(b"\n", start) + 1:
            line = chunk[start:end]
            if self._buffer:
                line = bytes(self._buffer) + line
                self._buffer.clear()
            events.append(self._event(line))
            start = end
        self._buffer += chunk[start:]
        if len(self._buffer) > MAX_LINE_BYTES:
            self._in_overlong = True
            events += self._flush()
        return events

    def flush(self) -> list[Event]:
        """Return what is held back as a line of its own, complete or not."""
        if not self._buffer:
            return []
        if self._in_overlong:
            return self._flush()
        line = bytes(self._buffer)
        self._buffer.clear()
        return [self._event(line)]

    def _flush(self) -> list[Event]:
        part = Event(bytes(self._buffer), None)
        self._buffer.clear()
        return [part]

    def _event(self, line: bytes) -> Event:
        data = line.strip()
        if self._in_overlong or len(line) > MAX_LINE_BYTES:
            self._in_overlong = False
            return Event(line, None)
        return Event(line, data or None)
