"""The one way in which every dialect's stream is read."""

from typing import Protocol

import msgspec

from trackside.wire.errors import WireError
from trackside.wire.pieces import End, Keepalive, Piece
from trackside.wire.sse import Event

_COMMENT = Keepalive("comment")
_END = End()


class Message(msgspec.Struct, frozen=True, gc=False):
    """One event of a stream, or one line: its bytes, and what they say."""

    raw: bytes  # b"" only in the last message of a flush
    pieces: tuple[Piece, ...]


class Decoder(Protocol):
    """A framing: bytes in, events out. See `sse.Decoder`."""

    @property
    def held(self) -> int:
        """Return the bytes held back for want of the end of their event."""
        ...

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that `chunk` completes, in order."""
        ...

    def flush(self) -> list[Event]:
        """Return what is held back as an event of its own, complete or not."""
        ...


class Voice(Protocol):
    """A dialect: the data of events in, pieces out."""

    def read(self, data: bytes, name: str) -> list[Piece]:
        """Return what an event says. Raise WireError if its data is not JSON.

        Parameters:
            data: the event's data, complete or cut off by the end of the stream.
            name: the event's name, "" if it has none.
        """
        ...

    def release(self) -> list[Piece]:
        """Return the text held back: nothing more will come."""
        ...


class Reader:
    """Reads a stream in any dialect; holds back at most one partial event.

    Raises nothing, whatever comes: what cannot be read has no pieces. Text that may
    turn out to be a think tag is held back from the pieces, never from the bytes.
    """

    def __init__(self, decoder: Decoder, voice: Voice) -> None:
        self.garbled = 0
        """Complete events so far whose data was not JSON."""
        self._decoder = decoder
        self._voice = voice

    @property
    def held(self) -> int:
        """Return the bytes held back for want of the end of their event."""
        return self._decoder.held

    def feed(self, chunk: bytes) -> list[Message]:
        """Return the events that `chunk` completes, in order."""
        events = self._decoder.feed(chunk)
        return [Message(event.raw, self._read(event)) for event in events]

    def flush(self) -> list[Message]:
        """Return what is held back, bytes and text: the stream is over."""
        garbled = self.garbled
        events = self._decoder.flush()
        messages = [Message(event.raw, self._read(event)) for event in events]
        self.garbled = garbled  # half an event is cut off, not garbled
        if rest := self._voice.release():
            messages.append(Message(b"", tuple(rest)))
        return messages

    def _read(self, event: Event) -> tuple[Piece, ...]:
        data = event.data
        if data is None:
            is_comment = event.raw.lstrip(b"\xef\xbb\xbf\r\n").startswith(b":")
            return (_COMMENT,) if is_comment else ()
        if data.startswith(b"[DONE]"):
            return (*self._voice.release(), _END)
        try:
            return tuple(self._voice.read(data, event.name))
        except WireError:
            self.garbled += 1
            return ()
