"""What became of the system text, wherever the dialect keeps it."""

import re
from collections.abc import Iterator

from trackside.prefix.breaks import Break, Pair, View
from trackside.prefix.leaves import common_front, text_of
from trackside.prefix.spans import BodyError, Span, decode_value
from trackside.prefix.volatile import find_stamp

_LOOKED_BACK = 4000  # characters before a difference in which its heading is sought
_BLOCK = re.compile(r"\n[ \t]*\n|\n(?=#{1,6} )")
_TAG = re.compile(r"<(/?)([A-Za-z_][\w-]*)>")
_FAMILIES = re.compile(
    r"(?P<rules_file>(?:AGENTS|CLAUDE|GEMINI)\.md|\.cursorrules|<rules|project rules)"
    r"|(?P<memory><\w*memor|\bmemor(?:y|ies)\b|MEMORY\.md)"
    r"|(?P<env><env|environment|git ?status|working directory|\bcwd\b|platform:"
    r"|directory structure|file tree|open files)"
    r"|(?P<mode>\bmode\b|thinking level|reasoning effort|approval|permissions?:)",
    re.IGNORECASE,
)


def system_breaks(pair: Pair) -> Iterator[Break]:
    """Yield what changed in the system text: its member, then leading messages."""
    old, new = pair.old, pair.new
    yield from member_breaks(pair)
    yield from _blocks(pair, [*_leading(old)], [*_leading(new)], old.before_unit(0))


def member_breaks(pair: Pair) -> Iterator[Break]:
    """Yield what changed in the member that holds the system text."""
    old, new = pair.old, pair.new
    yield from _blocks(pair, [*_member(old)], [*_member(new)], old.before_system(0))


def _member(view: View) -> Iterator[tuple[str, int, Span, int]]:
    name = view.body.dialect.system or ""
    blocks = view.body.head.system
    is_list = view.body.head.system_raw.startswith(b"[")
    for index, unit in enumerate(blocks):
        path = f"{name}[{index}]" if is_list else name
        yield path, view.before_system(index), view.system(index), unit.digest


def _leading(view: View) -> Iterator[tuple[str, int, Span, int]]:
    for index, unit in enumerate(view.body.leading):
        yield view.path(index), view.before_unit(index), view.unit(unit), unit.digest


def _blocks(
    pair: Pair,
    old: list[tuple[str, int, Span, int]],
    new: list[tuple[str, int, Span, int]],
    start: int,
) -> Iterator[Break]:
    shift = -pair.old.tools_bytes
    for (_, before, mine, digest), (path, _, other, found) in zip(
        old, new, strict=False
    ):
        if digest != found:
            cause, resolution = _change(
                _text(mine.of(pair.old.body.raw)), _text(other.of(pair.new.body.raw))
            )
            yield pair.breaks_at(
                cause,
                path,
                before,
                mine,
                other,
                resolution=resolution,
                shift=shift,
            )
    if len(old) > len(new):
        path, before, mine, _ = old[len(new)]
        at = pair.new.body.history.base
        yield pair.breaks_at(
            ("system_changed", "text"), path, before, mine, at, shift=shift
        )
    elif len(new) > len(old):
        path, _, other, _ = new[len(old)]
        before = old[-1][1] + old[-1][2].end - old[-1][2].start if old else start
        yield pair.breaks_at(
            ("system_changed", "text"), path, before, None, other, shift=shift
        )


def _change(old: str, new: str) -> tuple[tuple[str, str], str]:
    if stamp := find_stamp(old, new):
        return ("volatile_stamp", stamp.kind), stamp.resolution
    return ("system_changed", system_family(old, new)), ""


def system_family(old: str, new: str) -> str:
    """Return what part of a system text changed, by the last heading before it.

    Example:
        >>> system_family("Be kind. gitStatus: clean", "Be kind. gitStatus: 1 file")
        'env'
    """
    at = common_front(old, new)
    text = max(new, old, key=len)  # the one that holds what was put in or taken out
    begins = at + len(text[at:]) - len(text[at:].lstrip())
    found = list(_FAMILIES.finditer(text, _block_start(text, begins), begins + 40))
    return str(found[-1].lastgroup) if found else "text"


def _block_start(text: str, at: int) -> int:
    """Return where the tag that is open at a place begins, else its paragraph."""
    start = max(0, at - _LOOKED_BACK)
    open_tags: list[tuple[str, int]] = []
    for tag in _TAG.finditer(text, start, at):
        if not tag[1]:
            open_tags.append((tag[2], tag.start()))
        elif open_tags and open_tags[-1][0] == tag[2]:
            open_tags.pop()
    if open_tags:
        return open_tags[-1][1]
    blocks = list(_BLOCK.finditer(text, start, at + 1))
    return blocks[-1].start() if blocks else start


def _text(raw: bytes) -> str:
    try:
        value = decode_value(raw)
    except BodyError:
        return raw.decode("utf-8", "replace")
    if isinstance(value, dict) and "content" in value:
        value = value["content"]
    elif isinstance(value, dict) and "text" in value:
        value = value["text"]
    return text_of(value)
