"""Where two JSON values differ, leaf by leaf, with paths."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_MAX_LEAVES = 64


class _Missing:
    """Stands for a leaf that one of two values does not have."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Leaf:
    """One place at which two values differ."""

    path: str  # from the value, as in ".content[0].text"
    old: Any  # MISSING where the old value has nothing
    new: Any


def differing_leaves(old: Any, new: Any) -> list[Leaf]:
    """Return up to 64 places at which two JSON values differ, in the order of `new`.

    Example:
        >>> differing_leaves({"a": [1, 2]}, {"a": [1, 3], "b": 0})
        [Leaf(path='.a[1]', old=2, new=3), Leaf(path='.b', old=MISSING, new=0)]
    """
    found = []
    for leaf in _walk(old, new, ""):
        found.append(leaf)
        if len(found) == _MAX_LEAVES:
            break
    return found


def _walk(old: Any, new: Any, path: str) -> Iterator[Leaf]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*new, *(name for name in old if name not in new)]:
            yield from _walk(
                old.get(name, MISSING), new.get(name, MISSING), f"{path}.{name}"
            )
        if old == new and [*old] != [*new]:
            yield Leaf(path, [*old], [*new])
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            mine = old[index] if index < len(old) else MISSING
            other = new[index] if index < len(new) else MISSING
            yield from _walk(mine, other, f"{path}[{index}]")
    elif old != new or type(old) is not type(new):
        yield Leaf(path, old, new)


_LABELS = frozenset({"role", "type"})


def text_of(value: Any) -> str:
    """Return the texts of a value, one a line, without roles and types.

    Example:
        >>> text_of({"role": "user", "content": [{"type": "text", "text": "a"}]})
        'a'
    """
    return "\n".join(_texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in _LABELS:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def common_front(old: str, new: str) -> int:
    """Return how many characters two texts begin with alike.

    Example:
        >>> common_front("abc", "abd")
        2
    """
    limit = min(len(old), len(new))
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if old[:middle] == new[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
