"""A break: where a request stops being a continuation of the one before."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from trackside.prefix.body import members_of
from trackside.prefix.spans import Span, common_bytes
from trackside.prefix.units import Body, Unit

HARNESS = "harness"
BENIGN = "benign"
NOBODY = "none"  # priced, and nobody's fault


@dataclass(frozen=True, slots=True)
class Break:
    """One difference between two requests, priced."""

    cause: str
    sub: str
    side: str  # harness, benign or none
    path: str  # in the later request, as in messages[3].content
    offset: int  # bytes of the earlier prompt before it, in render order
    raw_offset: int  # of the first differing byte in the later body
    lost_bytes: int  # of the earlier prompt, from it to the end
    old: Span | None = None  # what differs, in the earlier body
    new: Span | None = None  # what differs, in the later body
    resolution: str = ""  # of a clock: subsecond, second or minute
    system_first: int = 0  # `offset` where a template prints system text before tools


class View:
    """A body with the places of its members, to say where a unit stands.

    Parameters:
        held_bytes: of turns that the engine holds in front of those of the body.
    """

    def __init__(self, body: Body, held_bytes: int = 0) -> None:
        self.body = body
        self.held_bytes = held_bytes

    @property
    def size_bytes(self) -> int:
        """The bytes of the prompt, turns that the engine holds by itself included."""
        return self.body.size_bytes + self.held_bytes

    @cached_property
    def members(self) -> Mapping[str, Span]:
        """Where the members stand; read when first asked for."""
        return members_of(self.body)

    @property
    def tools_bytes(self) -> int:
        """The bytes of all tools."""
        return self.before_tool(len(self.body.head.tools))

    @property
    def system_bytes(self) -> int:
        """The bytes of the system text, in its member and in leading messages."""
        blocks = self.body.head.system
        leading = self.body.leading
        inside = leading[-1].end if leading else 0
        return sum(unit.size_bytes for unit in blocks) + inside

    def tool(self, index: int) -> Span:
        """Return where a tool stands in the body."""
        return _within(self.members["tools"], self.body.head.tools[index])

    def system(self, index: int) -> Span:
        """Return where a block of the system member stands in the body."""
        name = self.body.dialect.system or ""
        return _within(self.members[name], self.body.head.system[index])

    def unit(self, unit: Unit) -> Span:
        """Return where a unit of the history stands in the body."""
        return self.body.span(unit)

    def path(self, index: int) -> str:
        """Return the path of a unit of the history, counted from its start."""
        name = self.body.dialect.history
        return name if self.body.history.is_text else f"{name}[{index}]"

    def before_tool(self, index: int) -> int:
        """Return the bytes of the prompt before a tool, in render order."""
        return sum(unit.size_bytes for unit in self.body.head.tools[:index])

    def before_system(self, index: int) -> int:
        """Return the bytes of the prompt before a system block, in render order."""
        blocks = self.body.head.system[:index]
        return self.tools_bytes + sum(unit.size_bytes for unit in blocks)

    def before_unit(self, index: int) -> int:
        """Return the bytes of the prompt before a unit of the history."""
        units = self.body.history.units
        inside = units[index].start if index < len(units) else self.body.history_bytes
        return self.body.head.size_bytes + self.held_bytes + inside


def _within(member: Span, unit: Unit) -> Span:
    return Span(member.start + unit.start, member.start + unit.end)


@dataclass(frozen=True, slots=True)
class Pair:
    """An earlier and a later request, looked at side by side."""

    old: View
    new: View

    @classmethod
    def of(cls, earlier: Body, later: Body, held_bytes: int = 0) -> "Pair":
        """Look at two bodies side by side; the engine holds turns of the earlier."""
        return cls(View(earlier, held_bytes), View(later))

    def breaks_at(
        self,
        cause: tuple[str, str],
        path: str,
        before: int,
        old: Span | None,
        new: Span | int,
        *,
        side: str = HARNESS,
        resolution: str = "",
        shift: int = 0,
    ) -> Break:
        """Return the break of two units that differ.

        Parameters:
            cause: its name and sub.
            path: where it is, in the later request.
            before: bytes of the earlier prompt before the unit.
            old: the unit in the earlier body; None if there is none.
            new: the unit in the later body, or where it would stand if there is none.
            side: who is to answer for it.
            resolution: of a clock.
            shift: bytes by which it stands further back, or in front if negative,
                where a template prints the system text before the tools.
        """
        agreed = 0
        found = new if isinstance(new, Span) else None
        at = new.start if isinstance(new, Span) else new
        if old is not None and found is not None:
            agreed = common_bytes(
                old.of(self.old.body.raw), found.of(self.new.body.raw)
            )
        size = self.old.size_bytes
        offset = min(before + agreed, size)
        return Break(
            cause[0],
            cause[1],
            side,
            path,
            offset,
            at + agreed,
            0 if side == BENIGN else size - offset,
            old and Span(old.start + agreed, old.end),
            found and Span(found.start + agreed, found.end),
            resolution,
            min(max(offset + shift, 0), size),
        )
