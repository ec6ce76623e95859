"""Causes in the chat template: the bytes only went on, the rendered prompt did not."""

from collections.abc import Iterable

from trackside.ledger.case import Case, Confidence, Guess
from trackside.ledger.outline import Unit

CAUSE = "template_rerender"
_SYSTEM = ("system", "developer")


def calls_tools(fresh: Iterable[Unit]) -> bool:
    """Tell whether what was added begins behind a tool call of the model."""
    return any(unit.role == "assistant" and unit.calls_tools for unit in fresh)


def late_system(case: Case) -> Guess | None:
    """A system message behind the first one is merged into the head."""
    if not case.is_append_only or not any(u.role in _SYSTEM for u in case.fresh):
        return None
    end = case.tokens_at["leading_system"]
    if abs(case.cached - end) > case.tol:
        return None
    said = f"a late system message is merged into the head, which ends at token {end}"
    return Guess(CAUSE, "proven" if end > case.tol else "likely", said, "late_system")


def reasoning_boundary(case: Case) -> Guess | None:
    """Reasoning in the history vanishes when a new user message comes."""
    boundary = case.tokens_at.get("boundary")
    if not case.is_append_only or boundary is None:
        return None
    if not any(u.role == "user" for u in case.fresh):
        return None
    if abs(case.cached - boundary) > case.tol:
        return None
    said = f"with a new user message the reasoning behind token {boundary} vanishes"
    tools_hit = any(
        p.thread == case.previous.thread and p.state == "hit" and not p.adds_user
        for p in case.extensions()
    )
    confidence: Confidence = "likely" if tools_hit else "possible"
    return Guess(CAUSE, confidence, said, "reasoning_boundary")


def tool_call_text(case: Case) -> Guess | None:
    """The template writes tool calls in another form than the model did."""
    if not case.is_append_only or case.between or not calls_tools(case.fresh):
        return None
    texts = [p for p in case.extensions() if not p.calls_tools]
    calls = [p for p in case.extensions() if p.calls_tools]
    if any(p.state == "hit" for p in calls):
        return None
    hits = sum(p.state == "hit" for p in texts)
    if not hits:
        return None
    said = f"turns behind a tool call miss, {hits} behind plain text hit"
    confidence: Confidence = "likely" if calls and hits > 1 else "possible"
    return Guess(CAUSE, confidence, said, "tool_call_text")


def generation_marker(case: Case) -> Guess | None:
    """Only the generation prompt has an empty think block, the history has none."""
    if not case.is_append_only or case.between or not case.previous.facts.is_whole:
        return None
    alike = [
        p
        for p in case.extensions()[-4:]
        if p.state == "miss"
        and p.thread == case.previous.thread
        and p.cause in ("", CAUSE)
    ]
    if not alike or not any(p.cached for p in case.recent):
        return None
    said = f"{len(alike) + 1} turns in a row lost what they only went on from"
    return Guess(CAUSE, "possible", said, "generation_marker")
