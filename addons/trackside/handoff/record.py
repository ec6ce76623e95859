"""The `trackside.guard` record: plain values, the same live and from a capture."""

from typing import Any

from trackside.handoff.dialects import Writer
from trackside.handoff.usage import Counts
from trackside.handoff.watch import Trip, Watch
from trackside.loops.toolcalls import Repetition
from trackside.wire.request import Request

KEY = "trackside.guard"
"""Where the record stands in `flow.metadata`."""


def phase2_record(phase1_id: str) -> dict[str, Any]:
    """Return the record of a phase-2 flow: whose response it continues."""
    return {"v": 1, "tripped": False, "phase1": phase1_id}


def handoff_dict(
    writer: Writer | None,
    *,
    ok: bool,
    error: str | None,
    flow_id: str | None,
    ttft_s: float | None,
    way: str | None = None,
) -> dict[str, Any]:
    """Return the record's account of a handoff.

    Parameters:
        way: how the strategy was carried out (`plan.WAYS`), None without a request.
        ttft_s: from the trip's phase-2 request to the first piece of the answer.
    """
    counts = writer.counts if writer else Counts()
    return {
        "ok": ok,
        "error": error,
        "way": way,
        "flow_id": flow_id,
        "ttft_s": ttft_s,
        "cached_tokens": counts.cached,
        "prompt_tokens": counts.prompt,
    }


def usage_dict(phase1: Counts, writer: Writer | None) -> dict[str, Any]:
    """Return the record's token counts, by phase and merged."""
    merged = writer.merged if writer else phase1
    return {
        "phase1": phase1.as_dict(),
        "phase2": writer.counts.as_dict() if writer else None,
        "merged": merged.as_dict(),
    }


def guard_record(
    watch: Watch,
    request: Request,
    trip: Trip | None,
    *,
    budget_tokens: int | None,
    action: str | None,
    strategy: str | None,
    handoff: dict[str, Any] | None,
    usage: dict[str, Any],
    end: dict[str, Any],
) -> dict[str, Any]:
    """Return the metadata of a guarded turn (design: CONTRACTS, `trackside.guard`).

    Parameters:
        budget_tokens: the limit that held for this request's effort.
        action: what was done about the trip, None without one.
        strategy: the way that was gone, None if nothing was done.
        end: `finish_reason` the client got, and `by` whom the turn ended.
    """
    finding = trip.finding if trip else None
    detail = finding and {
        "detector": finding.detector,
        "start_char": finding.start,
        "end_char": finding.end,
        "copies": finding.copies,
    }
    return {
        "v": 1,
        "tripped": trip is not None,
        "reason": trip.reason if trip else None,
        "channel": trip.channel if trip else None,
        "detail": detail,
        "evidence": watch.evidence,
        "effort": request.effort,
        "budget_tokens": budget_tokens,
        "reasoning_tokens": watch.reasoning_tokens,
        "reasoning_chars": watch.reasoning_chars,
        "tokens_source": watch.tokens_source,
        "action": action,
        "strategy": strategy,
        "handoff": handoff,
        "usage": usage,
        "end": end,
    }


def add_repeats(record: dict[str, Any], found: Repetition | None) -> None:
    """Put what the agent's own turns repeat with the evidence."""
    if found:
        row: dict[str, Any] = {
            "detector": "toolcalls",
            "what": found.what,
            "calls": list(found.calls),
            "copies": found.copies,
            "turns": found.turns,
        }
        record["evidence"].append(row)
