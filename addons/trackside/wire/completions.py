"""Text completions, OpenAI's or llama.cpp's own: what they say.

The shape of the answer tells the two apart: llama.cpp answers `/completions` in its
own way, others in OpenAI's.
"""

import msgspec

from trackside.wire import sse, stream
from trackside.wire.answer import Answer
from trackside.wire.chunk import decode
from trackside.wire.errors import WireError
from trackside.wire.native import Frames, decode_frame
from trackside.wire.pieces import End, Piece
from trackside.wire.respell import decode_leniently

_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Reader(stream.Reader):
    r"""Reads a stream of text completions.

    Example:
        >>> reader = Reader()
        >>> [message] = reader.feed(b'data: {"choices":[{"text":"Hi"}]}\n\n')
        >>> message.pieces[-1]
        Content(text='Hi', choice=0)
    """

    def __init__(self) -> None:
        super().__init__(sse.Decoder(), _Voice())


def read_body(body: bytes) -> list[Piece]:
    """Return what a response that was not streamed says; nothing if it is not JSON."""
    voice = _Voice(whole=True)
    try:
        # llama.cpp lists its answers where there are several
        is_list = body.lstrip().startswith(b"[")
        parts = decode_leniently(_decode_list, body) if is_list else [body]
        found = [piece for part in parts for piece in voice.read(bytes(part), "")]
    except (WireError, msgspec.ValidationError):
        return []
    found += voice.release()
    return [piece for piece in found if not isinstance(piece, End)]


class _Voice:
    def __init__(self, *, whole: bool = False) -> None:
        self._answer = Answer()
        self._frames = Frames()
        self._is_native = False
        self._whole = whole

    def read(self, data: bytes, name: str) -> list[Piece]:
        if self._is_native and (frame := decode_frame(data)):
            return self._frames.read(frame)
        chunk = decode(data)
        if chunk.choices is None and (frame := decode_frame(data)):
            self._is_native = True
            return self._frames.read(frame)
        return self._answer.read(chunk, whole=self._whole)

    def release(self) -> list[Piece]:
        return [*self._answer.release(), *self._frames.release()]
