"""OpenAI chat completions: what each event of a stream, or a whole body, says."""

import msgspec

from trackside.wire import sse
from trackside.wire.answer import Answer
from trackside.wire.chunk import decode
from trackside.wire.errors import WireError
from trackside.wire.pieces import End, Keepalive, Piece

_COMMENT = Keepalive("comment")
_END = End()


class Message(msgspec.Struct, frozen=True, gc=False):
    """One event: its bytes, and what they say."""

    raw: bytes  # b"" only in the last message of a flush
    pieces: tuple[Piece, ...]


class Reader:
    r"""Reads a chat completion stream; holds back at most one partial event.

    Raises nothing, whatever comes: what cannot be read has no pieces. Text that may
    turn out to be a think tag is held back from the pieces, never from the bytes.

    Example:
        >>> reader = Reader()
        >>> chunk = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
        >>> [message] = reader.feed(chunk)
        >>> message.raw == chunk, message.pieces[-1]
        (True, Content(text='Hi', choice=0))
    """

    def __init__(self) -> None:
        self.garbled = 0
        """Complete events so far whose data was not JSON."""
        self._decoder = sse.Decoder()
        self._answer = Answer()

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
        if rest := self._answer.release():
            messages.append(Message(b"", tuple(rest)))
        return messages

    def _read(self, event: sse.Event) -> tuple[Piece, ...]:
        data = event.data
        if data is None:
            is_comment = event.raw.lstrip(b"\xef\xbb\xbf\r\n").startswith(b":")
            return (_COMMENT,) if is_comment else ()
        if data.startswith(b"[DONE]"):
            return (*self._answer.release(), _END)
        try:
            chunk = decode(data)
        except WireError:
            self.garbled += 1
            return ()
        return tuple(self._answer.read(chunk))


def read_body(body: bytes) -> list[Piece]:
    """Return what a response that was not streamed says; nothing if it is not JSON.

    Example:
        >>> read_body(b'{"error": "model not found"}')
        [Failure(message='model not found', code=None)]
    """
    try:
        chunk = decode(body)
    except WireError:
        return []
    answer = Answer()
    return [*answer.read(chunk, whole=True), *answer.release()]
