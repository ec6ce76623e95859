"""The shape of a chat or text completion, streamed or whole, as far as it is read.

Only the frame is typed. Leaves are checked where they are read, so that one odd field
does not cost the rest of the chunk. What is not named here is never built.
"""

from typing import Any

import msgspec

from trackside.wire.failure import Complaint
from trackside.wire.respell import decode_leniently


class Delta(msgspec.Struct, gc=False):
    """What one choice adds: a stream's `delta` or a body's `message`."""

    role: Any = None
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    tool_calls: Any = None


class Choice(msgspec.Struct, gc=False):
    """One of n answers."""

    index: Any = None
    delta: Delta | None = None
    message: Delta | None = None
    text: Any = None  # of a text completion, in place of the two
    finish_reason: Any = None
    token_ids: Any = None


class Chunk(Complaint, gc=False):
    """One event of a stream, or a whole body."""

    id: Any = None
    model: Any = None
    created: Any = None
    choices: list[Choice] | None = None
    usage: Any = None
    timings: Any = None
    metrics: Any = None
    stats: Any = None
    prompt_progress: Any = None


UNKNOWN = Chunk()
"""JSON of another shape: nothing in it is read."""

_decode = msgspec.json.Decoder(Chunk).decode


def decode(data: bytes) -> Chunk:
    """Decode one chunk. Raise WireError if `data` is not even JSON."""
    try:
        return decode_leniently(_decode, data)
    except msgspec.ValidationError:
        return UNKNOWN
