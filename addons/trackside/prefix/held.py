"""Requests that go on from a response the engine holds, found by its id."""

from trackside.prefix.arrival import Match
from trackside.prefix.hints import Hints
from trackside.prefix.matches import sends_again
from trackside.prefix.sides import is_side_call
from trackside.prefix.threads import Threads
from trackside.prefix.units import Body


def held_match(threads: Threads, key: str, body: Body, hints: Hints) -> Match:
    """Return the match of a request that goes on from a response.

    A response that was not seen here, as one from before the proxy began, leaves
    nothing to compare with: what the request itself sends is only an end.
    """
    known = threads.of_response(key, body.previous_response_id)
    if known is None:
        return Match("first", None, None)
    thread, turn = known
    newest, last = thread.newest, thread.body
    if is_side_call(body, hints, beside_tools=thread.sends_tools):
        return Match("side", None, turn, turn)
    if turn is newest:
        return Match("main", thread, turn, turn)
    if last and last.previous_response_id == body.previous_response_id:
        if sends_again(last, body):
            return Match("retry", thread, newest, turn)
        if newest.has_failed:
            return Match("main", thread, turn, turn)
    return Match("branch", None, turn, turn)
