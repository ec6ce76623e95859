"""Members beside the prompt: some pick the cache, most stay on the wire."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from trackside.prefix.breaks import BENIGN, Break, Pair
from trackside.prefix.dialects import LIMITS, PARAMETERS
from trackside.prefix.spans import BodyError, Span, decode_value

# Of these members one key decides; the others bound or format the answer.
_DECIDING_KEY = {"reasoning": "effort", "thinking": "type", "output_config": "effort"}
_NOTHING: tuple[Any, ...] = (None, "", [], {})


def parameter_breaks(pair: Pair) -> Iterator[Break]:
    """Yield a break for each member that changed, other than head and history."""
    old, new = pair.old.members, pair.new.members
    dialect = pair.new.body.dialect
    prompt = {"tools", dialect.history, dialect.system, "previous_response_id"}
    for name in [*new, *(name for name in old if name not in new)]:
        if name not in prompt:
            mine = _value(pair.old.body.raw, old.get(name))
            other = _value(pair.new.body.raw, new.get(name))
            for path, sub in _changes(name, mine, other):
                yield _break(pair, name, path, sub)
    if [name for name in new if name in old] != [name for name in old if name in new]:
        at = pair.new.body.history.tail
        yield pair.breaks_at(
            ("wire_only", "top_level_order"), "", 0, None, at, side=BENIGN
        )


def _changes(name: str, old: Any, new: Any) -> Iterator[tuple[str, str]]:
    """Yield the path and the sub of each change within one member."""
    if old == new:
        return
    key = _DECIDING_KEY.get(name)
    if name == "options":
        mine, other = (value if isinstance(value, dict) else {} for value in (old, new))
        for inner in sorted(mine.keys() | other.keys()):
            if mine.get(inner) != other.get(inner):
                yield f"{name}.{inner}", _sub(inner)
    elif key and _get(old, key) == _get(new, key):
        yield name, "limits"
    else:
        yield name, _sub(name)


def _sub(name: str) -> str:
    return PARAMETERS.get(name) or ("limits" if name in LIMITS else "metadata")


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else value


def _break(pair: Pair, name: str, path: str, sub: str) -> Break:
    old, new = pair.old.members.get(name), pair.new.members.get(name)
    at: Span | int = new or pair.new.body.history.tail
    if sub in ("limits", "metadata"):
        return pair.breaks_at(("wire_only", sub), path, 0, None, at, side=BENIGN)
    # A choice of tools is rarely rendered: a change, at no cost of its own.
    before = pair.old.size_bytes if sub == "tool_choice" else 0
    found = pair.breaks_at(("params_changed", sub), path, before, None, at)
    return replace(found, old=old, new=new)


def _value(raw: bytes, span: Span | None) -> Any:
    """Return a member's value, None for one that says nothing."""
    if span is None:
        return None
    try:
        value = decode_value(span.of(raw))
    except BodyError:
        return span.of(raw)
    return None if value in _NOTHING else value
