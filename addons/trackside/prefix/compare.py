"""Compare two requests: every break, in render order, and what can be reused."""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass

from trackside.prefix.breaks import BENIGN, HARNESS, Break, Pair
from trackside.prefix.causes.parameters import parameter_breaks
from trackside.prefix.causes.system import system_breaks
from trackside.prefix.causes.tools import tool_breaks
from trackside.prefix.causes.turns import Turns
from trackside.prefix.causes.wire import alike_head, wire_breaks
from trackside.prefix.likeness import compare_turns
from trackside.prefix.spans import Span, common_bytes
from trackside.prefix.units import Body


@dataclass(frozen=True, slots=True)
class Comparison:
    """A request against the one before."""

    breaks: tuple[Break, ...]  # in render order
    shared_bytes: int  # of the earlier prompt that a cache can reuse
    previous_bytes: int  # of the earlier prompt
    shared_turns: int  # messages both begin with, held and system ones among them
    first_divergent_byte: int | None  # of the bodies; None if they are equal
    is_step_back: bool  # the later ends where the earlier goes on

    @property
    def is_append_only(self) -> bool:
        """Return whether nothing on the harness side breaks the prefix."""
        return not any(found.side == HARNESS for found in self.breaks)

    @property
    def reuse_ratio(self) -> float:
        """Return the reusable part of the earlier prompt, 0 to 1."""
        return self.shared_bytes / self.previous_bytes if self.previous_bytes else 1.0


def compare(
    earlier: Body,
    later: Body,
    loose: MutableMapping[int, int],
    *,
    is_summed_up: bool = False,
    border: str = "no",
    returned_tools: frozenset[str] = frozenset(),
) -> Comparison:
    """Compare two requests of one dialect.

    An append to a known body costs the bytes it adds; anything else is for a thread of
    its own: tens of milliseconds for megabytes.

    Parameters:
        earlier: the request before.
        later: this one.
        loose: the digests kept for `likeness`.
        is_summed_up: a summary was asked for between the two.
        border: "yes" if the later is known to be another task, "maybe" if nothing but
            the content tells, "no" if it goes on with the earlier.
        returned_tools: tools that had been gone for a few turns and are back.
    """
    if _only_appends(earlier, later):
        return _appended(earlier, later)
    pair = Pair.of(earlier, later)
    if _appends_in_prompt(earlier, later):
        return _appended_in_prompt(pair)
    turns = Turns(
        pair,
        compare_turns(earlier, later, loose),
        is_summed_up=is_summed_up,
        border=border,
    )
    found = [
        *parameter_breaks(pair),
        *tool_breaks(pair, returned_tools),
        *system_breaks(pair),
        *([] if _text_goes_on(earlier, later) else turns.breaks()),
        *wire_breaks(pair, _alike_units(pair, turns)),
    ]
    return _comparison(pair, found)


def _comparison(pair: Pair, found: list[Break]) -> Comparison:
    earlier, later = pair.old.body, pair.new.body
    found.sort(key=lambda one: (one.offset, one.raw_offset))
    deciding = [one.offset for one in found if one.side != BENIGN]
    step_back = not deciding and later.history_bytes < earlier.history_bytes
    whole = later.size_bytes if step_back else earlier.size_bytes
    return Comparison(
        tuple(found),
        min(deciding, default=whole),
        earlier.size_bytes,
        _shared_units(earlier, later),
        divergent_byte(earlier.raw, later.raw, _agreed_bytes(earlier, later)),
        step_back,
    )


def _only_appends(earlier: Body, later: Body) -> bool:
    """Return whether the later body is the earlier one with turns put at its end.

    Units are taken over from one body to the next where their bytes and all before
    them are the same: if the last one was, all were.
    """
    mine, other = earlier.history, later.history
    count = len(mine.units)
    if count and (
        len(other.units) < count or other.units[count - 1] is not mine.units[-1]
    ):
        return False
    return (
        later.head is earlier.head
        and later.raw.startswith(earlier.raw[: mine.base])
        and later.raw[other.tail :] == earlier.raw[mine.tail :]
    )


def _appended(earlier: Body, later: Body) -> Comparison:
    agreed = earlier.history.base + earlier.history_bytes
    return Comparison(
        (),
        earlier.size_bytes,
        earlier.size_bytes,
        len(earlier.history.units),
        divergent_byte(earlier.raw, later.raw, agreed),
        is_step_back=False,
    )


def _appends_in_prompt(earlier: Body, later: Body) -> bool:
    """Return whether the later prompt is the earlier one with turns put at its end."""
    if later.head is not earlier.head:
        return False
    if later.history.is_text:
        return _text_goes_on(earlier, later)
    return [unit.digest for unit in later.leading] == [
        unit.digest for unit in earlier.leading
    ] and later.chain[: len(earlier.chain)][-1:] == earlier.chain[-1:]


def _appended_in_prompt(pair: Pair) -> Comparison:
    """Return what differs on the wire alone, or beside the prompt."""
    old, new = pair.old.body, pair.new.body
    same = _taken_over(old, new)
    units = zip(old.history.units[same:], new.history.units[same:], strict=False)
    changed = (
        (
            pair.new.path(n),
            old.head.size_bytes + mine.start,
            old.span(mine),
            new.span(other),
        )
        for n, (mine, other) in enumerate(units, same)
        if mine is not other
    )
    found = [] if new.history.is_text else [*wire_breaks(pair, changed)]
    if not (
        new.raw.startswith(old.raw[: old.history.base])
        and new.raw[new.history.tail :] == old.raw[old.history.tail :]
    ):
        found += parameter_breaks(pair)
    return _comparison(pair, found)


def _text_goes_on(earlier: Body, later: Body) -> bool:
    mine, other = earlier.history, later.history
    return (
        mine.is_text
        and other.is_text
        and later.raw.startswith(earlier.raw[mine.base : mine.tail], other.base)
    )


def _alike_units(pair: Pair, turns: Turns) -> Iterator[tuple[str, int, Span, Span]]:
    """Yield path, bytes before, and places of what may differ on the wire alone."""
    yield from alike_head(pair)
    old, new = pair.old, pair.new
    units, others = old.body.history.units, new.body.history.units
    before = old.body.head.size_bytes
    for i, j in turns.aligned():
        if units[i] is not others[j]:
            at = before + units[i].start
            yield new.path(j), at, old.unit(units[i]), new.unit(others[j])


def _shared_units(earlier: Body, later: Body) -> int:
    shared = _taken_over(earlier, later)
    pairs = zip(
        earlier.history.units[shared:], later.history.units[shared:], strict=False
    )
    for mine, other in pairs:
        if mine.digest != other.digest:
            break
        shared += 1
    return shared


def _taken_over(earlier: Body, later: Body) -> int:
    """Return how many units the later took over from the earlier: if one, all before.

    Example:
        >>> from trackside.prefix.body import read_body
        >>> from trackside.prefix.dialects import DIALECTS
        >>> one = read_body(b'{"messages":[{"role":"user"}]}', DIALECTS["chat"])
        >>> _taken_over(one, read_body(one.raw, DIALECTS["chat"], one))
        1
    """
    mine, other = earlier.history.units, later.history.units
    count = min(later.history.shared, len(mine))
    return count if count and mine[count - 1] is other[count - 1] else 0


def _agreed_bytes(earlier: Body, later: Body) -> int:
    """Return up to where two bodies are known to agree, from what was taken over."""
    mine = earlier.history
    count = _taken_over(earlier, later)
    if count and later.raw.startswith(earlier.raw[: mine.base]):
        return mine.base + mine.units[count - 1].end
    return 0


def divergent_byte(old: bytes, new: bytes, agreed: int) -> int | None:
    """Return the first differing byte of two bodies that agree up to `agreed`."""
    if old[agreed : agreed + 1] != new[agreed : agreed + 1]:
        return agreed
    if len(old) == len(new) and old[agreed:] == new[agreed:]:
        return None
    return agreed + common_bytes(old, new, agreed, agreed)
