"""Compare a request with the one whose turns the engine holds for it, by its head."""

from trackside.prefix.breaks import BENIGN, Pair
from trackside.prefix.causes.parameters import parameter_breaks
from trackside.prefix.causes.system import member_breaks
from trackside.prefix.causes.tools import tool_breaks
from trackside.prefix.causes.wire import alike_head, wire_breaks
from trackside.prefix.compare import Comparison, divergent_byte
from trackside.prefix.units import Body


def compare_held(
    earlier: Body,
    later: Body,
    *,
    held_bytes: int,
    held_turns: int,
    returned_tools: frozenset[str] = frozenset(),
) -> Comparison:
    """Compare a request with the one whose turns the engine holds for it.

    The turns are taken for unchanged, as the client cannot have touched them: only
    what stands in front of them can break the prefix. The engine's answer, which no
    request shows, is left out of the bytes.

    Parameters:
        earlier: the request it goes on from, or the same one sent before.
        later: this one.
        held_bytes: of turns held in front of those of the earlier.
        held_turns: how many turns of the earlier prompt there are, with its own.
        returned_tools: tools that had been gone for a few turns and are back.
    """
    pair = Pair.of(earlier, later, held_bytes)
    found = [
        *parameter_breaks(pair),
        *tool_breaks(pair, returned_tools),
        *member_breaks(pair),
        *wire_breaks(pair, alike_head(pair)),
    ]
    found.sort(key=lambda one: (one.offset, one.raw_offset))
    whole = pair.old.size_bytes
    return Comparison(
        tuple(found),
        min((one.offset for one in found if one.side != BENIGN), default=whole),
        whole,
        held_turns,
        divergent_byte(earlier.raw, later.raw, 0),
        is_step_back=False,
    )
