"""Whose fault a refill was: the bytes held against the engine's ledger."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from trackside.ledger.case import Case, Confidence, Guess
from trackside.ledger.causes import NEVER_BLAMED, TEMPLATE, guesses
from trackside.ledger.causes.limits import prompt_truncated
from trackside.ledger.facts import Facts

type Fault = Literal["healthy", "harness", "engine", "template", "none", "unexplained"]

CONTRADICTION_S = 1.0
"""A prefill that a cache hit should have saved, by the clock."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of one turn, without its price in seconds."""

    fault: Fault
    cause: str | None = None
    sub: str | None = None
    confidence: Confidence | None = None
    runner_up: str | None = None
    because: str = ""
    by: str | None = None  # the thread that did it
    lost: Mapping[str, int] = {}  # fault -> tokens prefilled again


def plain(fault: Fault, cause: str | None, because: str = "") -> Verdict:
    """Return a verdict that nothing was lost by."""
    return Verdict(fault=fault, cause=cause, because=because)


def not_blamed(facts: Facts, diff: Mapping[str, Any] | None) -> Verdict | None:
    """Return the verdict of a turn that is no continuation of another; else None."""
    if facts.is_phase2:
        return plain("none", None, "phase 2 of a guarded turn")
    rows = diff.get("breaks", ()) if diff else ()
    if any(row["cause"] == "resend" for row in rows):
        return plain("none", "resend", "the same request again")
    if facts.end.by == "error" and facts.end.stage == "before_first_token":
        return plain("none", None, f"the engine failed: {facts.end.error}")
    if diff is None or "problem" in diff:
        return plain("none", None, "nothing to compare with")
    if any(row["cause"] == "session_border" for row in rows):
        return plain("none", "session_border", "another task under the same head")
    roles = {"retry": "retry", "branch": "branch", "side": "side_call"}
    if cause := roles.get(diff.get("role", "")):
        return plain("none", cause)
    if diff.get("previous") is None:
        return plain("none", "first_request")
    return None


def first_harness_break(
    diff: Mapping[str, Any], neutral: Mapping[tuple[str, str], int]
) -> Mapping[str, Any] | None:
    """Return the first break in the prompt that this engine takes notice of.

    Parameters:
        neutral: breaks, by cause and sub, that it was seen to ignore.
    """
    rows = [
        row
        for row in diff.get("breaks", ())
        if row["side"] == "harness" and (row["cause"], row["sub"]) not in neutral
    ]
    return min(rows, key=lambda row: int(row["offset"]), default=None)


def judge(
    case: Case, broken: Mapping[str, Any] | None, *, is_told: bool, reusable: int
) -> Verdict:
    """Judge a turn that continues another.

    Parameters:
        broken: the break that `case.expected` ends at, if there is one.
        is_told: the engine itself told the cached tokens; else the clock did.
        reusable: tokens that could have been reused if nothing had been rewritten.
    """
    if (guess := prompt_truncated(case)) is not None:
        return _blame("engine", guess, None, {})
    if is_told and (because := _contradiction(case)):
        return plain("none", "ledger_contradicts_ttft", because)
    lost: dict[str, int] = {}
    if broken and reusable > case.expected:
        lost["harness"] = reusable - case.expected
    missing = case.expected - case.cached
    if missing <= case.tol:
        return _by_the_bytes(case, broken, lost, is_told=is_told)
    found = guesses(case)
    best = found[0] if found else None
    second = next((g.cause for g in found[1:] if g != best), None)
    if broken:
        return _shared_blame(broken, best, missing, lost)
    if best is None:
        return Verdict(fault="unexplained", lost={"unexplained": missing})
    return _blame(_fault(best), best, second, {_fault(best): missing})


def _by_the_bytes(
    case: Case,
    broken: Mapping[str, Any] | None,
    lost: Mapping[str, int],
    *,
    is_told: bool,
) -> Verdict:
    if broken and case.cached > case.expected + case.tol:
        return plain("healthy", broken["cause"], "this engine takes no notice")
    if broken and lost.get("harness", 0) > case.tol:
        return Verdict(
            fault="harness",
            cause=broken["cause"],
            sub=broken["sub"] or None,
            confidence="proven" if is_told else "likely",
            because=f"at {broken['path']}",
            lost=lost,
        )
    answer = case.previous.facts.usage.completion or 0
    whole = case.previous.facts.usage.prompt
    if whole is not None and answer > case.tol and case.cached <= whole + case.tol:
        return plain("healthy", "output_not_reused")
    return plain("healthy", None)


def _shared_blame(
    broken: Mapping[str, Any],
    guess: Guess | None,
    missing: int,
    lost: Mapping[str, int],
) -> Verdict:
    """Return the verdict of a turn that lost twice: at the break, and before it."""
    fault = _fault(guess) if guess else "unexplained"
    both = {**lost, fault: missing}
    because = f"at {broken['path']}"
    if guess:
        because += f", and {guess.cause}: {guess.because}"
    if missing > lost.get("harness", 0) and guess:
        return _blame(fault, guess, broken["cause"], both)
    return Verdict(
        fault="harness",
        cause=broken["cause"],
        sub=broken["sub"] or None,
        confidence="likely",
        runner_up=guess.cause if guess else None,
        because=because,
        by=guess.by if guess else None,
        lost=both,
    )


def _blame(
    fault: Fault, guess: Guess, runner_up: str | None, lost: Mapping[str, int]
) -> Verdict:
    return Verdict(
        fault=fault,
        cause=guess.cause,
        sub=guess.sub or None,
        confidence=guess.confidence,
        runner_up=runner_up,
        because=guess.because,
        by=guess.by,
        lost=lost,
    )


def _fault(guess: Guess) -> Fault:
    if guess.cause in NEVER_BLAMED:
        return "none"
    return "template" if guess.cause == TEMPLATE else "engine"


def _contradiction(case: Case) -> str | None:
    """Tell where a prefill took as long as if what is said to be cached were not."""
    per_token, took_s = case.model.prefill_s_per_token, case.facts.prefill_s
    if per_token is None or took_s is None or case.waited_s >= CONTRADICTION_S:
        return None
    full_s = per_token * case.prompt
    if full_s < CONTRADICTION_S:
        return None
    due_s = per_token * max(case.prompt - case.cached, 0)
    is_said_hit = due_s < full_s / 2
    is_slow = is_said_hit and took_s > max(0.7 * full_s, 3 * due_s)
    is_fast = took_s < 0.2 * full_s and took_s < due_s / 4
    if not is_slow and not is_fast:
        return None
    return (
        f"{case.cached} of {case.prompt} tokens are said to be cached, but the prefill"
        f" took {took_s:.1f} s, where {due_s:.1f} s were due"
    )


def by_bytes_alone(broken: Mapping[str, Any] | None, lost_tokens: int) -> Verdict:
    """Judge a turn whose engine tells nothing, and whose clock does not either."""
    if broken is None:
        return plain(
            "none", "ledger_missing", "the engine does not tell what it reused"
        )
    return Verdict(
        fault="harness",
        cause=broken["cause"],
        sub=broken["sub"] or None,
        confidence="likely",
        because=f"at {broken['path']}, by the bytes alone",
        lost={"harness": lost_tokens},
    )
