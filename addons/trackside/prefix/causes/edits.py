"""Why one turn is not what it was: named by what exactly differs in it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trackside.prefix.dialects import Dialect
from trackside.prefix.effective import encode, message_value
from trackside.prefix.leaves import Leaf, common_front, differing_leaves, text_of
from trackside.prefix.reasoning import has_reasoning, without_reasoning
from trackside.prefix.spans import BodyError
from trackside.prefix.volatile import find_stamp

_PRUNED_RATIO = 0.2  # of the old text, below which a tool result was pruned
_SEAM_CHARS, _MARK_CHARS = 16, 400  # around the place where it was cut
_PLACEHOLDER = re.compile(
    r"[\[<(][^\])>]{0,60}(?:prun|clear|omit|compact|truncat|elid|remov|trimm|shorten)",
    re.IGNORECASE,
)
_TAG = re.compile(r"^\s*<{1,3}/?[A-Za-z_][\w-]*")
_MEDIA = frozenset(
    {
        *("image", "image_url", "input_image", "document", "file", "input_file"),
        *("input_audio", "audio", "video", "video_url"),
    }
)
_CALL_PATHS = re.compile(r"^\.(?:tool_calls|function_call|arguments|input)\b|\.input\b")


@dataclass(frozen=True, slots=True)
class Edit:
    """Two versions of one turn."""

    old: Any  # what may be printed of it
    new: Any
    role: str
    dialect: Dialect
    leaves: tuple[Leaf, ...]
    occurs: Callable[[str], bool]
    """Whether a text stands elsewhere in one of the two requests."""


def name_edit(
    old: bytes, new: bytes, role: str, dialect: Dialect, occurs: Callable[[str], bool]
) -> tuple[tuple[str, str], str, str]:
    """Return the cause and sub of an edit, the path in the turn, a clock's resolution.

    Example:
        >>> from trackside.prefix.dialects import DIALECTS
        >>> old = b'{"role":"assistant","content":"Let me look. "}'
        >>> new = b'{"role":"assistant","content":"Let me look."}'
        >>> name_edit(old, new, "assistant", DIALECTS["chat"], lambda text: False)
        (('history_edited', 'whitespace'), '.content', '')
    """
    try:
        mine, other = message_value(old, dialect), message_value(new, dialect)
    except BodyError:
        mine, other = (raw.decode("utf-8", "replace") for raw in (old, new))
    leaves = tuple(differing_leaves(mine, other))
    path = leaves[0].path if leaves else ""
    if stamp := find_stamp(text_of(mine), text_of(other)):
        return ("volatile_stamp", stamp.kind), path, stamp.resolution
    edit = Edit(mine, other, role, dialect, leaves, occurs)
    for cause, is_it in EDITS.items():
        if is_it(edit):
            return cause, path, ""
    return ("history_edited", "text"), path, ""


def _drops_reasoning(edit: Edit) -> bool:
    rest, other = without_reasoning(edit.old), without_reasoning(edit.new)
    return has_reasoning(edit.old) and encode(rest) == encode(other)


def _rewrites_call(edit: Edit) -> bool:
    return edit.role == "assistant" and all(
        _CALL_PATHS.search(leaf.path) for leaf in edit.leaves
    )


def _reorders_parts(edit: Edit) -> bool:
    """Tell parts of one message that changed places, as results of parallel calls."""
    old, new = (
        value.get("content") if isinstance(value, Mapping) else None
        for value in (edit.old, edit.new)
    )
    if not isinstance(old, list) or not isinstance(new, list):
        return False
    return old != new and sorted(map(encode, old)) == sorted(map(encode, new))


def _changes_space(edit: Edit) -> bool:
    return all(
        isinstance(leaf.old, str)
        and isinstance(leaf.new, str)
        and "".join(leaf.old.split()) == "".join(leaf.new.split())
        for leaf in edit.leaves
    )


def _changes_media(edit: Edit) -> bool:
    old, new = _without_media(edit.old), _without_media(edit.new)
    return bool(old == new and (old != edit.old or new != edit.new))


def _without_media(value: Any) -> Any:
    """Return a value without its images and files, and without what wraps the rest."""
    if isinstance(value, list):
        rest = [_without_media(part) for part in value if not _is_media(part)]
        texts = [part for part in rest if isinstance(part, str)]
        return "".join(texts) if len(texts) == len(rest) else rest
    if not isinstance(value, Mapping):
        return value
    if value.keys() == {"type", "text"}:
        return value["text"]
    return {
        name: _without_media(inner)
        for name, inner in value.items()
        if name not in ("images", "audio")
    }


def _is_media(part: Any) -> bool:
    return isinstance(part, Mapping) and str(part.get("type")) in _MEDIA


def _prunes_result(edit: Edit) -> bool:
    old, new = text_of(edit.old), text_of(edit.new)
    if edit.role != "tool" or len(new) >= len(old):
        return False
    if len(new) < _PRUNED_RATIO * len(old):
        return True
    front = common_front(old, new)
    come = new[max(0, front - _SEAM_CHARS) : front + _MARK_CHARS]
    return _PLACEHOLDER.search(come) is not None


def _moves_injection(edit: Edit) -> bool:
    """Tell a block put in or taken out, by its tag or by its standing elsewhere."""
    old, new = text_of(edit.old), text_of(edit.new)
    front = common_front(old, new)
    back = common_front(old[front:][::-1], new[front:][::-1])
    gone, come = (text[front : len(text) - back] for text in (old, new))
    if gone and come:
        return bool(_TAG.match(gone) and _TAG.match(come))
    block = _whole_tag(gone or come, old[:front])
    return bool(_TAG.match(block)) or (len(block) > 8 and edit.occurs(block))


def _whole_tag(block: str, before: str) -> str:
    """Give back the bracket that block and rest happen to share at the seam."""
    return "<" + block if before.endswith("<") and block.endswith("<") else block


EDITS: dict[tuple[str, str], Callable[[Edit], bool]] = {
    ("history_reordered", ""): _reorders_parts,
    ("history_edited", "reasoning_dropped"): _drops_reasoning,
    ("history_edited", "tool_call_rewritten"): _rewrites_call,
    ("history_edited", "whitespace"): _changes_space,
    ("history_edited", "media"): _changes_media,
    ("history_edited", "tool_result_pruned"): _prunes_result,
    ("injection_moved", ""): _moves_injection,
}
"""Cause and sub -> whether an edit is it; the first that says yes names the edit."""
