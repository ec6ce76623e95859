"""Token counts of a turn that ran in two phases, added up as one response's."""

from typing import Any

import msgspec

from trackside.wire.pieces import Usage


class Counts(msgspec.Struct, frozen=True):
    """Tokens of one phase, or of both. None: not told; 0: told to be zero."""

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None

    def as_dict(self) -> dict[str, int | None]:
        """Return the counts as plain values, for metadata."""
        return msgspec.structs.asdict(self)


def counts_of(usage: Usage) -> Counts:
    """Return the token counts of a usage piece."""
    return Counts(usage.prompt, usage.completion, usage.reasoning, usage.cached)


def merge(phase1: Counts, phase2: Counts) -> Counts:
    """Add two phases up as the client would have been billed for one.

    Prompt and cached are phase 1's: phase 2's prompt holds phase 1's output, and its
    cache hit is the guard's doing. Reasoning is phase 1's alone, as phase 2 has none
    that it could be trusted about (SGLang counts all of it).

    Example:
        >>> merge(Counts(10, 300, 300, 0), Counts(315, 20, 20, 310))
        Counts(prompt=10, completion=320, reasoning=300, cached=0)
    """
    told = phase1.completion is not None and phase2.completion is not None
    completion = (phase1.completion or 0) + (phase2.completion or 0) if told else None
    return Counts(phase1.prompt, completion, phase1.reasoning, phase1.cached)


def merged_usage(
    told: dict[str, Any], phase1: Counts, phase2: Counts
) -> dict[str, Any]:
    """Return phase 2's usage object with the merged counts, its shape kept."""
    counts = merge(phase1, phase2)
    usage = dict(told)
    prompt = usage.get("prompt_tokens") if counts.prompt is None else counts.prompt
    completion = counts.completion or usage.get("completion_tokens")
    usage |= {"prompt_tokens": prompt, "completion_tokens": completion}
    if isinstance(prompt, int) and isinstance(completion, int):
        usage["total_tokens"] = prompt + completion
    if counts.cached is not None:
        details = usage.get("prompt_tokens_details") or {}
        usage["prompt_tokens_details"] = {**details, "cached_tokens": counts.cached}
        if "prompt_cache_hit_tokens" in usage and counts.prompt is not None:
            usage["prompt_cache_hit_tokens"] = counts.cached
            usage["prompt_cache_miss_tokens"] = counts.prompt - counts.cached
    if counts.reasoning is not None:
        details = usage.get("completion_tokens_details") or {}
        usage["completion_tokens_details"] = {
            **details,
            "reasoning_tokens": counts.reasoning,
        }
    return usage


def merged_timings(
    phase1: dict[str, float] | None, phase2: dict[str, float]
) -> dict[str, float]:
    """Return llama.cpp's timings of both phases: the prompt of the first, the sum of
    what was predicted.

    Example:
        >>> one = {"cache_n": 0, "prompt_n": 9, "predicted_n": 30, "predicted_ms": 500}
        >>> two = {"cache_n": 38, "prompt_n": 3, "predicted_n": 10, "predicted_ms": 300}
        >>> merged = merged_timings(one, two)
        >>> merged["prompt_n"], merged["predicted_n"], merged["predicted_per_second"]
        (9, 40, 50.0)
    """
    if phase1 is None:
        return phase2
    timings = {**phase2, **phase1}
    for key in ("predicted_n", "predicted_ms", "draft_n", "draft_n_accepted"):
        if key in phase1 or key in phase2:
            timings[key] = phase1.get(key, 0) + phase2.get(key, 0)
    if (n := timings.get("predicted_n")) and (ms := timings.get("predicted_ms")):
        timings["predicted_per_token_ms"] = ms / n
        timings["predicted_per_second"] = n / ms * 1000
    return timings
