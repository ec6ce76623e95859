"""A verdict in one plain sentence."""

from trackside.ledger.verdict import Verdict


def verdict_text(
    verdict: Verdict,
    *,
    reusable_share: float | None,
    reused_share: float | None,
    is_told: bool,
) -> str:
    """Return the sentence a person reads.

    Parameters:
        reusable_share: of the previous prompt, what the bytes allow to reuse, 0…1.
        reused_share: of the previous prompt, what the engine reused, 0…1.
        is_told: the engine told what it reused; else the clock did.

    Example:
        >>> verdict_text(
        ...     Verdict(fault="engine", cause="publish_race", confidence="likely",
        ...             because="0.61 s after the previous turn ended"),
        ...     reusable_share=0.994, reused_share=0.06, is_told=True)
        'bytes 99.4 % reusable, engine reused 6 %: engine, publish_race, likely: \
0.61 s after the previous turn ended'
    """
    facts = []
    if reusable_share is not None:
        facts.append(f"bytes {percent(reusable_share)} reusable")
    if reused_share is not None:
        by_clock = "" if is_told else ", by the clock"
        facts.append(f"engine reused {percent(reused_share)}{by_clock}")
    cause = verdict.cause
    if cause and verdict.sub:
        cause = f"{cause} ({verdict.sub})"
    fault = None if verdict.fault == "none" and cause else verdict.fault
    words = [word for word in (fault, cause, verdict.confidence) if word]
    judged = ", ".join(words)
    because = f": {verdict.because}" if verdict.because else ""
    if verdict.runner_up and verdict.runner_up not in because:
        because += f" (or {verdict.runner_up})"
    return (f"{', '.join(facts)}: " if facts else "") + judged + because


def percent(share: float) -> str:
    """Return a share in percent; 0 and 100 only where they are whole.

    Example:
        >>> percent(0.9996), percent(1.0), percent(0.0004), percent(0.5)
        ('99.9 %', '100 %', '0.1 %', '50 %')
    """
    if share <= 0 or share >= 1:
        return "100 %" if share >= 1 else "0 %"
    told = min(max(round(share * 100, 1), 0.1), 99.9)
    return f"{told:g} %"
