"""The state of the cache as one turn found it."""

import msgspec

from trackside.ledger.calibration import Calibration
from trackside.ledger.case import GONE_SHARE, State
from trackside.ledger.facts import Facts

_LEAST_TOKENS, _USUAL_TOKENS = 16, 64
_TINY_SHARE = 4
"""Of a prompt so short that the usual tolerance would hide a miss, this part of it."""


class Found(msgspec.Struct, frozen=True):
    """Cached tokens, and who says so."""

    cached: int | None
    source: str | None  # usage, timings, inferred; None: nobody


def found_cached(facts: Facts, prompt: int | None, model: Calibration) -> Found:
    """Return what a turn found in the cache, by the engine's word or by the clock.

    Parameters:
        prompt: tokens of the prompt, told or estimated.
        model: what is known of the speed of its prefill.
    """
    if facts.usage.cached is not None:
        is_clocked = facts.clocks.prefill_s is not None and facts.engine == "llama.cpp"
        return Found(facts.usage.cached, "timings" if is_clocked else "usage")
    prefill_s = facts.prefill_s
    if prompt is None or prefill_s is None:
        return Found(None, None)
    cached = model.infer_cached(prompt, prefill_s)
    return Found(cached, None if cached is None else "inferred")


def tolerance(expected: int, block: int, *, is_told: bool) -> int:
    """Return how many tokens an expectation may be off by.

    Example:
        >>> tolerance(20_000, 16, is_told=True), tolerance(100, 1, is_told=True)
        (416, 26)
    """
    usual = min(_USUAL_TOKENS, expected // _TINY_SHARE)
    slack = max(_LEAST_TOKENS, usual, expected // 50)
    if not is_told:
        slack = max(slack, expected // _TINY_SHARE)
    return block + slack


def state_of(
    *,
    cached: int | None,
    reusable: int | None,
    tol: int,
    block: int,
) -> State:
    """Return the state of the cache.

    Parameters:
        reusable: tokens of the request before that this one could have used, if the
            harness had only gone on; None without a request before.
        tol: see `tolerance`.
        block: tokens that the cache holds or loses together.

    Example:
        >>> state_of(cached=940, reusable=1000, tol=65, block=1)
        'hit'
        >>> state_of(cached=0, reusable=None, tol=65, block=1)
        'cold'
    """
    if cached is None:
        return "unknown"
    if reusable is None:
        return "partial" if cached > max(tol, block) else "cold"
    if cached >= reusable - tol:
        return "hit"
    return "miss" if cached <= max(block, GONE_SHARE * reusable) else "partial"
