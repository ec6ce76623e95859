"""Causes that lie in time: too soon, too late, or something happened meanwhile."""

from collections.abc import Sequence

from trackside.ledger.case import GROWN, Case, Confidence, Guess, Past, is_gone

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
    ended_at = case.previous.facts.ended_at
    since = [p for p in case.upstream if p.facts.ended_at > ended_at]
    down = [p for p in since if _was_down(p)]
    cold = [
        p
        for p in since
        if p.thread != case.previous.thread and p.cause == "engine_restart"
    ]
    if not case.is_gone and not _is_left_since(case, cold):
        return None
    threads = sorted({p.thread or "?" for p in cold})
    if cold:
        who = f"threads {', '.join(threads)} were" if threads[1:] else None
        as_well = f"{who or f'thread {threads[0]} was'} cold as well"
        if down:
            as_well = f"it was down meanwhile, and {as_well}"
        is_proven = down or len(threads) > 1
        return Guess("engine_restart", "proven" if is_proven else "likely", as_well)
    if down:
        return Guess("engine_restart", "likely", "it was down meanwhile")
    is_crowded = case.crowd_tokens > GROWN * case.survived_tokens
    if is_crowded or not any(p.state == "hit" for p in case.extensions()):
        return None
    before = " behind as many others" if case.between else ""
    alone = "" if case.between else ", and nobody else had come"
    said = f"it had reused before{before}, now all was gone{alone}"
    if case.cached == 0 and (least := _least_shared(case)):
        said += f"; not even the {least} tokens were left that strangers share"
        return Guess("engine_restart", "likely", said)
    return Guess("engine_restart", "possible", said)


def _is_left_since(case: Case, cold: Sequence[Past]) -> bool:
    """Tell whether no more was reused than turns since a restart brought back."""
    if not cold:
        return False
    since = [p for p in case.between if p.facts.ended_at >= cold[0].facts.ended_at]
    shared = [case.facts.outline.shared(p.facts.outline)[1] for p in since]
    most = max(shared, default=0) * case.model.tokens_per_byte
    return case.cached <= most + case.tol


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


_LOST = ("closed", "refused", "reset", "disconnect", "connect call failed", "cut")
"""Words for a connection that broke or never came, not for an error that was told."""


def _was_down(past: Past) -> bool:
    """Tell whether a turn shows that the engine was not there, or went away."""
    end, status = past.facts.end, past.facts.status
    if end.by != "error":
        return False
    is_lost = any(word in (end.error or "").lower() for word in _LOST)
    return status is None or status >= 500 or is_lost


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
