"""Reads labelled reasoning traces and cuts them into tokens, as engines stream them."""

from __future__ import annotations

import codecs
import lzma
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

LONG_TOKENS = 15_000


class Trace(msgspec.Struct, frozen=True):
    """One row of the corpus."""

    id: str
    set: str  # folder/source, such as clean/imo25
    lang: str
    channel: str  # reasoning, content or structured
    label: str  # loop, clean, gray or unlabelled
    text: str
    loop_type: str | None = None
    loop_start_char: int | None = None

    @property
    def group(self) -> str:
        """What the trace is counted under."""
        if self.label != "loop":
            return "structured" if self.set == "clean/structured" else self.label
        if self.loop_type == "semantic":
            return "semantic"
        if self.set.startswith("loop/"):
            return f"loop {self.channel}"
        return (self.loop_type or self.set.partition("/")[0]).replace("syn_", "syn ")


def traces(folder: Path) -> Iterator[Trace]:
    """Yield every row of the folder's `*.jsonl.xz`, file by file.

    Raises:
        OSError: the folder or a file cannot be read, or there is none.
        ValueError: a row is not a trace.
    """
    files = sorted(folder.glob("*.jsonl.xz"))
    if not files:
        raise OSError(f"no corpus at {folder}: want *.jsonl.xz with labelled traces")
    decoder = msgspec.json.Decoder(Trace)
    for file in files:
        with lzma.open(file) as lines:
            yield from map(decoder.decode, lines)


def tokens(text: str) -> tuple[list[int], list[str]]:
    """Return the tokens of a text, and what each adds to the decoded stream."""
    encoding = _encoding()
    ids = encoding.encode_ordinary(text.encode("utf-8", "replace").decode())
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return ids, [
        decoder.decode(encoding.decode_single_token_bytes(token)) for token in ids
    ]


@cache
def _encoding() -> Any:
    import quicktok  # type: ignore[import-untyped] # it ships no types

    return quicktok.get_encoding("cl100k_base")
