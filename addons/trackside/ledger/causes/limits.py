"""Causes that lie in what an engine's cache can do at all."""

from trackside.ledger.case import Case, Guess, Past, is_gone

DISABLED_TURNS = 5
COARSE_TOKENS = 256
TRUNCATED_SHARE = 0.6
"""A prompt counted below this share of a calibrated estimate was cut."""


def no_partial_reuse(case: Case) -> Guess | None:
    """The engine reuses whole prompts only, or goes back to a far checkpoint."""
    if case.is_append_only:
        return None
    is_coarse = case.cached % COARSE_TOKENS == 0
    if not (case.is_gone or is_coarse):
        return None
    told = [p for p in case.recent if p.is_told and p.previous and p.expected]
    diverged = [p for p in told if not p.is_extension]
    if any(_is_well_reused(p) for p in diverged):
        return None
    extended = [p for p in told if p.is_extension and p.state == "hit"]
    said = f"{len(extended)} turns that only went on hit"
    lost = [p for p in diverged if is_gone(p) and not p.crowd_tokens]
    if case.between or not lost or len(extended) < 2:
        return Guess("no_partial_reuse", "possible", said)
    said += f", none of {len(lost) + 1} that went back did"
    return Guess("no_partial_reuse", "proven" if len(lost) > 1 else "likely", said)


def _is_well_reused(past: Past) -> bool:
    expected, cached = past.expected or 0, past.cached or 0
    return expected > COARSE_TOKENS and cached > expected / 2


def prompt_truncated(case: Case) -> Guess | None:
    """The engine cut the prompt to its window."""
    told = case.facts.usage.prompt
    if told is None:
        return None
    before, size_bytes = case.previous, case.facts.request_bytes
    counted = before.facts.usage.prompt
    if (
        case.is_append_only
        and counted is not None
        and size_bytes >= before.facts.request_bytes
        and told < counted - case.tol
    ):
        said = f"the request grew, its prompt shrank from {counted} to {told} tokens"
        return Guess("prompt_truncated", "proven", said)
    estimate = round(size_bytes * case.model.tokens_per_byte)
    error = case.model.error
    if error is not None and error < 0.1 and told < TRUNCATED_SHARE * estimate:
        said = f"{told} tokens were counted, about {estimate} were sent"
        return Guess("prompt_truncated", "likely", said)
    return None


def cache_disabled(case: Case) -> Guess | None:
    """The engine never reused anything."""
    turns = case.extensions()
    if case.cached or len(turns) < DISABLED_TURNS - 1 or any(p.cached for p in turns):
        return None
    if any(p.cached for p in case.recent):
        return None
    said = f"nothing was ever reused, in {len(turns) + 1} turns that only went on"
    return Guess("cache_disabled", "likely", said)


def cache_dead(case: Case) -> Guess | None:
    """The engine reused once, and now it does for nobody any more."""
    last = [p for p in case.recent if p.is_told and p.previous][1 - DISABLED_TURNS :]
    if case.cached or len(last) < DISABLED_TURNS - 1 or any(p.cached for p in last):
        return None
    if not any(p.cached for p in case.recent):
        return None
    threads = {p.thread for p in (*last, case.previous)}
    said = f"nothing was reused in the last {len(last) + 1} turns"
    if len(threads) > 1:
        said += f" of {len(threads)} threads"
    return Guess("cache_dead", "likely", said)
