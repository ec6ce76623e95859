"""One request after the other: placed, compared, recorded, counted."""

from dataclasses import dataclass
from typing import Any

from trackside.prefix.arrival import Arrival, Placement
from trackside.prefix.body import read_body
from trackside.prefix.compare import Comparison, compare
from trackside.prefix.comparing_held import compare_held
from trackside.prefix.dialects import Dialect
from trackside.prefix.hints import Hints
from trackside.prefix.placing import Placer
from trackside.prefix.record import BYTES_PER_TOKEN, diff_record
from trackside.prefix.threads import Threads


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request."""

    record: dict[str, Any]  # the `trackside.diff` record
    dropped: tuple[str, ...]  # threads given up for memory


class Differ:
    """Diffs requests in order of arrival.

    Parameters:
        memory_bytes: what the bodies kept for comparison may take, at least 1.
        excerpts: whether records tell text, not only where it stands.
    """

    def __init__(self, memory_bytes: int, *, excerpts: bool = False) -> None:
        self._placer = Placer(memory_bytes)
        self._excerpts = excerpts

    @property
    def kept_bytes(self) -> int:
        """Return the memory that bodies and digests take, about."""
        return self._placer.threads.kept_bytes

    def adjust(self, memory_bytes: int, *, excerpts: bool) -> None:
        """Take other settings; what is known stays known."""
        self._placer.threads.memory_bytes = memory_bytes
        self._excerpts = excerpts

    def diff_quickly(self, arrival: Arrival) -> Outcome | None:
        """Diff a request that extends a known one, else return None: use `diff`."""
        placement = self._placer.place_quickly(arrival)
        return None if placement is None else self._outcome(placement)

    def diff(self, arrival: Arrival) -> Outcome:
        """Diff any request. Tens of milliseconds for megabytes: off the event loop.

        Raises:
            BodyError: a body that is no request of its dialect.
        """
        return self._outcome(self._placer.place(arrival))

    def finish(
        self,
        flow: str,
        ended_s: float,
        *,
        has_failed: bool,
        is_abandoned: bool,
        has_reasoned: bool | None = None,
        prompt_tokens: int | None = None,
    ) -> None:
        """Note how a turn ended.

        Parameters:
            flow: the one the turn came with.
            ended_s: Unix time.
            has_failed: no whole answer came.
            is_abandoned: the client left before the first token.
            has_reasoned: whether the answer held reasoning; None if nothing tells.
            prompt_tokens: what the engine counted for the prompt; None if it does not.
        """
        turn = self._placer.threads.turn(flow)
        if turn is None:
            return
        turn.ended_s = ended_s
        turn.has_failed = has_failed
        turn.is_abandoned = is_abandoned
        turn.has_reasoned = has_reasoned
        turn.prompt_tokens = prompt_tokens

    def answered(self, flow: str, response_id: str) -> None:
        """Note the id of the response to a flow: a later request may go on from it."""
        self._placer.threads.answered(flow, response_id)

    def _compared(self, placement: Placement) -> Comparison | None:
        compared = placement.previous or placement.sibling
        if compared is None or compared.body is None:
            return None
        if placement.body.is_held:
            return compare_held(
                compared.body,
                placement.body,
                held_bytes=compared.held_bytes,
                held_turns=compared.held_turns + compared.own_turns,
                returned_tools=placement.returned_tools,
            )
        return compare(
            compared.body,
            placement.body,
            self._placer.threads.loose,
            is_summed_up=placement.is_summed_up,
            border="no" if placement.previous else "yes",
            returned_tools=placement.returned_tools,
        )

    def _outcome(self, placement: Placement) -> Outcome:
        comparison = self._compared(placement)
        previous = placement.previous
        gap_s = placement.turn.arrived_s - previous.arrived_s if previous else None
        record = diff_record(
            placement,
            comparison,
            gap_s=gap_s,
            bytes_per_token=_bytes_per_token(placement),
            excerpts=self._excerpts,
        )
        return Outcome(record, tuple(self._placer.threads.make_room()))


def _bytes_per_token(placement: Placement) -> float:
    """Return the latest ratio that the engine's own count gives for the thread."""
    for turn in reversed(placement.thread.turns):
        if turn.prompt_tokens:
            return turn.size_bytes / turn.prompt_tokens
    return BYTES_PER_TOKEN


def diff_pair(
    earlier: bytes, later: bytes, dialect: Dialect, *, excerpts: bool
) -> dict[str, Any]:
    """Return the record of a request against the one given as its predecessor.

    Raises:
        BodyError: a body that is no request of the dialect.
    """
    threads = Threads(len(earlier) + len(later) + 1)
    thread = threads.open_thread("", Hints(), is_side=False)
    previous = threads.add(thread, "A", read_body(earlier, dialect), 0.0)
    assert previous.body
    body = read_body(later, dialect, previous.body)
    response = previous.body.previous_response_id
    goes_on = body.is_held and response != body.previous_response_id
    placement = Placement(
        role="retry" if earlier == later else "main",
        thread=thread,
        turn=threads.add(thread, "B", body, 0.0, previous if goes_on else None),
        body=body,
        previous=previous,
        sibling=None,
        is_resend=False,
        is_summed_up=False,
        returned_tools=frozenset(),
    )
    if goes_on:
        comparison = compare_held(
            previous.body, body, held_bytes=0, held_turns=previous.own_turns
        )
    else:
        comparison = compare(previous.body, body, threads.loose, border="maybe")
    record = diff_record(
        placement,
        comparison,
        gap_s=None,
        bytes_per_token=BYTES_PER_TOKEN,
        excerpts=excerpts,
    )
    if body.is_held:  # whether by a response to the first, nothing here tells
        record["notes"].remove("chained_by_id")
        record["notes"].insert(0, "server_held_history")
    if any(found.cause == "session_border" for found in comparison.breaks):
        record["append_only"] = False  # nobody's fault, and no continuation either
    return record
