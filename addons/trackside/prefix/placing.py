"""Find the thread that each request goes on with, from what it says."""

from trackside.prefix.arrival import Arrival, Match, Placement
from trackside.prefix.body import read_body
from trackside.prefix.choosing import (
    choose_branched,
    choose_edited,
    choose_extended,
    choose_sibling,
)
from trackside.prefix.held import held_match
from trackside.prefix.hints import Hints
from trackside.prefix.history import open_history
from trackside.prefix.likeness import shared_turns
from trackside.prefix.matches import (
    branch_match,
    extension_match,
    has_same_system,
    side_match,
)
from trackside.prefix.sides import (
    asks_for_summary,
    is_side_call,
    returned_tools,
    told_part,
)
from trackside.prefix.spans import BodyError, common_bytes
from trackside.prefix.threads import Thread, Threads
from trackside.prefix.units import Body

_NEAR_THREADS = 8  # compared byte by byte, the most recent
_RUN_THREADS = 64  # looked at for what belongs to the same run
_QUICK_BYTES = 1 << 16  # new bytes that may be read on the event loop
_QUICK_BODY_BYTES = 16 << 20  # a body that may be compared there


class Placer:
    """Puts requests into threads, in order of arrival.

    Parameters:
        memory_bytes: what the bodies kept for comparison may take, at least 1.
    """

    def __init__(self, memory_bytes: int) -> None:
        self.threads = Threads(memory_bytes)

    def place_quickly(self, arrival: Arrival) -> Placement | None:
        """Place a request that extends a known one, or return None: use `place`.

        Costs one comparison of the bytes and reading what is new, at most 64 KiB.
        """
        try:
            return self._place_quickly(arrival)
        except BodyError:
            return None  # to say why may take a while

    def _place_quickly(self, arrival: Arrival) -> Placement | None:
        key = b'"' + arrival.dialect.history.encode() + b'"'
        if len(arrival.raw) > _QUICK_BODY_BYTES:
            return None
        if arrival.raw.find(key, 0, _QUICK_BYTES) < 0:
            return None
        known, agreed, fresh_bytes = self._nearest(arrival)
        if known is None or fresh_bytes > _QUICK_BYTES:
            return None
        body = read_body(arrival.raw, arrival.dialect, known, agreed)
        if body.head is not known.head or not has_same_system(known, body):
            return None
        hints = arrival.hints_with(body)
        if body.is_held:
            match = held_match(self.threads, arrival.key, body, hints)
            return self._settle(arrival, body, hints, match)
        thread, length = self._extended(arrival, body, hints, known)
        if thread is None or thread.is_side or length < shared_turns(known, body):
            return None
        if is_side_call(body, hints, beside_tools=thread.sends_tools):
            return None
        return self._settle(arrival, body, hints, extension_match(thread, body))

    def place(self, arrival: Arrival) -> Placement:
        """Place any request. Tens of milliseconds for megabytes: off the event loop.

        Raises:
            BodyError: a body that is no request of its dialect.
        """
        known, agreed, _ = self._nearest(arrival)
        body = read_body(arrival.raw, arrival.dialect, known, agreed)
        hints = arrival.hints_with(body)
        if body.is_held:
            match = held_match(self.threads, arrival.key, body, hints)
            return self._settle(arrival, body, hints, match)
        thread, length = self._extended(arrival, body, hints, known)
        if thread and (
            (thread.is_side and not body.head.tools)
            or is_side_call(body, hints, beside_tools=thread.sends_tools)
        ):
            match = side_match(thread, body)
        else:
            match = self._match(arrival, body, hints, thread, length)
        return self._settle(arrival, body, hints, match)

    def _match(
        self,
        arrival: Arrival,
        body: Body,
        hints: Hints,
        thread: Thread | None,
        length: int,
    ) -> Match:
        edited = choose_edited(self.threads, arrival.key, body, hints)
        if thread and (edited is None or edited.likeness.shared <= length):
            return extension_match(thread, body)
        branched = choose_branched(self.threads, arrival.key, body, hints)
        if branched and (
            edited is None
            # A look-alike that shares less than what is extended to the letter.
            or (
                branched[0] is not edited.thread
                and branched[2] > edited.likeness.shared
            )
        ):
            return branch_match(*branched[:2], body)
        if edited:
            return Match("main", edited.thread, edited.thread.newest)
        if self._is_beside(arrival, body, hints):
            return Match("side", None, None)
        return Match("first", None, None)

    def _nearest(self, arrival: Arrival) -> tuple[Body | None, int | None, int]:
        """Return the recent body that shares most turns, in bytes, and what is new."""
        best, most, base = None, -1, -1
        for thread in self.threads.recent(arrival.key, _NEAR_THREADS):
            body = thread.body
            if body is None:
                continue
            if base < 0:
                base, _ = open_history(arrival.raw, arrival.dialect, body)
            agreed = _agreed_bytes(arrival.raw, base, body)
            if agreed > most:
                best, most = body, agreed
        if best is None:
            return None, None, len(arrival.raw)
        behind = len(best.raw) - best.history.tail
        return best, most, len(arrival.raw) - base - most - behind

    def _extended(
        self, arrival: Arrival, body: Body, hints: Hints, known: Body | None
    ) -> tuple[Thread | None, int]:
        if body.history.is_text:
            return self._text_extended(body, known)
        return choose_extended(self.threads, arrival.key, body, hints)

    def _text_extended(
        self, body: Body, known: Body | None
    ) -> tuple[Thread | None, int]:
        if known is None or not known.history.is_text or known.is_held:
            return None, 0
        text = known.raw[known.history.base : known.history.tail]
        if not body.raw.startswith(text, body.history.base):
            return None, 0
        return self.threads.of_body(known), len(body.chain)

    def _is_beside(self, arrival: Arrival, body: Body, hints: Hints) -> bool:
        """Return whether an unknown request is a side call; note whom it sums up."""
        run = [
            other
            for other in self.threads.recent(arrival.key, _RUN_THREADS)
            if hints.is_same_run(other.hints)
        ]
        beside = any(other.sends_tools for other in run)
        if not is_side_call(body, hints, beside_tools=beside):
            return False
        told = {
            other.name: told_part(other.body, arrival.raw)
            for other in run
            if other.body and not other.is_side
        }
        best = max(told.values(), key=len, default="")  # whole, else part
        for other in run:
            if best and told.get(other.name) == best:
                other.summary = best
                break
        return True

    def _settle(
        self, arrival: Arrival, body: Body, hints: Hints, match: Match
    ) -> Placement:
        sibling = None
        if match.role == "first" and not body.is_held:
            sibling = choose_sibling(self.threads, arrival.key, body)
        thread = match.thread or self.threads.open_thread(
            arrival.key, hints, is_side=match.role == "side"
        )
        is_summed_up = bool(thread.summary)
        if not body.is_held and match.role in ("main", "branch"):
            asks = asks_for_summary(body, thread.body)
            thread.summary = "whole" if asks else ""
        returned = returned_tools(thread, body)
        turn = self.threads.add(
            thread, arrival.flow, body, arrival.arrived_s, match.held
        )
        previous = match.previous
        return Placement(
            role=match.role,
            thread=thread,
            turn=turn,
            body=body,
            previous=previous,
            sibling=sibling,
            is_resend=match.role == "retry"
            and previous is not None
            and (previous.ended_s is None or previous.is_abandoned),
            is_summed_up=is_summed_up,
            returned_tools=returned,
        )


def _agreed_bytes(raw: bytes, base: int, known: Body) -> int:
    """Return how many bytes of the turns agree.

    Mostly all do but for the last two turns: one comparison then tells.
    """
    start, units = known.history.base, known.history.units
    sure = units[-2].start if len(units) > 2 else 0
    if not raw.startswith(known.raw[start : start + sure], base):
        sure = 0
    return sure + common_bytes(raw, known.raw, base + sure, start + sure)
