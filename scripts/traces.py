"""Reads saved reasoning from what people have: text, JSONL, SSE bodies, captures."""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from trackside.proxy.capture import read_flows
from trackside.wire import chat, dialect_of
from trackside.wire.pieces import Content, Piece, Reasoning


class Trace(msgspec.Struct, frozen=True):
    """One row of JSONL, or what was made of another file."""

    id: str | int
    text: str


def read(path: Path, *, jsonl: bool = False) -> Iterator[Trace]:
    """Yield the traces of a file; the name tells its kind, else its first bytes do.

    A capture and an SSE body give the reasoning of each answer, or its content if
    there is no reasoning.

    Parameters:
        path: may end in `.xz` behind any other ending.
        jsonl: rows with `id` and `text`, whatever the name says.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not what it seems to be.
    """
    name = path.name.removesuffix(".xz")
    if name.endswith((".flow", ".flows", ".mitm")):
        yield from _capture(path)
        return
    try:
        data = lzma.decompress(path.read_bytes()) if name != path.name else None
    except lzma.LZMAError as error:
        raise ValueError(f"{path}: not xz: {error}") from error
    data = path.read_bytes() if data is None else data
    if jsonl or name.endswith(".jsonl"):
        yield from _rows(path, data)
    elif data.lstrip()[:6].startswith((b"data:", b"event:", b": ")):
        yield Trace(str(path), _said(_pieces(data)))
    else:
        yield Trace(str(path), data.decode("utf-8", "replace"))


def _rows(path: Path, data: bytes) -> Iterator[Trace]:
    decoder = msgspec.json.Decoder(Trace)
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                yield decoder.decode(line)
            except msgspec.DecodeError as error:
                row = line[:40].decode("utf-8", "replace")
                raise ValueError(
                    f"{path}, line {number}: got {row!r}, want id and text: {error}"
                ) from error


def _capture(path: Path) -> Iterator[Trace]:
    for flow in read_flows(path):
        if not flow.response or not dialect_of(flow.request.path):
            continue
        body = flow.response.get_content(strict=False) or b""
        is_json = "json" in flow.response.headers.get("content-type", "")
        pieces = chat.read_body(body) if is_json else _pieces(body)
        yield Trace(flow.id, _said(pieces))


def _pieces(body: bytes) -> Iterator[Piece]:
    reader = chat.Reader()
    for message in (*reader.feed(body), *reader.flush()):
        yield from message.pieces


def _said(pieces: Iterable[Piece]) -> str:
    pieces = list(pieces)
    reasoning = "".join(p.text for p in pieces if isinstance(p, Reasoning))
    return reasoning or "".join(p.text for p in pieces if isinstance(p, Content))
