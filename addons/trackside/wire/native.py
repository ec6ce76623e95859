"""The frames of llama.cpp's own `/completion`, streamed or whole.

Source: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
"""

from typing import Any

import msgspec

from trackside.wire.leaves import count_of, list_of, text_of
from trackside.wire.pieces import End, Finish, Keepalive, Piece, Start, TokenIds, Usage
from trackside.wire.respell import decode_leniently
from trackside.wire.tagged import TaggedText
from trackside.wire.usage import read_usage

_EMPTY = Keepalive("empty")
_PROGRESS = Keepalive("progress")
_END = End()


class Frame(msgspec.Struct, gc=False):
    """One event of a stream, or a whole body."""

    content: Any = None
    stop: Any = None
    index: Any = None
    model: Any = None
    tokens: Any = None
    tokens_predicted: Any = None
    tokens_evaluated: Any = None
    timings: Any = None
    prompt_progress: Any = None
    stop_type: Any = None
    stopped_limit: Any = None


_decode = msgspec.json.Decoder(Frame).decode


def decode_frame(data: bytes) -> Frame | None:
    """Decode a frame; None if it is none. Raise WireError if it is not even JSON."""
    try:
        frame = decode_leniently(_decode, data)
    except msgspec.ValidationError:
        return None
    is_frame = isinstance(frame.content, str) and type(frame.stop) is bool
    return frame if is_frame else None


class Frames:
    """Reads the frames of one response. O(length of the frame) each."""

    def __init__(self) -> None:
        self._started = False
        self._texts: dict[int, TaggedText] = {}

    def read(self, frame: Frame) -> list[Piece]:
        """Return the pieces of `frame`. The last one of each answer ends the stream."""
        index = frame.index if type(frame.index) is int else 0
        text = self._texts.get(index)
        if text is None:
            text = self._texts[index] = TaggedText(index)
        found: list[Piece] = []
        if not self._started:
            self._started = True
            found.append(Start(id="", model=text_of(frame.model), created=0))
        if frame.content:
            found += text.feed(frame.content)
        if tokens := list_of(frame.tokens):
            found.append(TokenIds(len(tokens), index))
        if frame.stop:
            found += text.release()
            found.append(Finish(_reason(frame), index))
        elif not frame.content and not tokens:
            found.append(_PROGRESS if frame.prompt_progress else _EMPTY)
        if usage := _read_usage(frame):
            found.append(usage)
        if frame.stop:
            found.append(_END)
        return found

    def release(self) -> list[Piece]:
        """Return the text held back: nothing more will come."""
        return [piece for text in self._texts.values() for piece in text.release()]


def _reason(frame: Frame) -> str:
    """Return eos, word or limit; builds before 2025 tell by flags."""
    return text_of(frame.stop_type) or ("limit" if frame.stopped_limit else "eos")


def _read_usage(frame: Frame) -> Usage | None:
    prompt, completion = frame.tokens_evaluated, frame.tokens_predicted
    if not frame.timings:
        prompt, completion = count_of(prompt), count_of(completion)
        if prompt is None and completion is None:
            return None
        return Usage(prompt, completion, None, None, None, frame.stop)
    counts = {"prompt_tokens": prompt, "completion_tokens": completion}
    return read_usage(counts, frame.timings, final=frame.stop)
