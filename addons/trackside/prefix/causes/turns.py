"""What became of the turns: edited, moved, dropped, summed up, or another task."""

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from trackside.prefix.align import gaps, match_in_order
from trackside.prefix.breaks import HARNESS, NOBODY, Break, Pair
from trackside.prefix.causes.edits import name_edit
from trackside.prefix.likeness import Likeness, alike_ratio, opener_turns
from trackside.prefix.spans import BodyError, Span, decode_value
from trackside.prefix.units import Unit

_SUMMED_UP_RATIO = 0.6  # of the old turns, below which they were summed up
_BORDER_RATIO = 0.1  # kept of the old turns, below which it is another task
_LOOKED_AHEAD = 8  # turns in which the new version of an old one is sought


class Turns:
    """The turns of two requests behind those they begin with, aligned.

    Parameters:
        pair: the two requests.
        like: what the later keeps of the earlier.
        is_summed_up: a summary of the turns was asked for between the two.
        border: "yes" if the later is known to be another task, "maybe" if nothing but
            the content tells, "no" if it goes on with the earlier.
    """

    def __init__(
        self, pair: Pair, like: Likeness, *, is_summed_up: bool, border: str
    ) -> None:
        self._pair = pair
        self._like = like
        self._is_summed_up = is_summed_up
        self._border = border
        old, new = pair.old.body, pair.new.body
        self._old_at = old.lead + like.shared
        self._new_at = new.lead + like.shared
        self.old = old.history.units[self._old_at :]
        self.new = new.history.units[self._new_at :]
        olds, news = ([unit.digest for unit in units] for units in (self.old, self.new))
        self.matches = match_in_order(olds, news)
        placed = {olds[i] for i, _ in self.matches}
        self._moved = set(olds).intersection(news) - placed

    def breaks(self) -> Iterator[Break]:
        """Yield the breaks of the history in render order."""
        if not self.old or not self.new:
            return  # a plain append, or a step back
        if self._is_border():
            border = self._break(("session_border", ""), 0, 0, side=NOBODY)
            # The other task's turns are not lost: the price is what is new.
            price = self._pair.new.body.size_bytes - border.offset
            yield replace(border, lost_bytes=max(0, price))
            return
        found = list(gaps(self.matches, (len(self.old), len(self.new))))
        if self._is_compaction(found):
            here, there = found[0]
            yield self._break(("compacted", ""), here.start, there.start)
            return
        if self._moved:
            first = next(i for i, unit in enumerate(self.old) if self._has_moved(unit))
            other = next(j for j, unit in enumerate(self.new) if self._has_moved(unit))
            at = min(first, other)
            yield self._break(("history_reordered", ""), at, at)
        for here, there in found:
            yield from self._gap(here, there)

    def aligned(self) -> Iterator[tuple[int, int]]:
        """Yield the places, in the histories, of turns that reach the prompt alike."""
        shared = self._like.shared
        leads = self._pair.old.body.lead, self._pair.new.body.lead
        digests = (
            [unit.digest for unit in view.body.leading]
            for view in (self._pair.old, self._pair.new)
        )
        for n, (mine, other) in enumerate(zip(*digests, strict=False)):
            if mine == other:
                yield n, n
        yield from ((leads[0] + n, leads[1] + n) for n in range(shared))
        yield from ((self._old_at + i, self._new_at + j) for i, j in self.matches)

    def _is_border(self) -> bool:
        like = self._like
        return self._border == "yes" or (
            self._border == "maybe"
            and not self._is_summed_up
            and like.shared < opener_turns(self._pair.old.body)
            and like.kept_answers == 0
            and like.kept_ratio < _BORDER_RATIO
        )

    def _is_compaction(self, found: list[tuple[range, range]]) -> bool:
        lost = [(here, there) for here, there in found if here]
        if not lost or not self._is_shorter(lost):
            return False
        if self._is_summed_up:
            return True
        here, there = lost[0]
        fewer = len(here) > 2 and 0 < len(there) <= len(here) // 2
        is_tail = here.stop == len(self.old)
        begins = self._like.shared + here.start <= opener_turns(self._pair.old.body) + 1
        return fewer and (begins or not is_tail) and not self._partners(here, there)

    def _is_shorter(self, lost: list[tuple[range, range]]) -> bool:
        """Return whether turns were given up, not only touched up."""
        if self._is_summed_up:
            return True
        old, new = (
            sum(unit.size_bytes for unit in units) for units in (self.old, self.new)
        )
        return new < _SUMMED_UP_RATIO * old or any(
            len(there) < len(here) for here, there in lost
        )

    def _has_moved(self, unit: Unit) -> bool:
        return unit.digest in self._moved

    def _gap(self, here: range, there: range) -> Iterator[Break]:
        """Yield what happened between two turns that stayed."""
        partners = self._partners(here, there)
        paired = {i for i, _ in partners}
        dropped = [
            i for i in here if i not in paired and not self._has_moved(self.old[i])
        ]
        last = max((j for _, j in partners), default=there.start - 1)
        is_tail = here.stop == len(self.old)
        put_in = [
            j
            for j in there
            if j not in {j for _, j in partners}
            and not self._has_moved(self.new[j])
            and (j < last or not is_tail)
        ]
        if dropped:
            cause = self._drop(dropped)
            at = there.start + min(dropped[0] - here.start, len(there))
            yield self._break(cause, dropped[0], at)
        if put_in:
            before = min((i for i, j in partners if j > put_in[0]), default=here.stop)
            if not dropped or before != dropped[0]:
                yield self._break(("injection_moved", ""), before, put_in[0])
        for i, j in partners:
            yield self._edited(i, j)

    def _partners(self, here: range, there: range) -> list[tuple[int, int]]:
        """Pair the turns of a gap with their new versions, in order."""
        pairs = []
        at = there.start
        for i in here:
            if self._has_moved(self.old[i]):
                continue
            ahead = range(at, min(at + _LOOKED_AHEAD, there.stop))
            same = [j for j in ahead if self._is_same_speaker(i, j)]
            j = next((j for j in same if self._is_alike(i, j)), None)
            if j is None and same[:1] == [at] and len(here) == len(there):
                j = at
            if j is not None:
                pairs.append((i, j))
                at = j + 1
        return pairs

    def _is_same_speaker(self, i: int, j: int) -> bool:
        old, new = self.old[i], self.new[j]
        return old.role == new.role and not self._has_moved(new)

    def _is_alike(self, i: int, j: int) -> bool:
        old, new = self._pair.old.body, self._pair.new.body
        return alike_ratio(old, self.old[i], new, self.new[j]) > 0

    def _drop(self, dropped: list[int]) -> tuple[str, str]:
        if all(self._is_reasoning_item(self.old[i]) for i in dropped):
            return "history_edited", "reasoning_dropped"
        last = len(self.old) - 1
        if dropped == [last] and self.old[last].role in ("user", "system"):
            return "injection_moved", ""  # it was only ever meant to stand last
        is_first = self._like.shared + dropped[0] == 0
        return "history_dropped", "window" if is_first else "middle"

    def _is_reasoning_item(self, unit: Unit) -> bool:
        try:
            value = decode_value(self._pair.old.body.unit_bytes(unit))
        except BodyError:
            return False
        return isinstance(value, dict) and value.get("type") == "reasoning"

    def _edited(self, i: int, j: int) -> Break:
        old, new = self._pair.old, self._pair.new
        mine, other = old.unit(self.old[i]), new.unit(self.new[j])

        def occurs(text: str) -> bool:
            told = msgspec.json.encode(text)[1:-1]
            return _stands_outside(told, old.body.raw, mine) or _stands_outside(
                told, new.body.raw, other
            )

        cause, path, resolution = name_edit(
            mine.of(old.body.raw),
            other.of(new.body.raw),
            self.old[i].role,
            new.body.dialect,
            occurs,
        )
        return self._break(cause, i, j, path=path, resolution=resolution)

    def _break(
        self,
        cause: tuple[str, str],
        i: int,
        j: int,
        *,
        path: str = "",
        side: str = HARNESS,
        resolution: str = "",
    ) -> Break:
        old, new = self._pair.old, self._pair.new
        has_old, has_new = i < len(self.old), j < len(self.new)
        return self._pair.breaks_at(
            cause,
            new.path(self._new_at + j) + path,
            old.before_unit(self._old_at + i),
            old.unit(self.old[i]) if has_old else None,
            new.unit(self.new[j]) if has_new else new.body.history.tail,
            side=side,
            resolution=resolution,
        )


def _stands_outside(text: bytes, raw: bytes, span: Span) -> bool:
    return raw.find(text, 0, span.start) >= 0 or raw.find(text, span.end) >= 0
