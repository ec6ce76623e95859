"""Choose the thread that a request was edited, cut or summed up from."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trackside.prefix.hints import Hints
from trackside.prefix.likeness import (
    Likeness,
    compare_turns,
    heads_akin,
    is_answered,
    loose_turns,
    opener_turns,
    shared_turns,
)
from trackside.prefix.threads import Thread, Threads, Turn
from trackside.prefix.units import Body

_KEPT_RATIO = 0.5  # of the turns behind the shared ones, for an edit
_RETRY_RATIO = 0.95  # for a first request that is sent again with small changes
_CANDIDATES = 8  # threads compared in full
_LOOKED_AT = 64  # threads looked at, the most recent
_FIRST_TURNS, _LAST_TURNS = 3, 8  # of a request, looked for in those


@dataclass(frozen=True, slots=True)
class Candidate:
    """A thread that a request may go on with, and what it keeps of it."""

    thread: Thread
    likeness: Likeness
    weight: float  # the higher the likelier


def choose_edited(
    threads: Threads, key: str, body: Body, hints: Hints
) -> Candidate | None:
    """Return the thread of which the request is an edited continuation, or None.

    At most 64 threads are looked at and 8 compared in full: off the event loop.
    """
    found = []
    for thread, earlier in _candidates(threads, key, body, hints):
        like = compare_turns(earlier, body, threads.loose)
        hinted = bool(hints.thread) and hints.thread == thread.hints.thread
        if not _goes_on(thread, earlier, body, like, hinted=hinted):
            continue
        weight = like.contained_ratio + 0.2 * hinted
        weight += 0.2 * bool(like.keeps_tail and like.kept_answers)
        if hints.thread and thread.hints.thread and not hinted:
            weight -= 0.3
        found.append(Candidate(thread, like, weight))
    return max(found, key=lambda candidate: candidate.weight, default=None)


def choose_branched(
    threads: Threads, key: str, body: Body, hints: Hints
) -> tuple[Thread, Turn, int] | None:
    """Return the turn, no longer the last of its thread, that is extended, how far."""
    for length in range(len(body.chain), 0, -1):
        end = body.chain[length - 1]
        for thread in threads.recent(key, _LOOKED_AT):
            if end in thread.ends and _extends(thread, body, length, hints):
                return thread, thread.ends[end], length
    return None


def choose_sibling(threads: Threads, key: str, body: Body) -> Turn | None:
    """Return the turn of another task under the same head that shares most with it."""
    best, most = None, -1
    for thread in threads.recent(key, _LOOKED_AT):
        whole = (t for t in reversed(thread.turns) if t.body and not t.body.is_held)
        turn = next(whole, None)
        if turn is None or turn.body is None or turn.head_hash != body.head_hash:
            continue
        shared = shared_turns(turn.body, body)
        if shared > most:
            best, most = turn, shared
    return best


def _candidates(
    threads: Threads, key: str, body: Body, hints: Hints
) -> Iterable[tuple[Thread, Body]]:
    told = loose_turns(body, body.turns, threads.loose)
    sought = set(told[:_FIRST_TURNS]) | set(told[-_LAST_TURNS:])
    scored = list(_scored(threads, key, body, hints, sought))
    scored.sort(key=lambda row: row[0], reverse=True)  # stable: most recent first
    return [(thread, earlier) for _, thread, earlier in scored[:_CANDIDATES]]


def _scored(
    threads: Threads, key: str, body: Body, hints: Hints, sought: set[int]
) -> Iterator[tuple[int, Thread, Body]]:
    for thread in threads.recent(key, _LOOKED_AT):
        if thread.is_side or thread.body is None or thread.body.is_held:
            continue
        if not heads_akin(thread.body, body):
            continue
        known = loose_turns(thread.body, thread.body.turns, threads.loose)
        score = len(sought.intersection(known))
        score += 2 * (bool(hints.thread) and hints.thread == thread.hints.thread)
        score += 4 * (thread.summary == "whole")
        if score or not is_answered(thread.body) or len(known) == len(body.turns):
            yield score, thread, thread.body


def _goes_on(
    thread: Thread, earlier: Body, body: Body, like: Likeness, *, hinted: bool
) -> bool:
    """Return whether what is kept says: the same thread, edited."""
    same_head = earlier.head.digest == body.head.digest
    if thread.summary == "whole" and same_head and _is_summed_up(earlier, body, like):
        return True
    if body.history.is_text:
        return like.contained_ratio >= _KEPT_RATIO
    if not is_answered(body):
        return (
            thread.newest.has_failed
            and not is_answered(earlier)
            and like.contained_ratio >= _RETRY_RATIO
        )
    if hinted and same_head:
        return True
    if not is_answered(earlier, like.shared):
        # Only what stood behind its last answer was replaced.
        if is_answered(earlier) and is_answered(body, like.shared):
            return True
    elif not like.kept_answers:
        return _changes_results(earlier, body, like.shared)
    if like.kept_bytes and like.kept_ratio >= _KEPT_RATIO:
        return True
    return bool(same_head and like.keeps_tail and like.kept_answers)


def _is_summed_up(earlier: Body, body: Body, like: Likeness) -> bool:
    """Return whether a request after a summary call can be what came of it.

    It is no longer than before, and unless it goes on by itself (with an answer), it
    keeps the question that was asked, where another task would not.
    """
    if len(body.turns) > len(earlier.turns):
        return False
    return (
        is_answered(body) or like.kept_bytes > 0 or like.shared >= opener_turns(earlier)
    )


def choose_extended(
    threads: Threads, key: str, body: Body, hints: Hints
) -> tuple[Thread | None, int]:
    """Return the thread whose last turn the request extends most, and how far."""
    for length in range(len(body.chain), 0, -1):
        found = [
            thread
            for thread in threads.ending(key, body.chain[length - 1])
            if _extends(thread, body, length, hints)
        ]
        if found:
            same = [t for t in found if t.newest.head_hash == body.head_hash]
            return (same or found)[-1], length
    return None, 0


def _extends(thread: Thread, body: Body, length: int, hints: Hints) -> bool:
    """Return whether equal turns mean the same thread, not the same question twice."""
    if thread.hints.kind and not hints.kind:
        return False  # a side call, told by its headers: nothing goes on from it
    begun = body.turns[:length]
    if any(unit.role in ("assistant", "tool") for unit in begun) and body.head.tools:
        return True
    if thread.body is None:
        return thread.newest.head_hash == body.head_hash
    if not is_answered(body) and hints.session != thread.hints.session:
        return False
    return heads_akin(thread.body, body)


def _changes_results(earlier: Body, body: Body, shared: int) -> bool:
    """Return whether all that changed is what tools returned to the last calls."""
    old, new = earlier.turns[shared:], body.turns[shared:]
    return (
        shared > 0
        and earlier.turns[shared - 1].role in ("assistant", "tool")
        and len(old) < len(new)
        and all(unit.role == "tool" for unit in (*old, *new[: len(old)]))
        and new[len(old)].role != "tool"
    )
