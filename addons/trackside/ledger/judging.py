"""One turn held against what is remembered: its break, its verdict."""

from collections.abc import Mapping
from typing import Any

import msgspec

from trackside.ledger.cache import Found, state_of, tolerance
from trackside.ledger.calibration import Calibration
from trackside.ledger.case import Case, Past
from trackside.ledger.facts import Facts
from trackside.ledger.knots import Knots
from trackside.ledger.sizing import Sized, cut_at, tokens_at
from trackside.ledger.turn import Judged
from trackside.ledger.upstream import Upstream
from trackside.ledger.verdict import (
    Verdict,
    by_bytes_alone,
    first_harness_break,
    judge,
    not_blamed,
    plain,
)


class Look(msgspec.Struct, frozen=True):
    """One turn and all that it is judged with."""

    facts: Facts
    diff: Mapping[str, Any] | None
    there: Upstream
    model: Calibration
    knots: Knots
    previous: Past | None
    levels: list[int]  # tokens of the prompts before that one


def turns_between(look: Look) -> list[Past]:
    """Return the turns of others since the previous turn of the thread ended."""
    if look.previous is None:
        return []
    return look.there.between(look.previous, look.facts.started_at)


def find_break(
    look: Look, sized: Sized, found: Found
) -> tuple[Sized, Mapping[str, Any] | None]:
    """Return the first break that this engine takes notice of, and the tokens to it.

    A break that it was seen to ignore counts again once it shows in the ledger. Which
    of tools and system text its template prints first is taken from the ledger, too.
    """
    if look.diff is None:
        return sized, None
    neutral, model = look.there.neutral, look.model
    broken = first_harness_break(look.diff, neutral)
    first = first_harness_break(look.diff, {})
    if first is not None and first is not broken and found.cached is not None:
        cut = cut_at(sized, first, look.knots, model)
        tol = tolerance(cut.expected or 0, model.block, is_told=True)
        if found.cached <= (cut.expected or 0) + tol < (sized.reusable or 0) - tol:
            neutral.pop((first["cause"], first["sub"]), None)
            return cut, first
    cut = cut_at(sized, broken, look.knots, model)
    if broken is not None and found.cached is not None:
        other = first_harness_break(_with_system_first(look.diff), neutral)
        moved = cut_at(sized, other, look.knots, model)
        expected = cut.expected or 0
        tol = tolerance(
            expected, model.block, is_told=look.facts.usage.cached is not None
        )
        if (
            abs(found.cached - (moved.expected or 0))
            <= tol
            < abs(found.cached - expected)
        ):
            return moved, other
    return cut, broken


def _with_system_first(diff: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the diff for a template that prints the system text before the tools.

    Source: Qwen's chat templates; those of GLM and Hermes print the tools first.
    """
    rows = diff.get("breaks", ())
    return {
        "breaks": [
            {**row, "offset": row.get("offset_system_first", row["offset"])}
            for row in rows
        ]
    }


def judge_turn(
    look: Look,
    sized: Sized,
    found: Found,
    broken: Mapping[str, Any] | None,
    burnt_s: float | None,
) -> Judged:
    """Judge a turn.

    Parameters:
        broken: the break that `sized.expected` ends at, if there is one.
        burnt_s: see `Upstream.end`.
    """
    facts, diff, previous, model = look.facts, look.diff, look.previous, look.model
    is_told = facts.usage.cached is not None
    expected, reusable = sized.expected or 0, sized.reusable
    tol = tolerance(expected, model.block, is_told=is_told)
    gap_s = facts.started_at - previous.facts.ended_at if previous else None
    verdict: Verdict | None
    if burnt_s is not None and not facts.is_phase2:
        verdict = plain("none", "resend", f"{burnt_s:.1f} s of the first were burnt")
    else:
        verdict = not_blamed(facts, diff)
    if verdict is None and (previous is None or diff is None or gap_s is None):
        verdict = plain("none", None, "the turn before was not seen")
    elif verdict is None and found.cached is None and not facts.is_whole:
        verdict = plain("none", None, "it ended before the engine told its cache")
    elif verdict is None and found.cached is None:
        verdict = by_bytes_alone(broken, max((reusable or 0) - expected, 0))
    elif verdict is None:
        assert previous
        assert diff is not None
        assert gap_s is not None
        assert found.cached is not None
        case = Case(
            facts=facts,
            diff=diff,
            previous=previous,
            prompt=sized.prompt,
            expected=expected,
            cached=found.cached,
            tol=tol,
            block=model.block,
            gap_s=gap_s,
            levels=look.levels,
            between=turns_between(look),
            recent=look.there.recent(facts.model),
            upstream=look.there.past,
            model=model,
            fresh=facts.outline.behind(previous.facts.outline),
            tokens_at=tokens_at(facts, previous, sized, model, look.knots),
        )
        verdict = judge(case, broken, is_told=is_told, reusable=reusable or 0)
    per_token = model.prefill_s_per_token
    lost = sum(verdict.lost.values())
    return Judged(
        facts=facts,
        thread=diff.get("thread") if diff else None,
        role=diff.get("role") if diff else None,
        index=diff.get("turn") if diff else None,
        gap_s=gap_s,
        estimate_tokens=sized.estimate,
        estimate_source="calibrated" if model.is_calibrated else "bytes",
        estimate_error=model.error,
        state=state_of(
            cached=found.cached, reusable=reusable, tol=tol, block=model.block
        ),
        source=found.source,
        expected=sized.expected,
        reusable=reusable,
        cached=found.cached,
        prompt=sized.prompt,
        verdict=verdict,
        lost_s=None if per_token is None else lost * per_token,
        burnt_s=burnt_s,
    )
