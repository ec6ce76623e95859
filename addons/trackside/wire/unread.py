"""Streams in a dialect that nobody here reads: cut into events that say nothing."""

from trackside.wire import ndjson, sse, stream
from trackside.wire.pieces import Piece


class _Mute:
    def read(self, data: bytes, name: str) -> list[Piece]:
        return []

    def release(self) -> list[Piece]:
        return []


class Events(stream.Reader):
    r"""Cuts server-sent events.

    Example:
        >>> Events().feed(b'data: {"tokens":[1]}\n\n')
        [Message(raw=b'data: {"tokens":[1]}\n\n', pieces=())]
    """

    def __init__(self) -> None:
        super().__init__(sse.Decoder(), _Mute())


class Lines(stream.Reader):
    """Cuts lines of JSON."""

    def __init__(self) -> None:
        super().__init__(ndjson.Decoder(), _Mute())
