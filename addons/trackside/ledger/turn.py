"""The turn record: plain values, for `flow.metadata`, the ledger and every report."""

from collections.abc import Mapping
from typing import Any

import msgspec

from trackside.ledger.case import State
from trackside.ledger.facts import Facts
from trackside.ledger.sentence import verdict_text
from trackside.ledger.verdict import Verdict

VERSION = 1


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A turn with all that was found out about it. Tokens, where no unit is named."""

    facts: Facts
    thread: str | None
    role: str | None
    index: int | None  # of the turn in its thread, from 1
    gap_s: float | None  # since the previous turn of the thread ended
    estimate_tokens: int  # of the prompt, before the engine told
    estimate_source: str  # calibrated: by this model's own counts; bytes: by none
    estimate_error: float | None  # median relative error of earlier estimates
    prompt: int  # told, or else the estimate
    state: State
    source: str | None  # usage, timings, inferred; None: nobody told
    reusable: int | None  # of the previous turn, if nothing had been rewritten
    expected: int | None  # of that, up to the first break
    cached: int | None
    verdict: Verdict
    lost_s: float | None  # None: the speed of the prefill is not known
    burnt_s: float | None  # by the turn that this one repeats; None: it repeats none

    @property
    def text(self) -> str:
        """The verdict in a sentence."""
        reusable = self.reusable
        is_judged = bool(reusable) and self.verdict.fault != "none"
        by_bytes = reused = None
        if is_judged and reusable and self.expected is not None:
            by_bytes = self.expected / reusable
        if is_judged and reusable and self.cached is not None:
            reused = min(self.cached / reusable, 1.0)
        return verdict_text(
            self.verdict,
            reusable_share=by_bytes,
            reused_share=reused,
            is_told=self.source != "inferred",
        )

    @property
    def saved_tokens(self) -> int | None:
        """What the guard spared, up to the request's own limit; None: no limit."""
        guard, limit = self.facts.guard, self.facts.max_tokens
        if guard is None or not guard.tripped or limit is None:
            return None
        return max(limit - (self.facts.usage.completion or 0), 0)


def turn_record(judged: Judged) -> dict[str, Any]:
    """Return the `trackside.turn` metadata (design: CONTRACTS)."""
    facts, verdict = judged.facts, judged.verdict
    return {
        "v": VERSION,
        "flow": facts.flow,
        "run": facts.run,
        "upstream": facts.upstream,
        "engine": facts.engine,
        "api": facts.api,
        "model": facts.model,
        "agent": facts.agent,
        "session": facts.session,
        "thread": judged.thread,
        "role": judged.role,
        "index": judged.index,
        "gap_s": judged.gap_s,
        "started_at": facts.started_at,
        "ttfb_s": facts.ttfb_s,
        "ttft_s": facts.ttft_s,
        "duration_s": facts.duration_s,
        "gaps": {"p50_ms": facts.gap_p50_ms, "p99_ms": facts.gap_p99_ms},
        "output_tokens_per_s": facts.output_tokens_per_s,
        "in_flight": facts.in_flight,
        "request_bytes": facts.request_bytes,
        "streamed": facts.streamed,
        "status": facts.status,
        "usage": msgspec.structs.asdict(facts.usage),
        "clocks": msgspec.structs.asdict(facts.clocks),
        "estimate": {
            "prompt_tokens": judged.estimate_tokens,
            "source": judged.estimate_source,
            "error": judged.estimate_error,
        },
        "cache": {
            "state": judged.state,
            "source": judged.source,
            "expected_tokens": judged.expected,
            "cached_tokens": judged.cached,
        },
        "verdict": verdict_record(verdict, lost_s=judged.lost_s, text=judged.text),
        "end": msgspec.structs.asdict(facts.end),
        "guard": facts.guard and _guard(judged),
        "resend": None if judged.burnt_s is None else {"burnt_s": judged.burnt_s},
        "chunks": facts.chunks,
    }


def verdict_record(
    verdict: Verdict, *, lost_s: float | None, text: str
) -> dict[str, Any]:
    """Return the `verdict` member of a turn record."""
    return {
        "fault": verdict.fault,
        "cause": verdict.cause,
        "sub": verdict.sub,
        "confidence": verdict.confidence,
        "runner_up": verdict.runner_up,
        "by": verdict.by,
        "lost_tokens": sum(verdict.lost.values()),
        "lost": dict(verdict.lost),
        "lost_s": lost_s,
        "text": text,
    }


def _guard(judged: Judged) -> Mapping[str, Any]:
    guard = judged.facts.guard
    assert guard
    return {
        "phase": guard.phase,
        "other": guard.other,
        "tripped": guard.tripped,
        "reason": guard.reason,
        "spent_tokens": guard.spent_tokens,
        "saved_tokens": judged.saved_tokens,
    }
