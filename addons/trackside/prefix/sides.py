"""Calls a harness makes beside its turns: titles and summaries."""

import re
from typing import Any

from trackside.prefix.hints import Hints
from trackside.prefix.spans import BodyError, decode_value
from trackside.prefix.threads import Thread
from trackside.prefix.units import Body, Unit

_TITLE = re.compile(rb"\b(?:title|topic|summar)", re.IGNORECASE)
_TITLE_TURNS, _TITLE_BYTES = 3, 6000  # at most, of turns and of system text
_MIN_TURNS = 3  # a thread shorter than this is not worth a summary
_SAMPLE_BYTES = 24
_SAMPLE = re.compile(rb'[^"\\{}\[\]]{24,}')
_CHECKED_UNITS = 64
_WHOLE_RATIO = 0.5


def is_side_call(body: Body, hints: Hints, *, beside_tools: bool) -> bool:
    """Return whether a request is a call beside the turns of its run.

    Parameters:
        body: the request.
        hints: what its headers tell.
        beside_tools: whether the thread it would belong to, or else any thread of the
            run, sends tools. Those that go on with a task do not drop all of them.

    A call that comes before the first turn is known by the title it asks for.
    """
    if hints.kind:
        return True
    return not body.head.tools and (beside_tools or _asks_for_a_title(body))


def _asks_for_a_title(body: Body) -> bool:
    """Return whether a short request says in so many words that it wants a title."""
    leading = b"".join(body.unit_bytes(unit) for unit in body.leading)
    system = body.head.system_raw + leading
    return (
        len(body.turns) <= _TITLE_TURNS
        and len(system) <= _TITLE_BYTES
        and all(unit.role == "user" for unit in body.turns)
        and _TITLE.search(system) is not None
    )


def tool_names(body: Body) -> frozenset[str]:
    """Return the names of the tools a request sends."""
    raw = body.head.tools_raw
    values = (_value(raw[unit.start : unit.end]) for unit in body.head.tools)
    return frozenset(tool_name(value) for value in values)


def tool_name(value: Any) -> str:
    """Return the name of a tool; that of its kind if it has none.

    Example:
        >>> tool_name({"type": "function", "function": {"name": "read"}})
        'read'
        >>> tool_name({"type": "web_search"})
        'web_search'
    """
    if not isinstance(value, dict):
        return ""
    inner = value.get("function")
    holder = inner if isinstance(inner, dict) else value
    return str(holder.get("name") or value.get("type") or "")


def returned_tools(thread: Thread, body: Body) -> frozenset[str]:
    """Note the tools of a turn; return those that were gone and are back."""
    known = thread.tool_names
    if known and thread.body and thread.body.head is body.head:
        known.append(known[-1])
        return frozenset()
    names = tool_names(body)
    seen = frozenset[str]().union(*known)
    returned = (names - known[-1]) & seen if known else frozenset[str]()
    known.append(names)
    return returned


def _value(raw: bytes) -> Any:
    try:
        return decode_value(raw)
    except BodyError:
        return None


def asks_for_summary(body: Body, earlier: Body | None) -> bool:
    """Return whether a request looks like "now sum up": a new user turn after tools.

    People speak after an answer; a harness that is short of room does not wait. One
    that ends every request so, or with a turn it had sent before, means another thing.

    Parameters:
        body: the request.
        earlier: the one it goes on from, if any.
    """
    if not _ends_behind_tools(body) or len(body.turns) <= _MIN_TURNS:
        return False
    if earlier is None:
        return True
    last = body.turns[-1].digest
    return not _ends_behind_tools(earlier) and all(
        unit.digest != last for unit in earlier.turns
    )


def _ends_behind_tools(body: Body) -> bool:
    return [unit.role for unit in body.turns[-2:]] == ["tool", "user"]


def told_part(earlier: Body, later_raw: bytes) -> str:
    """Return how much of a thread a request tells again, as text within its own.

    Returns "whole" if the later half of the turns is there, "part" if two turns are,
    else "". Looks for a sample of each of the last 64 turns: O(bytes) each.
    """
    turns = earlier.turns[-_CHECKED_UNITS:]
    if len(turns) < _MIN_TURNS:
        return ""
    found = [_is_told(earlier, unit, later_raw) for unit in turns]
    sampled = [is_found for is_found in found if is_found is not None]
    half = [is_found for is_found in found[len(found) // 2 :] if is_found is not None]
    if half and sum(half) >= _WHOLE_RATIO * len(half):
        return "whole"
    return "part" if sum(sampled) > 1 else ""


def _is_told(earlier: Body, unit: Unit, later_raw: bytes) -> bool | None:
    """Return whether a turn's longest plain stretch occurs; None if it has none."""
    stretches = _SAMPLE.findall(earlier.unit_bytes(unit))
    if not stretches:
        return None
    longest = max(stretches, key=len)
    middle = max(0, len(longest) // 2 - _SAMPLE_BYTES)
    return longest[middle : middle + 2 * _SAMPLE_BYTES] in later_raw
