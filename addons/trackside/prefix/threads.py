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


@dataclass(slots=True, eq=False)
class Turn:
    """One request as it is remembered."""

    flow: str
    number: int  # from 1, within its thread
    arrived_s: float  # Unix time
    size_bytes: int  # of what may reach the prompt
    raw_bytes: int
    end: int  # digest of all its turns
    head_hash: str
    body: Body | None  # None once it was given up for memory
    ended_s: float | None = None  # None while it is unfinished
    has_failed: bool = False
    is_abandoned: bool = False  # left by the client before the first token
    has_reasoned: bool | None = None  # None if nothing tells
    prompt_tokens: int | None = None  # as the engine counted; None if it does not


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
        self._flows: dict[str, Turn] = {}
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
        return self._flows.get(flow)

    def open_thread(self, key: str, hints: Hints, *, is_side: bool) -> Thread:
        """Return a new thread, named by its run and its number in it."""
        group = self._groups.setdefault((key, hints.session), len(self._groups))
        number = self._members[group] = self._members.get(group, 0) + 1
        thread = Thread(f"{_letters(group)}{number}", key, hints, is_side)
        self._threads[thread.name] = thread
        return thread

    def add(self, thread: Thread, flow: str, body: Body, arrived_s: float) -> Turn:
        """Remember a request as the newest turn of a thread."""
        if thread.turns:
            self._drop_end(thread)
        turn = Turn(
            flow=flow,
            number=thread.newest.number + 1 if thread.turns else 1,
            arrived_s=arrived_s,
            size_bytes=body.size_bytes,
            raw_bytes=len(body.raw),
            end=body.chain[-1] if body.chain else 0,
            head_hash=body.head_hash,
            body=body,
        )
        thread.turns.append(turn)
        if len(thread.turns) > KEPT_BODIES:
            self._give_up(thread.turns.popleft())
        thread.ends[turn.end] = turn
        if len(thread.ends) > _ENDS_KEPT:
            thread.ends.popitem(last=False)
        self._ends.setdefault((thread.key, turn.end), []).append(thread)
        self._flows[flow] = turn
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
                self._give_up(turn)
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

    def _give_up(self, turn: Turn) -> None:
        turn.body = None
        if self._flows.get(turn.flow) is turn:
            del self._flows[turn.flow]


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
