"""Bytes that differ while nothing of it reaches the prompt."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import DecodeError, json

from trackside.prefix.breaks import BENIGN, Break, Pair
from trackside.prefix.effective import CACHE_MARKS, IDS, SEALED
from trackside.prefix.spans import BodyError, Span, decode_value


def wire_breaks(
    pair: Pair, units: Iterable[tuple[str, int, Span, Span]]
) -> Iterator[Break]:
    """Yield one break for each kind of difference that no prompt shows.

    Parameters:
        pair: the two requests.
        units: path, bytes before and places of units that reach the prompt as the
            same. The first of each kind of difference stands for all.
    """
    seen = set()
    for path, before, old, new in units:
        mine, other = old.of(pair.old.body.raw), new.of(pair.new.body.raw)
        if mine == other:
            continue
        sub = wire_kind(mine, other)
        if sub not in seen:
            seen.add(sub)
            yield pair.breaks_at(
                ("wire_only", sub), path, before, old, new, side=BENIGN
            )


def alike_head(pair: Pair) -> Iterator[tuple[str, int, Span, Span]]:
    """Yield path, bytes before, and places of units of the head that are alike."""
    old, new = pair.old, pair.new
    mine, other = old.body.head, new.body.head
    if mine is other:
        return
    before = 0
    for n, (a, b) in enumerate(zip(mine.tools, other.tools, strict=False)):
        if a.digest == b.digest:
            yield f"tools[{n}]", before, old.tool(n), new.tool(n)
        before += a.size_bytes
    name = new.body.dialect.system
    for n, (a, b) in enumerate(zip(mine.system, other.system, strict=False)):
        if a.digest == b.digest:
            yield f"{name}[{n}]", before, old.system(n), new.system(n)
        before += a.size_bytes


def wire_kind(old: bytes, new: bytes) -> str:
    """Return how two units differ of which a prompt shows the same.

    Example:
        >>> wire_kind(b'{"a": 1}', b'{"a":1}')
        'json_spacing'
        >>> wire_kind(b'{"id":"x","a":1}', b'{"id":"y","a":1}')
        'ids'
    """
    try:
        if json.format(old, indent=-1) == json.format(new, indent=-1):
            return "json_spacing"
        mine, other = decode_value(old), decode_value(new)
    except (BodyError, DecodeError):
        return "escaping"
    if mine == other:
        return "top_level_order" if _orders(mine) != _orders(other) else "escaping"
    mine, other = _without(mine, CACHE_MARKS), _without(other, CACHE_MARKS)
    if mine == other:
        return "cache_control"
    ids = IDS | SEALED
    return "ids" if _without(mine, ids) == _without(other, ids) else "private_keys"


def _orders(value: Any) -> list[list[str]]:
    """Return the key order of every object in a value."""
    if isinstance(value, list):
        return [order for inner in value for order in _orders(inner)]
    if not isinstance(value, dict):
        return []
    return [[*value], *(order for inner in value.values() for order in _orders(inner))]


def _without(value: Any, names: frozenset[str]) -> Any:
    """Return a value without some keys, nulls and the wrapping of a single text."""
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], dict):
            only = _without(value[0], names)
            return only["text"] if only.keys() == {"type", "text"} else [only]
        return [_without(inner, names) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without(inner, names)
        for name, inner in value.items()
        if name not in names and inner is not None
    }
