"""The values a request body is cut into."""

from collections.abc import Mapping
from dataclasses import dataclass

from trackside.prefix.dialects import Dialect
from trackside.prefix.spans import Span


@dataclass(frozen=True, slots=True)
class Unit:
    """One tool, system block, message or piece of text, as it stands in a body."""

    start: int  # bytes from the start of the list it stands in
    end: int
    role: str
    digest: int  # of what may reach the prompt; equal only within one process

    @property
    def size_bytes(self) -> int:
        """Return how many bytes of the body it takes."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the turns: tools, then the system text."""

    tools: tuple[Unit, ...]
    system: tuple[Unit, ...]
    tools_raw: bytes  # the member as sent; b"" if there is none
    system_raw: bytes
    digest: bytes  # of what may reach the prompt; equal in every process
    size_bytes: int  # of the body, that its units take


@dataclass(frozen=True, slots=True)
class History:
    """Where the turns stand in a body."""

    base: int  # offset just behind the bracket or quote that opens them
    tail: int  # offset of the bracket or quote that closes them
    units: tuple[Unit, ...]  # offsets count from `base`
    shared: int  # how many units were taken over from an earlier body
    is_text: bool  # one text, not a list of messages


@dataclass(frozen=True, slots=True)
class Body:
    """A request body and its units, in render order: head, leading system, turns."""

    raw: bytes
    dialect: Dialect
    history: History
    head: Head
    lead: int  # how many units of the history are leading system messages
    chain: tuple[int, ...]  # digest of the turns up to and with each one past `lead`
    members: Mapping[str, Span] | None  # where its members stand, if that was read
    session: str  # what its members tell of the run it belongs to, or ""
    previous_response_id: str  # whose turns the engine holds by itself, or ""
    is_held: bool  # the engine holds turns before these, by whatever id
    head_hash: str  # eight hex digits over head and leading system messages

    @property
    def size_bytes(self) -> int:
        """Return the bytes of everything that may reach the prompt."""
        return self.head.size_bytes + self.history_bytes

    @property
    def history_bytes(self) -> int:
        """Return the bytes of the history, from its first unit to its last."""
        units = self.history.units
        return units[-1].end if units else 0

    @property
    def leading(self) -> tuple[Unit, ...]:
        """Return the leading system messages."""
        return self.history.units[: self.lead]

    @property
    def turns(self) -> tuple[Unit, ...]:
        """Return the history behind its leading system messages."""
        return self.history.units[self.lead :]

    def span(self, unit: Unit) -> Span:
        """Return where a unit of the history stands in the body."""
        base = self.history.base
        return Span(base + unit.start, base + unit.end)

    def unit_bytes(self, unit: Unit) -> bytes:
        """Return the bytes of a unit of the history."""
        return self.span(unit).of(self.raw)
