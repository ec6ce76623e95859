"""Why an engine did not reuse what the bytes allowed: one rule for each cause."""

from collections.abc import Callable

from trackside.ledger.case import RANK, Case, Guess
from trackside.ledger.causes import crowd, limits, passing, rendering

type Rule = Callable[[Case], Guess | None]

RULES: dict[str, Rule] = {
    "prompt_truncated": limits.prompt_truncated,
    "cache_disabled": limits.cache_disabled,
    "cache_dead": limits.cache_dead,
    "replica_changed": crowd.replica_changed,
    "model_switch": crowd.model_switch,
    "late_system": rendering.late_system,
    "reasoning_boundary": rendering.reasoning_boundary,
    "tool_call_text": rendering.tool_call_text,
    "prev_aborted": passing.prev_aborted,
    "publish_race": passing.publish_race,
    "idle_expiry": passing.idle_expiry,
    "no_partial_reuse": limits.no_partial_reuse,
    "engine_restart": passing.engine_restart,
    "slot_takeover": crowd.slot_takeover,
    "capacity_eviction": crowd.capacity_eviction,
    "generation_marker": rendering.generation_marker,
}
"""In order of precedence between guesses of equal confidence."""

NEVER_BLAMED = frozenset({"cache_disabled", "cache_dead", "replica_changed"})
TEMPLATE = "template_rerender"


def guesses(case: Case) -> list[Guess]:
    """Return every cause that fits, the best first."""
    found = [guess for rule in RULES.values() if (guess := rule(case))]
    return sorted(found, key=lambda guess: -RANK[guess.confidence])
