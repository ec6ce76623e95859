"""The record of a diff: plain values that a capture keeps and every report reads."""

from collections.abc import Sequence
from typing import Any

from trackside.prefix.arrival import Placement
from trackside.prefix.breaks import BENIGN, HARNESS, NOBODY, Break
from trackside.prefix.compare import Comparison
from trackside.prefix.reasoning import sends_reasoning
from trackside.prefix.spans import Span
from trackside.prefix.units import Body

VERSION = 1
BYTES_PER_TOKEN = 4.0
"""Taken until a thread's own usage tells better."""

_KEPT_BREAKS = 64
_EXCERPT_BEFORE, _EXCERPT_BYTES = 24, 96


def diff_record(
    placement: Placement,
    comparison: Comparison | None,
    *,
    gap_s: float | None,
    bytes_per_token: float,
    excerpts: bool,
) -> dict[str, Any]:
    """Return the `trackside.diff` record of a request.

    Parameters:
        placement: where the request belongs.
        comparison: against the request before, or its sibling; None if there is none,
            or its body was given up.
        gap_s: from the request before to this one, in seconds.
        bytes_per_token: of this thread.
        excerpts: whether to tell text, not only where it stands.
    """
    body = placement.body
    breaks = list(comparison.breaks) if comparison else []
    previous = placement.previous
    compared = previous or placement.sibling
    record: dict[str, Any] = {
        "v": VERSION,
        "dialect": body.dialect.name,
        "agent": placement.thread.hints.agent,
        "thread": placement.thread.name,
        "turn": placement.turn.number,
        "role": placement.role,
        "previous": previous.flow if previous else None,
        "sibling": placement.sibling.flow if placement.sibling else None,
        "gap_s": gap_s,
        "raw": {
            "first_divergent_byte": (
                comparison.first_divergent_byte if comparison else None
            ),
            "previous_bytes": compared.raw_bytes if compared else None,
            "bytes": len(body.raw),
        },
        **_effective(placement, comparison),
        "head_hash": placement.turn.head_hash,
        "breaks": [
            _break_row(one, breaks, placement, bytes_per_token, excerpts=excerpts)
            for one in breaks[:_KEPT_BREAKS]
        ],
        "divergence": _divergence(placement, comparison),
        "notes": _notes(placement, comparison),
    }
    if placement.is_resend:
        record["breaks"].append(_resend_row(placement))
    return record


def problem_record(
    dialect: str | None, problem: str, size_bytes: int
) -> dict[str, Any]:
    """Return the record of a body that cannot be compared, saying what it is."""
    return {
        "v": VERSION,
        "dialect": dialect,
        "problem": problem,
        "raw": {
            "first_divergent_byte": None,
            "previous_bytes": None,
            "bytes": size_bytes,
        },
    }


def _effective(placement: Placement, comparison: Comparison | None) -> dict[str, Any]:
    body, previous, turn = placement.body, placement.previous, placement.turn
    if comparison is None:
        return _unseen(placement)
    earlier = previous or placement.sibling
    was = earlier.body if earlier else None
    same_tools = was is not None and (
        [unit.digest for unit in was.head.tools]
        == [unit.digest for unit in body.head.tools]
    )
    return {
        "effective": {
            "shared_bytes": comparison.shared_bytes,
            "previous_bytes": comparison.previous_bytes,
            "bytes": turn.size_bytes,
        },
        "reuse_ratio": round(comparison.reuse_ratio, 6),
        "append_only": comparison.is_append_only,
        "messages": {
            "shared": comparison.shared_turns,
            "appended": turn.held_turns + turn.own_turns - comparison.shared_turns,
            "previous": earlier.held_turns + earlier.own_turns if earlier else None,
        },
        "tools_stable": same_tools,
    }


def _unseen(placement: Placement) -> dict[str, Any]:
    """Return what can be said without the body of the request before."""
    body, previous, turn = placement.body, placement.previous, placement.turn
    same_head = previous is None or previous.head_hash == turn.head_hash
    return {
        "effective": {
            "shared_bytes": previous.size_bytes if previous and same_head else None,
            "previous_bytes": previous.size_bytes if previous else None,
            "bytes": turn.size_bytes,
        },
        "reuse_ratio": 1.0 if previous and same_head else None,
        "append_only": same_head,
        "messages": {
            "shared": None,
            "appended": len(body.history.units),
            "previous": None,
        },
        "tools_stable": same_head,
    }


def _break_row(
    one: Break,
    breaks: Sequence[Break],
    placement: Placement,
    bytes_per_token: float,
    *,
    excerpts: bool,
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "cause": one.cause,
        "sub": one.sub,
        "side": one.side,
        "path": one.path,
        "offset": one.offset,
        "raw_offset": one.raw_offset,
        "lost_bytes": one.lost_bytes,
        "lost_tokens": round(one.lost_bytes / bytes_per_token),
        "gain_bytes": _gain_bytes(one, breaks),
    }
    if one.system_first != one.offset:
        row["offset_system_first"] = one.system_first
    if one.resolution:
        row["resolution"] = one.resolution
    if excerpts:
        compared = placement.previous or placement.sibling
        earlier = compared.body if compared else None
        row["old"] = _excerpt(earlier, one.old)
        row["new"] = _excerpt(placement.body, one.new)
    return row


def _gain_bytes(one: Break, breaks: Sequence[Break]) -> int:
    """Return what is regained by mending this break and all before it."""
    if one.side != HARNESS:
        return 0
    offsets = [other.offset for other in breaks if other.side == HARNESS]
    behind = [offset for offset in offsets if offset > one.offset]
    end = min(behind, default=one.offset + one.lost_bytes)
    return end - min(offsets)


def _excerpt(body: Body | None, span: Span | None) -> str | None:
    if body is None or span is None:
        return None
    start = max(0, span.start - _EXCERPT_BEFORE)
    end = min(span.end, span.start + _EXCERPT_BYTES)
    return body.raw[start:end].decode("utf-8", "replace")


def _resend_row(placement: Placement) -> dict[str, Any]:
    return {
        "cause": "resend",
        "sub": "",
        "side": NOBODY,
        "path": "",
        "offset": placement.turn.size_bytes,
        "raw_offset": len(placement.body.raw),
        "lost_bytes": 0,
        "lost_tokens": 0,
        "gain_bytes": 0,
    }


def _divergence(placement: Placement, comparison: Comparison | None) -> str | None:
    """Return where the first break stands: head, history, or tail (the last turn)."""
    if comparison is None:
        return None
    earlier = placement.previous or placement.sibling
    was = earlier.body if earlier else None
    deciding = [one.offset for one in comparison.breaks if one.side != BENIGN]
    if was is None or not deciding:
        return None
    units = was.history.units
    first = min(deciding)
    head = was.head.size_bytes
    if first < head + (units[was.lead].start if was.lead < len(units) else 0):
        return "head"
    return "tail" if units and first >= head + units[-1].start else "history"


def _notes(placement: Placement, comparison: Comparison | None) -> list[str]:
    body, previous = placement.body, placement.previous
    notes = []
    if body.is_held:
        notes.append("chained_by_id" if previous else "server_held_history")
    fresh = body.history.units[body.history.shared :]
    if any(unit.role == "unreadable" for unit in fresh):
        notes.append("unreadable_text")
    if comparison and len(comparison.breaks) > _KEPT_BREAKS:
        notes.append("more_breaks")
    if comparison and comparison.is_step_back:
        notes.append("step_back")
    if comparison is None and previous is not None:
        notes.append("previous_body_given_up")
    if body.is_held:
        return notes  # what was generated is held as well
    if previous and previous.has_reasoned and comparison and comparison.is_append_only:
        fresh = body.history.units[comparison.shared_turns :]
        answers = [unit for unit in fresh if unit.role == "assistant"]
        if answers and not sends_reasoning(body, answers):
            notes.append("reasoning_not_sent_back")
    return notes


def has_break(record: dict[str, Any]) -> bool:
    """Return whether a record tells of a break on the harness side."""
    return any(row["side"] == HARNESS for row in record.get("breaks", ()))
