"""How much of one request lives on in another: by content, whatever was touched up."""

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass

from trackside.prefix.align import gaps, match_in_order
from trackside.prefix.effective import effective_message, message_value
from trackside.prefix.leaves import text_of
from trackside.prefix.spans import BodyError, common_bytes
from trackside.prefix.units import Body, Unit

_FLEETING = b"0123456789 \t\n\r-:.,+\\"
"""Bytes in which clocks, counters and spacing differ, dropped before comparing."""

_ANSWERS = ("assistant", "tool")
_TAIL_UNITS = 4
_NEARLY = 0.8  # of a turn's text: the turn, touched up
_MIN_BYTES = 12  # of a text, for its standing in another to mean something


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a request keeps of an earlier one, in bytes of the earlier one's turns."""

    shared: int  # turns both begin with
    shared_bytes: int
    kept_bytes: int  # of the turns behind those, found again in order
    lost_bytes: int  # of the turns behind those, not found again
    kept_answers: int  # assistant and tool turns found again behind the shared ones
    keeps_tail: bool  # one of the last four turns is among those found again

    @property
    def kept_ratio(self) -> float:
        """Return the part of the turns behind the shared ones that is kept, 0 to 1."""
        behind = self.kept_bytes + self.lost_bytes
        return self.kept_bytes / behind if behind else 1.0

    @property
    def contained_ratio(self) -> float:
        """Return the part of all turns that is kept, 0 to 1."""
        whole = self.shared_bytes + self.kept_bytes + self.lost_bytes
        return (self.shared_bytes + self.kept_bytes) / whole if whole else 0.0


def shared_turns(earlier: Body, later: Body) -> int:
    """Return how many turns both begin with. O(log turns), from the chains.

    Example:
        >>> from trackside.prefix.body import read_body
        >>> from trackside.prefix.dialects import DIALECTS
        >>> one = read_body(b'{"messages":[{"role":"user"}]}', DIALECTS["chat"])
        >>> shared_turns(one, one)
        1
    """
    low, high = 0, min(len(earlier.chain), len(later.chain))
    while low < high:
        middle = (low + high + 1) // 2
        if earlier.chain[middle - 1] == later.chain[middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low


def compare_turns(
    earlier: Body, later: Body, cache: MutableMapping[int, int]
) -> Likeness:
    """Return what `later` keeps of the turns of `earlier`.

    Parameters:
        cache: loose digest by unit digest, filled on the way; the caller bounds it.
    """
    shared = shared_turns(earlier, later)
    old, new = earlier.turns[shared:], later.turns[shared:]
    pairs = match_in_order(
        loose_turns(earlier, old, cache), loose_turns(later, new, cache)
    )
    kept = sum(old[i].size_bytes for i, _ in pairs)
    answers = sum(old[i].role in _ANSWERS for i, _ in pairs)
    tail = any(i >= len(old) - _TAIL_UNITS for i, _ in pairs)
    for here, there in gaps(pairs, (len(old), len(new))):
        for i, j in zip(here, there, strict=False):
            if old[i].role == new[j].role:
                part = alike_ratio(earlier, old[i], later, new[j])
                kept += round(part * old[i].size_bytes)
                answers += part >= _NEARLY and old[i].role in _ANSWERS
    behind = sum(unit.size_bytes for unit in old)
    return Likeness(
        shared,
        sum(unit.size_bytes for unit in earlier.turns[:shared]),
        kept,
        behind - kept,
        answers,
        tail,
    )


def heads_akin(earlier: Body, later: Body) -> bool:
    """Return whether two heads can be of one thread, though they may have changed.

    Half of the tools in common will do, or half of the system text.
    """
    if earlier.head_hash == later.head_hash:
        return True
    tools = {unit.digest for unit in earlier.head.tools}
    others = {unit.digest for unit in later.head.tools}
    if tools and 2 * len(tools & others) >= min(len(tools), len(others)) > 0:
        return True
    mine, other = _system_text(earlier), _system_text(later)
    return bool(mine and other) and _alike(mine, other) > 0


def _system_text(body: Body) -> bytes:
    leading = b"".join(body.unit_bytes(unit) for unit in body.leading)
    return body.head.system_raw + leading


def is_answered(body: Body, behind: int = 0) -> bool:
    """Return whether an answer stands behind the first `behind` turns.

    A request without any begins something; with one, it goes on.
    """
    return any(unit.role in _ANSWERS for unit in body.turns[behind:])


def opener_turns(body: Body) -> int:
    """Return how many turns stand before the first answer."""
    roles = (unit.role in _ANSWERS for unit in body.turns)
    return next((n for n, is_answer in enumerate(roles) if is_answer), len(body.turns))


def loose_turns(
    body: Body, units: Sequence[Unit], cache: MutableMapping[int, int]
) -> list[int]:
    """Return a digest of each unit that clocks, counters and spacing leave alone.

    Parameters:
        cache: loose digest by unit digest, filled on the way; the caller bounds it.
    """
    return [_loose(body, unit, cache) for unit in units]


def _loose(body: Body, unit: Unit, cache: MutableMapping[int, int]) -> int:
    found = cache.get(unit.digest)
    if found is None:
        told = body.unit_bytes(unit)
        if not body.history.is_text:
            told = effective_message(told, body.dialect)[1]
        found = cache[unit.digest] = hash(told.translate(None, _FLEETING))
    return found


def alike_ratio(earlier: Body, old: Unit, later: Body, new: Unit) -> float:
    """Return the part of a turn's text that another begins and ends with, 0 to 1.

    Less than half of the longer counts for nothing, as any two texts share a little,
    unless the longer is the shorter with something put in.
    """
    return _alike(_told(earlier, old), _told(later, new))


def _told(body: Body, unit: Unit) -> bytes:
    """Return the text of a turn, without the JSON around it."""
    raw = body.unit_bytes(unit)
    if body.history.is_text:
        return raw
    try:
        return text_of(message_value(raw, body.dialect)).encode("utf-8", "replace")
    except BodyError:
        return raw


def _alike(old: bytes, new: bytes) -> float:
    front = common_bytes(old, new)
    limit = min(len(old), len(new)) - front
    back = common_bytes(old[-limit:][::-1], new[-limit:][::-1]) if limit else 0
    if not max(len(old), len(new)):
        return 1.0
    is_put_in = front + back == min(len(old), len(new)) >= _MIN_BYTES
    if is_put_in or 2 * (front + back) >= max(len(old), len(new)):
        return (front + back) / len(old)
    return 0.0
