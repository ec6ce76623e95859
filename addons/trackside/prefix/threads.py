"""The threads seen so far, and the request bodies kept of them, within a budget."""

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from trackside.prefix.hints import Hints
from trackside.prefix.units import Body

KEPT_BODIES = 3
"""Bodies kept of each thread: the newest, and what a retry or a branch goes back to."""

_UNIT_BYTES = 300  # what Python takes for a unit, its digests and their places
_ENDS_KEPT = 4096  # earlier ends a thread can be branched from
_FLOWS_KEPT = 4096  # turns, and responses of turns, that can be referred to


@dataclass(slots=True, eq=False)
class Turn:
    """One request as it is remembered."""

    flow: str
    number: int  # from 1, within its thread
    arrived_s: float  # Unix time
    size_bytes: int  # of what may reach the prompt, as far as requests told it
    raw_bytes: int
    end: int  # digest of all its turns
    head_hash: str
    head_digest: bytes
    body: Body | None  # None once it was given up for memory
    held_bytes: int = 0  # of earlier requests' turns, which the engine holds by itself
    held_turns: int = 0  # how many these are
    own_bytes: int = 0  # of the turns it sends itself
    own_turns: int = 0
    ended_s: float | None = None  # None while it is unfinished
    has_failed: bool = False
    is_abandoned: bool = False  # left by the client before the first token
    has_reasoned: bool | None = None  # None if nothing tells
    prompt_tokens: int | None = None  # as the engine counted; None if it does not

    def hold(self, earlier: "Turn") -> None:
        """Count in the turns of the request whose response this one goes on from."""
        self.held_bytes = earlier.held_bytes + earlier.own_bytes
        self.held_turns = earlier.held_turns + earlier.own_turns
        self.size_bytes += self.held_bytes
        if self.head_digest == earlier.head_digest:
            self.head_hash = earlier.head_hash  # with its leading system messages


@dataclass(slots=True, eq=False)
class Thread:
    """Turns of which each goes on from the one before."""

    name: str
    key: str
    hints: Hints
    is_side: bool = False
    turns: deque[Turn] = field(default_factory=deque)  # the newest last, with bodies
    ends: OrderedDict[int, Turn] = field(default_factory=OrderedDict)
    tool_names: deque[frozenset[str]] = field(default_factory=lambda: deque(maxlen=11))
    weighed_bytes: int = 0  # what it took when last looked at
    summary: str = ""  # "part" or "whole" once a call has told it to be summed up

    @property
    def newest(self) -> Turn:
        """Return the last turn."""
        return self.turns[-1]

    @property
    def sends_tools(self) -> bool:
        """Return whether the last turn came with tools."""
        return bool(self.tool_names and self.tool_names[-1])

    @property
    def body(self) -> Body | None:
        """Return the body of the last turn, if there is one and it is still kept."""
        return self.turns[-1].body if self.turns else None

    @property
    def kept_bytes(self) -> int:
        """Return the memory it takes, about."""
        units = len(self.body.history.units) if self.body else 0
        bodies = (turn.raw_bytes for turn in self.turns if turn.body)
        return sum(bodies) + units * _UNIT_BYTES + len(self.ends) * _UNIT_BYTES


class Threads:
    """Threads by what they end with, oldest first out when memory runs short.

    Parameters:
        memory_bytes: what bodies and digests may take together, at least 1.
    """

    def __init__(self, memory_bytes: int) -> None:
        self.memory_bytes = memory_bytes
        self.kept_bytes = 0
        self._threads: OrderedDict[str, Thread] = OrderedDict()  # least recent first
        self._ends: dict[tuple[str, int], list[Thread]] = {}  # by newest end
        self._flows: OrderedDict[str, tuple[Thread, Turn]] = OrderedDict()
        self._responses: OrderedDict[str, str] = OrderedDict()  # id -> flow
        self._groups: dict[tuple[str, str], int] = {}
        self._members: dict[int, int] = {}
        self.loose: dict[int, int] = {}
        """Loose digests by unit digest, for `likeness`."""

    def recent(self, key: str, limit: int) -> Iterator[Thread]:
        """Yield up to `limit` threads of a key, the most recent first."""
        for thread in reversed(self._threads.values()):
            if thread.key == key:
                yield thread
                limit -= 1
                if limit == 0:
                    return

    def ending(self, key: str, end: int) -> Sequence[Thread]:
        """Return the threads whose newest turn ends with this digest, newest last."""
        return self._ends.get((key, end), ())

    def of_body(self, body: Body) -> Thread | None:
        """Return the thread whose newest turn has this body."""
        return next((t for t in self._threads.values() if t.body is body), None)

    def turn(self, flow: str) -> Turn | None:
        """Return the remembered turn of a flow."""
        known = self._flows.get(flow)
        return known and known[1]

    def answered(self, flow: str, response_id: str) -> None:
        """Note the id of the response to a flow, whose turn may yet be to come."""
        if response_id:
            _put(self._responses, response_id, flow)

    def of_response(self, key: str, response_id: str) -> tuple[Thread, Turn] | None:
        """Return the turn that a response answers, and its thread, if both are known.

        A thread that was given up for memory is not.
        """
        known = self._flows.get(self._responses.get(response_id, ""))
        if known is None or known[0].key != key:
            return None
        return known if self._threads.get(known[0].name) is known[0] else None

    def open_thread(self, key: str, hints: Hints, *, is_side: bool) -> Thread:
        """Return a new thread, named by its run and its number in it."""
        group = self._groups.setdefault((key, hints.session), len(self._groups))
        number = self._members[group] = self._members.get(group, 0) + 1
        thread = Thread(f"{_letters(group)}{number}", key, hints, is_side)
        self._threads[thread.name] = thread
        return thread

    def add(
        self,
        thread: Thread,
        flow: str,
        body: Body,
        arrived_s: float,
        held: Turn | None = None,
    ) -> Turn:
        """Remember a request as the newest turn of a thread.

        Parameters:
            held: the request whose turns the engine holds for it.
        """
        if thread.turns:
            self._drop_end(thread)
        end = body.chain[-1] if body.chain else 0
        turn = Turn(
            flow=flow,
            number=thread.newest.number + 1 if thread.turns else 1,
            arrived_s=arrived_s,
            size_bytes=body.size_bytes,
            raw_bytes=len(body.raw),
            # What is only the end of a history is none to be found by.
            end=hash((flow, end)) if body.is_held else end,
            head_hash=body.head_hash,
            head_digest=body.head.digest,
            body=body,
            own_bytes=body.history_bytes,
            own_turns=len(body.history.units),
        )
        if held:
            turn.hold(held)
        thread.turns.append(turn)
        if len(thread.turns) > KEPT_BODIES:
            thread.turns.popleft().body = None
        thread.ends[turn.end] = turn
        if len(thread.ends) > _ENDS_KEPT:
            thread.ends.popitem(last=False)
        self._ends.setdefault((thread.key, turn.end), []).append(thread)
        _put(self._flows, flow, (thread, turn))
        self._threads.move_to_end(thread.name)
        self._weigh(thread)
        return turn

    def make_room(self) -> list[str]:
        """Drop what is over the budget, oldest first; return the threads dropped.

        The thread last added to stays, without its older bodies if need be, and
        without any if its last one alone is too large.
        """
        if len(self.loose) * _UNIT_BYTES > self.memory_bytes:
            self.loose.clear()
        dropped = []
        while self.kept_bytes > self.memory_bytes and len(self._threads) > 1:
            name, thread = self._threads.popitem(last=False)
            self.kept_bytes -= thread.weighed_bytes
            self._drop_end(thread)
            for turn in thread.turns:
                turn.body = None
            dropped.append(name)
        if self.kept_bytes > self.memory_bytes:
            (last,) = self._threads.values()
            for turn in last.turns:
                if self.kept_bytes > self.memory_bytes and turn.body:
                    turn.body = None
                    self._weigh(last)
        return dropped

    def _weigh(self, thread: Thread) -> None:
        weight = thread.kept_bytes
        self.kept_bytes += weight - thread.weighed_bytes
        thread.weighed_bytes = weight

    def _drop_end(self, thread: Thread) -> None:
        place = (thread.key, thread.newest.end)
        ending = self._ends[place]
        ending.remove(thread)
        if not ending:
            del self._ends[place]


def _put[V](kept: OrderedDict[str, V], key: str, value: V) -> None:
    kept[key] = value
    if len(kept) > _FLOWS_KEPT:
        kept.popitem(last=False)


def _letters(number: int) -> str:
    """Return a, b, ... z, aa, ab, ... for 0, 1, ...

    Example:
        >>> _letters(0), _letters(27)
        ('a', 'ab')
    """
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters
