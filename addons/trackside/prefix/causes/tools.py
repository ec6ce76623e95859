"""What became of the tools: their order, their number, their text."""

from collections.abc import Iterator
from typing import Any

from trackside.prefix.breaks import Break, Pair, View
from trackside.prefix.effective import all_sorted, encode, tool_value
from trackside.prefix.leaves import text_of
from trackside.prefix.sides import tool_name
from trackside.prefix.spans import BodyError
from trackside.prefix.volatile import find_stamp


def tool_breaks(pair: Pair, returned: frozenset[str]) -> Iterator[Break]:
    """Yield what changed in the tools, each kind once, at its first tool.

    Parameters:
        pair: the two requests.
        returned: names of tools that had been gone for a few turns.
    """
    olds = [unit.digest for unit in pair.old.body.head.tools]
    news = [unit.digest for unit in pair.new.body.head.tools]
    if olds == news:
        return
    old, new = _read(pair.old), _read(pair.new)
    old_names, new_names = [*old], [*new]
    first = _first_differing(olds, news)
    removed = [name for name in old if name not in new]
    added = [name for name in new if name not in old]
    for names, sub in ((removed, "removed"), (added, "added")):
        if names:
            flaps = sub == "added" and returned.issuperset(names)
            yield _break(pair, ("tools_changed", "flap" if flaps else sub), first)
    kept = [name for name in old_names if name in new]
    if kept != [name for name in new_names if name in old]:
        yield _break(pair, ("tools_reordered", ""), first)
    yield from _edited(pair, old, new)
    if len(old) < len(olds) or len(new) < len(news):  # tools that share a name
        yield _break(pair, ("tools_changed", "edited"), first)


def _edited(
    pair: Pair, old: dict[str, tuple[int, Any]], new: dict[str, tuple[int, Any]]
) -> Iterator[Break]:
    seen = set()
    for name, (index, value) in new.items():
        if name not in old or encode(old[name][1]) == encode(value):
            continue
        cause, resolution = _edit(old[name][1], value)
        if cause not in seen:
            seen.add(cause)
            yield pair.breaks_at(
                cause,
                f"tools[{index}]",
                pair.old.before_tool(old[name][0]),
                pair.old.tool(old[name][0]),
                pair.new.tool(index),
                resolution=resolution,
                shift=pair.old.system_bytes,
            )


def _edit(old: Any, new: Any) -> tuple[tuple[str, str], str]:
    if encode(all_sorted(old)) == encode(all_sorted(new)):
        return ("tool_key_order", ""), ""
    if stamp := find_stamp(text_of(old), text_of(new)):
        return ("volatile_stamp", stamp.kind), stamp.resolution
    return ("tools_changed", "edited"), ""


def _break(pair: Pair, cause: tuple[str, str], index: int) -> Break:
    """Return a break at the first tool that is not where it was."""
    old, new = pair.old, pair.new
    has_old = index < len(old.body.head.tools)
    has_new = index < len(new.body.head.tools)
    tools = new.members.get("tools")
    end = tools.end - 1 if tools else new.body.history.tail
    return pair.breaks_at(
        cause,
        f"tools[{index}]",
        old.before_tool(index),
        old.tool(index) if has_old else None,
        new.tool(index) if has_new else end,
        shift=old.system_bytes,
    )


def _first_differing(old: list[int], new: list[int]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))


def _read(view: View) -> dict[str, tuple[int, Any]]:
    """Return each tool's place and what may be printed of it, by name."""
    tools: dict[str, tuple[int, Any]] = {}
    for index in range(len(view.body.head.tools)):
        raw = view.tool(index).of(view.body.raw)
        try:
            value = tool_value(raw)
        except BodyError:
            value = raw.decode("utf-8", "replace")
        tools.setdefault(tool_name(value), (index, value))
    return tools
