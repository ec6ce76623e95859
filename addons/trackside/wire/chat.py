"""OpenAI chat completions: what each event of a stream, or a whole body, says."""

from trackside.wire import sse, stream
from trackside.wire.answer import Answer
from trackside.wire.chunk import decode
from trackside.wire.errors import WireError
from trackside.wire.pieces import Piece
from trackside.wire.stream import Message

__all__ = ["Message", "Reader", "read_body"]


class Reader(stream.Reader):
    r"""Reads a chat completion stream.

    Example:
        >>> reader = Reader()
        >>> chunk = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
        >>> [message] = reader.feed(chunk)
        >>> message.raw == chunk, message.pieces[-1]
        (True, Content(text='Hi', choice=0))
    """

    def __init__(self) -> None:
        super().__init__(sse.Decoder(), _Voice())


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


class _Voice:
    def __init__(self) -> None:
        self._answer = Answer()
        self.release = self._answer.release

    def read(self, data: bytes, name: str) -> list[Piece]:
        return self._answer.read(decode(data))
