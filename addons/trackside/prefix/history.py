"""Cut the turns out of a body, taking over what an earlier body began with."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from trackside.prefix.dialects import Dialect
from trackside.prefix.effective import effective_message
from trackside.prefix.spans import (
    BodyError,
    Span,
    common_bytes,
    decode_elements,
    decode_members,
    element_spans,
    find_member,
    is_value,
)
from trackside.prefix.units import Body, History, Unit

# Texts are cut behind blank lines: an edit leaves the other pieces as they were.
_BLANK_LINES = re.compile(rb"(?:\\n){2,}")
_SELF_ENDING = (b"}", b"]", b'"')


def read_history(
    raw: bytes, dialect: Dialect, known: Body | None, agreed: int | None = None
) -> History:
    """Return the turns of a body as units.

    Units that `known` begins with as well are taken over, not read: the cost is the
    comparison of what is shared, and reading what is new.

    Parameters:
        agreed: bytes of the turns that both begin with, if that has been compared.

    Raises:
        BodyError: a body without a readable history; it says why.
    """
    base, is_text = open_history(raw, dialect, known)
    shared: tuple[Unit, ...] = ()
    if known is not None and known.history.is_text == is_text:
        if agreed is None:
            agreed = common_bytes(raw, known.raw, base, known.history.base)
        shared = _shared_units(known, agreed)
    start = base + (shared[-1].end if shared else 0)
    tail, spans = _read_new(raw, start, known, is_text=is_text, is_first=not shared)
    fresh = [_unit(raw, base, span, dialect, is_text) for span in spans]
    return History(base, tail, (*shared, *fresh), len(shared), is_text)


def open_history(raw: bytes, dialect: Dialect, known: Body | None) -> tuple[int, bool]:
    """Return the offset just behind what opens the turns, and whether they are a text.

    Raises:
        BodyError: a body without turns; it says why.
    """
    if known is not None and raw.startswith(known.raw[: known.history.base]):
        return known.history.base, known.history.is_text
    at = find_member(raw, dialect.history)
    if at is None:
        decode_members(raw)  # says what is wrong if it is no object at all
        raise BodyError(f"no {dialect.history!r} in the body")
    if raw[at : at + 1] not in (b"[", b'"'):
        raise BodyError(f"{dialect.history!r} is neither a list nor a text")
    return at + 1, raw[at : at + 1] == b'"'


def _shared_units(known: Body, agreed: int) -> tuple[Unit, ...]:
    units = known.history.units
    count = bisect_right(units, agreed, key=lambda unit: unit.end)
    if known.history.is_text:
        return units[: min(count, len(units) - 1)]  # the last piece may have grown
    while count and known.unit_bytes(units[count - 1])[-1:] not in _SELF_ENDING:
        count -= 1  # 1 is not 12, though it begins like it
    return units[:count]


def _opening(*, is_text: bool, is_first: bool) -> bytes:
    """Return what makes the rest of a body, cut between two turns, whole again."""
    if is_text:
        return b'"'
    return b"[" if is_first else b"[0"


def _read_new(
    raw: bytes, start: int, known: Body | None, *, is_text: bool, is_first: bool
) -> tuple[int, Sequence[Span]]:
    """Return where the history ends, and the places of its turns from `start` on."""
    if known is not None and known.history.is_text == is_text:
        behind = known.raw[known.history.tail :]
        tail = len(raw) - len(behind)
        if tail >= start and raw.endswith(behind):
            try:  # what stands between must be the rest of one list or text
                return tail, _spans(
                    raw, start, tail, is_text=is_text, is_first=is_first
                )
            except BodyError:
                pass  # the same end, behind another history
    tail = _find_tail(raw, start, is_text=is_text, is_first=is_first)
    return tail, _spans(raw, start, tail, is_text=is_text, is_first=is_first)


def _find_tail(raw: bytes, start: int, *, is_text: bool, is_first: bool) -> int:
    opening = _opening(is_text=is_text, is_first=is_first)
    try:
        rest = decode_members(b'{"":' + opening + raw[start:])
    except BodyError:
        decode_members(raw)  # tells of the body as it was sent, if that is broken
        raise
    return start + memoryview(rest[""]).nbytes - len(opening) - 1


def _spans(
    raw: bytes, start: int, tail: int, *, is_text: bool, is_first: bool
) -> Sequence[Span]:
    opening = _opening(is_text=is_text, is_first=is_first)
    if is_text:
        if not is_value(opening + raw[start : tail + 1]):
            raise BodyError("not the rest of a text")
        return _blocks(raw, start, tail)
    elements = decode_elements(opening + raw[start : tail + 1])
    return element_spans(raw, elements if is_first else elements[1:], start)


def _blocks(raw: bytes, start: int, tail: int) -> Sequence[Span]:
    spans, at = [], start
    for blank in _BLANK_LINES.finditer(raw, start, tail):
        spans.append(Span(at, blank.end()))
        at = blank.end()
    if at < tail or not spans:
        spans.append(Span(at, tail))
    return spans


def _unit(raw: bytes, base: int, span: Span, dialect: Dialect, is_text: bool) -> Unit:
    sent = span.of(raw)
    role, told = ("text", sent) if is_text else effective_message(sent, dialect)
    return Unit(span.start - base, span.end - base, role, hash(told))
