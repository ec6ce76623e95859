"""Token counts of a turn that ran in two phases, added up as one response's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from trackside.wire.leaves import is_number
from trackside.wire.pieces import Usage

MOST = 2.0**53
"""Larger numbers are nobody's measurement; sums and ratios below it are safe."""

_CACHED = ("cached_tokens", "created_cache_tokens")


class Counts(msgspec.Struct, frozen=True):
    """Tokens of one phase, or of both. None: not told; 0: told to be zero."""

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None

    def as_dict(self) -> dict[str, int | None]:
        """Return the counts as plain values, for metadata."""
        return msgspec.structs.asdict(self)

    def updated(self, usage: Usage) -> Counts:
        """Return the counts after a usage piece: what it does not tell stays."""
        told = (usage.prompt, usage.completion, usage.reasoning, usage.cached)
        known = msgspec.structs.astuple(self)
        return Counts(
            *(old if new is None else new for old, new in zip(known, told, strict=True))
        )


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


def merged_usage(told: Mapping[str, Any], counts: Counts) -> dict[str, Any]:
    """Return phase 2's usage object with the merged counts, its shape kept.

    What the merged counts do not tell stays as phase 2 told it, but for its cache hit:
    that is not the client's, so it is left out.

    Example:
        >>> merged_usage({"prompt_tokens": 315, "completion_tokens": 20},
        ...              Counts(10, 320))
        {'prompt_tokens': 10, 'completion_tokens': 320, 'total_tokens': 330}
    """
    usage = dict(told)
    prompt = usage.get("prompt_tokens") if counts.prompt is None else counts.prompt
    completion = counts.completion
    if completion is None:
        completion = usage.get("completion_tokens")
    usage |= {"prompt_tokens": prompt, "completion_tokens": completion}
    if isinstance(prompt, int) and isinstance(completion, int):
        usage["total_tokens"] = prompt + completion
    _tell_cached(usage, counts)
    if counts.reasoning is not None:
        details = _object(usage.get("completion_tokens_details"))
        usage["completion_tokens_details"] = {
            **details,
            "reasoning_tokens": counts.reasoning,
        }
        if "reasoning_tokens" in usage:  # SGLang
            usage["reasoning_tokens"] = counts.reasoning
    return usage


def _tell_cached(usage: dict[str, Any], counts: Counts) -> None:
    """Exchange what a usage object tells about the cache, in every form there is."""
    details = _object(usage.pop("prompt_tokens_details", None))
    details = {key: value for key, value in details.items() if key not in _CACHED}
    had_hits = usage.pop("prompt_cache_hit_tokens", None) is not None  # DeepSeek
    usage.pop("prompt_cache_miss_tokens", None)
    had_cached = usage.pop("cached_tokens", None) is not None  # older oMLX
    if counts.cached is not None:
        details["cached_tokens"] = counts.cached
        if had_cached:
            usage["cached_tokens"] = counts.cached
        if had_hits and counts.prompt is not None:
            usage["prompt_cache_hit_tokens"] = counts.cached
            usage["prompt_cache_miss_tokens"] = counts.prompt - counts.cached
    if details:
        usage["prompt_tokens_details"] = details


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def merged_timings(
    phase1: Mapping[str, float] | None, phase2: Mapping[str, Any]
) -> dict[str, float]:
    """Return llama.cpp's timings of both phases: the prompt of the first, the sum of
    what was predicted. What is no number is left out.

    Example:
        >>> one = {"cache_n": 0, "prompt_n": 9, "predicted_n": 30, "predicted_ms": 500}
        >>> two = {"cache_n": 38, "prompt_n": 3, "predicted_n": 10, "predicted_ms": 300}
        >>> merged = merged_timings(one, two)
        >>> merged["prompt_n"], merged["predicted_n"], merged["predicted_per_second"]
        (9, 40, 50.0)
    """
    before, after = _numbers(phase1 or {}), _numbers(phase2)
    timings = {**after, **before}
    for key in ("predicted_n", "predicted_ms", "draft_n", "draft_n_accepted"):
        if key in timings:
            timings[key] = before.get(key, 0) + after.get(key, 0)
    if (n := timings.get("predicted_n")) and (ms := timings.get("predicted_ms")):
        timings["predicted_per_token_ms"] = ms / n
        timings["predicted_per_second"] = n / ms * 1000
    return timings


def _numbers(timings: Mapping[str, Any]) -> dict[str, float]:
    return {
        key: value
        for key, value in timings.items()
        if is_number(value) and abs(value) < MOST
    }
