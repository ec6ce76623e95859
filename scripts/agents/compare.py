"""What differs between two sessions, but for what agents vary by themselves. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from agents.play import tool_results

VARIES = (
    (re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\bses_\w+"), "<session>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<address>"),
    (re.compile(r"\b20\d\d-\d\d-\d\d[T ][\d:.]+Z?"), "<time>"),
    (re.compile(r"\b1[6-9]\d{11}\b"), "<ms>"),
    (re.compile(r"(?<=Chunk ID: )[0-9a-f]+"), "<chunk>"),
    (re.compile(r"(?<=Wall time: )[\d.]+"), "<seconds>"),
)
"""Ids, addresses and times that an agent makes anew in each session."""
OURS = {
    "headers": ("accept-encoding", "content-length", "host"),
    "body": ("timings_per_token",),
}
"""What trackside asks of the engine for itself, in plain text and with counts."""
SHOWN_CHARS = 60
MISSING = "<none>"


def masked(value: Any) -> Any:
    """Return a value of JSON without what varies.

    Example:
        >>> masked({"at": ["http://127.0.0.1:4711/v1"]})
        {'at': ['http://<address>/v1']}
    """
    if isinstance(value, str):
        for pattern, name in VARIES:
            value = pattern.sub(name, value)
        return value
    if isinstance(value, Mapping):
        return {key: masked(one) for key, one in value.items()}
    if isinstance(value, list):
        return [masked(one) for one in value]
    return value


def in_order(requests: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return requests in the order of their conversation.

    An agent may ask for a title beside its first turn, and either may come first.
    """
    return sorted(
        requests,
        key=lambda r: (bool(r["body"].get("tools")), tool_results(r["body"])),
    )


def without_ours(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request without what the proxy is there to change.

    Example:
        >>> without_ours({"headers": {"host": "a", "x": "b"}, "body": {}})
        {'headers': {'x': 'b'}, 'body': {}}
    """
    return {
        part: {k: v for k, v in value.items() if k not in OURS[part]}
        if part in OURS
        else value
        for part, value in request.items()
    }


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each place where two values of JSON differ.

    Example:
        >>> list(differences({"a": [1, 2]}, {"a": [1]}))
        ['a[1]: 2 | <none>']
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in {**one, **other}:
            place = f"{path}.{key}" if path else str(key)
            yield from differences(
                one.get(key, MISSING), other.get(key, MISSING), place
            )
    elif isinstance(one, list) and isinstance(other, list):
        pairs = zip_longest(one, other, fillvalue=MISSING)
        for at, (a, b) in enumerate(pairs):
            yield from differences(a, b, f"{path}[{at}]")
    elif one != other:
        yield f"{path}: {_shown(one, other)} | {_shown(other, one)}"


def _shown(value: Any, other: Any) -> str:
    """Return the part of a text where it leaves the other one."""
    if not isinstance(value, str) or not isinstance(other, str):
        return str(value)[:SHOWN_CHARS]
    pairs = enumerate(zip(value, other, strict=False))
    shared = next((at for at, (a, b) in pairs if a != b), min(len(value), len(other)))
    return value[max(0, shared - SHOWN_CHARS // 2) :][:SHOWN_CHARS]
