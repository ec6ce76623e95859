"""A turn in tokens: its prompt, and what of it could have been reused by the bytes."""

from collections.abc import Mapping
from typing import Any

import msgspec

from trackside.ledger.calibration import Calibration
from trackside.ledger.case import Past
from trackside.ledger.facts import Facts
from trackside.ledger.knots import Knots


class Sized(msgspec.Struct, frozen=True):
    """Tokens of a turn."""

    size_bytes: int  # of what may reach the prompt
    estimate: int  # of the prompt, made before the engine told
    prompt: int  # told, or else the estimate
    reusable: int | None  # of the turn before; None without one
    expected: int | None  # of that, up to the first break


def size_up(
    facts: Facts,
    diff: Mapping[str, Any] | None,
    previous: Past | None,
    model: Calibration,
    knots: Knots,
) -> Sized:
    """Return a turn's tokens, as if nothing were broken."""
    told = (diff or {}).get("effective") or {}
    size_bytes = told.get("bytes") or facts.request_bytes
    estimate = knots.tokens(size_bytes, model.tokens_per_byte)
    prompt = estimate if facts.usage.prompt is None else facts.usage.prompt
    reusable = previous.prompt if previous else None
    if reusable is not None:
        before = told.get("previous_bytes") or 0
        shared = before if (got := told.get("shared_bytes")) is None else int(got)
        rows = (diff or {}).get("breaks", ())
        if shared < before and not any(row["side"] == "harness" for row in rows):
            reusable = min(reusable, knots.tokens(shared, model.tokens_per_byte))
    return Sized(size_bytes, estimate, prompt, reusable, reusable)


def cut_at(
    sized: Sized, broken: Mapping[str, Any] | None, knots: Knots, model: Calibration
) -> Sized:
    """Return the turn's tokens with what a break leaves to expect."""
    if broken is None or sized.reusable is None:
        return sized
    upto = knots.tokens(int(broken["offset"]), model.tokens_per_byte)
    return msgspec.structs.replace(sized, expected=min(upto, sized.reusable))


def tokens_at(
    facts: Facts, previous: Past, sized: Sized, model: Calibration, knots: Knots
) -> dict[str, int]:
    """Return where a template may have begun to render otherwise.

    `leading_system`: the end of the head. `boundary`: the first answer behind the last
    user message that both prompts have; absent if there is none.
    """
    outline = facts.outline
    scale = sized.size_bytes / (outline.size_bytes or 1)
    shared = len(outline.units) - len(outline.behind(previous.facts.outline))
    ends = [0]
    for unit in outline.units:
        ends.append(ends[-1] + unit.size_bytes)

    def tokens(units: int) -> int:
        return knots.tokens(round(ends[units] * scale), model.tokens_per_byte)

    roles = [unit.role for unit in outline.units]
    lead = 0
    while lead < len(roles) and roles[lead] in ("tools", "system", "developer"):
        lead += 1
    found = {"leading_system": tokens(lead)}
    users = [at for at in range(shared) if roles[at] == "user"]
    if users:
        answers = [at for at in range(users[-1], shared) if roles[at] == "assistant"]
        if answers:
            found["boundary"] = tokens(answers[0])
    return found
