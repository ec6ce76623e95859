"""A request as it comes in, and where it was found to belong."""

from dataclasses import dataclass, replace

from trackside.prefix.dialects import Dialect
from trackside.prefix.hints import Hints
from trackside.prefix.threads import Thread, Turn
from trackside.prefix.units import Body


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request, before anything of it was read."""

    flow: str  # what the caller knows it by
    raw: bytes
    dialect: Dialect
    key: str  # upstream, dialect and caller: threads never cross it
    hints: Hints
    arrived_s: float  # Unix time

    def hints_with(self, body: Body) -> Hints:
        """Return what the headers tell, and of the session what the body tells."""
        if self.hints.session or not body.session:
            return self.hints
        return replace(self.hints, session=body.session)


@dataclass(frozen=True, slots=True)
class Match:
    """The thread a request was found to go on with, and how."""

    role: str  # main, side, retry, branch or first
    thread: Thread | None  # None: a new one
    previous: Turn | None  # the request it continues
    held: Turn | None = None  # the request whose turns the engine holds for it


@dataclass(frozen=True, slots=True)
class Placement:
    """A request in its thread."""

    role: str
    thread: Thread
    turn: Turn
    body: Body
    previous: Turn | None
    sibling: Turn | None  # of another task under the same head
    is_resend: bool  # equal to a turn unfinished, or left before its first token
    is_summed_up: bool  # a summary of the thread was asked for since `previous`
    returned_tools: frozenset[str]  # tools that had gone for up to ten turns
