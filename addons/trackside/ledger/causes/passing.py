"""Causes that lie in time: too soon, too late, or something happened meanwhile."""

from trackside.ledger.case import Case, Confidence, Guess, Past, is_gone

RACE_S = 2.0
"""Until a model's own hits tell: engines store a turn up to so long after its end."""

TTL_S = {"ollama": 300.0, "lmstudio": 3600.0}
"""How long engines keep an idle model by default."""

IDLE_S = 60.0
"""Shorter pauses are not taken for idleness without better evidence."""

WAITED_S = 0.25
"""A lone request that waits longer before its prefill waits for a model to load."""


def publish_race(case: Case) -> Guess | None:
    """The engine had not stored the previous turn yet when this one came."""
    if case.between or not case.previous.facts.is_whole or not case.is_without_previous:
        return None
    others = case.extensions()
    hits = [p.gap_s for p in others if p.state == "hit" and p.gap_s is not None]
    later = [gap_s for gap_s in hits if gap_s > case.gap_s]
    if len(hits) > len(later):
        return None  # turns that came even sooner did hit
    if not later and case.gap_s > RACE_S:
        return None
    said = f"{case.gap_s:.2f} s after the previous turn ended"
    if not later:
        return Guess("publish_race", "possible", said)
    raced = [p for p in others if p.cause == "publish_race"]
    is_proven = len(later) > 1 and bool(raced)
    said += f"; a turn after {min(later):.1f} s hit"
    return Guess("publish_race", "proven" if is_proven else "likely", said)


def idle_expiry(case: Case) -> Guess | None:
    """The engine gave the cache up because nobody came for too long."""
    if not case.is_gone or any(p.facts.model != case.facts.model for p in case.between):
        return None
    told_s = case.previous.facts.keep_alive_s
    ttl_s = TTL_S.get(case.facts.engine or "") if told_s is None else told_s
    waited_s = case.waited_s
    survived = [
        p.gap_s for p in case.extensions() if p.state == "hit" and p.gap_s is not None
    ]
    longest_s = max(survived, default=0.0)
    if case.gap_s <= longest_s:
        return None
    expired = [
        p.gap_s
        for p in case.extensions()
        if is_gone(p)
        and p.cause in ("", "idle_expiry", "engine_restart")
        and p.gap_s is not None
        and longest_s < p.gap_s <= case.gap_s
    ]
    said = f"idle for {_duration(case.gap_s)}"
    if waited_s >= WAITED_S:
        said += f", and {waited_s:.1f} s went by before the prompt was read"
        was_due = ttl_s is not None and case.gap_s >= ttl_s
        confidence: Confidence = "proven" if was_due else "likely"
        return Guess("idle_expiry", confidence, said)
    if ttl_s and case.gap_s >= ttl_s:
        said += f", the engine keeps an idle model for {_duration(ttl_s)}"
        return Guess("idle_expiry", "likely", said)
    if expired and survived:
        said += f"; pauses up to {_duration(longest_s)} were survived"
        return Guess("idle_expiry", "likely", said)
    return Guess("idle_expiry", "possible", said) if case.gap_s >= IDLE_S else None


def engine_restart(case: Case) -> Guess | None:
    """The engine was started anew: every thread is cold once."""
    if not case.is_gone:
        return None
    ended_at = case.previous.facts.ended_at
    since = [p for p in case.upstream if p.facts.ended_at > ended_at]
    refused = [p for p in since if p.facts.end.by == "error" and _is_down(p)]
    cold = [
        p
        for p in since
        if p.thread != case.previous.thread and p.cause == "engine_restart"
    ]
    if refused and cold:
        said = f"it refused a request meanwhile, and thread {cold[0].thread} was cold"
        return Guess("engine_restart", "proven", said)
    if refused:
        return Guess("engine_restart", "likely", "it refused a request meanwhile")
    if cold:
        said = f"thread {cold[0].thread} was cold as well"
        return Guess("engine_restart", "likely", said)
    if case.between or not any(p.state == "hit" for p in case.extensions()):
        return None
    said = "it had reused before, now all was gone, and nobody else had come"
    if case.cached == 0 and (least := _least_shared(case)):
        said += f"; not even the {least} tokens were left that strangers share"
        return Guess("engine_restart", "likely", said)
    return Guess("engine_restart", "possible", said)


def _least_shared(case: Case) -> int:
    """Return the least that unrelated prompts found of each other; 0 if not known.

    Templates begin all prompts alike, so an engine that was not started anew since has
    a few tokens for everybody.
    """
    if case.block > 1:
        return 0
    told = [p for p in case.recent[1:] if p.is_told]
    if not any(p.previous is None for p in told):
        return 0
    return min(p.cached or 0 for p in told)


def _is_down(past: Past) -> bool:
    return past.facts.status is None or past.facts.status >= 500


def prev_aborted(case: Case) -> Guess | None:
    """The previous turn was cut off, and the engine did not keep its prompt."""
    facts = case.previous.facts
    if facts.is_whole or case.cached > case.floor + case.tol:
        return None
    said = f"the previous turn was ended by the {facts.end.by} at {facts.end.stage}"
    if case.between:
        return Guess("prev_aborted", "possible", said)
    known = [p for p in case.extensions() if p.cause == "prev_aborted"]
    return Guess("prev_aborted", "proven" if known else "likely", said)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 180 else f"{seconds:.1f} s"
