"""What it means that a request's turns extend those of a thread."""

from trackside.prefix.arrival import Match
from trackside.prefix.sides import asks_for_summary
from trackside.prefix.threads import Thread, Turn
from trackside.prefix.units import Body


def extension_match(thread: Thread, body: Body) -> Match:
    """Return the match of a request that extends the last turn of a thread."""
    newest = thread.newest
    same = newest.body is not None and sends_again(newest.body, body)
    return Match("retry" if same else "main", thread, newest)


def branch_match(thread: Thread, turn: Turn, body: Body) -> Match:
    """Return the match of a request that goes on from an earlier turn of a thread."""
    if turn.end == body.chain[-1] and turn.number == 1:
        # The thread has moved on: the same question again is a task of its own.
        return Match("first", None, None)
    if asks_for_summary(body, turn.body):
        thread.summary = "whole"
        return Match("side", None, turn)
    return Match("branch", None, turn)


def side_match(thread: Thread, body: Body) -> Match:
    """Return the match of a side call whose turns extend those of a thread."""
    known = thread.body
    if not thread.is_side:
        thread.summary = "whole"
        same = known is not None and has_same_system(known, body)
        return Match("side", None, thread.newest if same else None)
    if known and len(body.chain) > len(known.chain):
        thread.is_side = False  # what goes on is a conversation
        return Match("main", thread, thread.newest)
    if known and sends_again(known, body):
        return Match("retry", thread, thread.newest)
    return Match("side", None, None)


def has_same_system(earlier: Body, later: Body) -> bool:
    """Return whether the system text is the same, wherever it stands."""
    return earlier.head.system_raw == later.head.system_raw and (
        [unit.digest for unit in earlier.leading]
        == [unit.digest for unit in later.leading]
    )


def sends_again(earlier: Body, later: Body) -> bool:
    """Return whether the turns are the same, byte for byte: new ids mean new turns."""
    one, other = earlier.history, later.history
    if one.tail - one.base != other.tail - other.base:
        return False
    if one.units and other.units and one.units[-1] is other.units[-1]:
        return True  # taken over, and all before it
    return later.raw.startswith(earlier.raw[one.base : one.tail], other.base)
