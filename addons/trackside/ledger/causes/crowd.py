"""Causes that are others: threads, models or replicas that came in between."""

from trackside.ledger.case import GROWN, Case, Guess, prompts_of
from trackside.ledger.causes.passing import WAITED_S

PAGED = ("vllm", "sglang", "omlx")
"""Engines whose cache is a pool of blocks, not a slot for each conversation."""


def slot_takeover(case: Case) -> Guess | None:
    """Another thread took the slot, and left what both prompts begin with."""
    if case.facts.engine in PAGED:
        return None
    per_byte = case.model.tokens_per_byte
    for past in reversed(case.between):
        if past.facts.model != case.facts.model:
            continue
        low, high = case.facts.outline.shared(past.facts.outline)
        is_left = low * per_byte - case.tol <= case.cached <= high * per_byte + case.tol
        if not is_left:
            continue
        who = past.thread or past.facts.agent or past.facts.flow
        known = [p for p in case.recent if p.cause == "slot_takeover"]
        said = (
            f"thread {who} ran meanwhile, and {case.cached} tokens are what both share"
        )
        return Guess(
            "slot_takeover", "proven" if known else "likely", said, by=past.thread
        )
    return None


def capacity_eviction(case: Case) -> Guess | None:
    """So many prompts came in between that the cache could not hold this one."""
    others = prompts_of(case.between)
    if len(others) < 2:
        return None
    crowd, survived = case.crowd_tokens, case.survived_tokens
    if crowd <= survived:
        return None
    said = f"{crowd} tokens of {len(others)} other threads came in between"
    if survived:
        said += f"; it had survived {survived}"
    is_more = survived and crowd > GROWN * survived
    return Guess("capacity_eviction", "likely" if is_more else "possible", said)


def model_switch(case: Case) -> Guess | None:
    """Another model was served in between, and this one had to be loaded again."""
    others = [p for p in case.between if p.facts.model != case.facts.model]
    if not others or not case.is_gone:
        return None
    said = f"model {others[-1].facts.model or '?'} was served in between"
    if case.waited_s >= WAITED_S:
        said += f", and loading took {case.waited_s:.1f} s"
        return Guess("model_switch", "proven", said)
    return Guess("model_switch", "likely", said)


def replica_changed(case: Case) -> Guess | None:
    """Another machine answered than for the previous turn."""
    mine, theirs = case.facts.replica, case.previous.facts.replica
    if not mine or not theirs or mine == theirs:
        return None
    return Guess(
        "replica_changed", "likely", f"{mine} answered, before it was {theirs}"
    )
