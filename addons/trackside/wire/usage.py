"""Token counts and timings, under whatever names an engine reports them."""

from typing import Any

from trackside.wire.leaves import count_of, is_number, object_of
from trackside.wire.pieces import Usage

_OMLX_CLOCKS = (  # seconds and tokens per second, between the token counts
    "model_load_duration",
    "time_to_first_token",
    "total_time",
    "prompt_eval_duration",
    "generation_duration",
    "prompt_tokens_per_second",
    "generation_tokens_per_second",
)


def read_usage(usage: Any, clock: Any, *, final: bool) -> Usage | None:
    """Return what a chunk or a body tells about tokens, or None if it tells nothing.

    Parameters:
        usage: the `usage` member, in any shape.
        clock: the member with timings: llama.cpp's `timings` (milliseconds; its
            counts stand in for a missing `usage`), vLLM's `metrics` (milliseconds) or
            LM Studio's `stats` (seconds).
        final: whether these are the last counts of the turn.

    Example:
        >>> counts = read_usage(None, {"cache_n": 3, "prompt_n": 2}, final=False)
        >>> counts.prompt, counts.cached, counts.completion
        (5, 3, None)
    """
    counts, clock = object_of(usage), object_of(clock)
    if counts.get("prompt_tokens") == 0 == counts.get("completion_tokens"):
        counts = {}  # Ollama's text completions say so until they tell
    if not counts and not clock:
        return None
    cache_n = _count(clock, "cache_n")
    prompt = _count(counts, "prompt_tokens")
    if prompt is None and cache_n is not None:
        # without the cached ones, `prompt_n` alone does not tell the prompt
        processed = _count(clock, "prompt_n")
        prompt = None if processed is None else cache_n + processed
    completion = _count(counts, "completion_tokens")
    if completion is None:
        completion = _count(clock, "predicted_n")
    reasoning = _count(counts.get("completion_tokens_details"), "reasoning_tokens")
    if reasoning is None:
        reasoning = _count(counts, "reasoning_tokens")  # SGLang
    cached = _count(counts.get("prompt_tokens_details"), "cached_tokens")
    if cached is None:
        cached = _count(counts, "prompt_cache_hit_tokens")  # DeepSeek
    if cached is None:
        cached = _count(counts, "cached_tokens")  # older oMLX
    if cached is None:
        cached = cache_n
    timings = {name: value for name, value in clock.items() if is_number(value)}
    if final:
        times = ((name, counts.get(name)) for name in _OMLX_CLOCKS)
        timings.update((name, value) for name, value in times if is_number(value))
    return Usage(prompt, completion, reasoning, cached, timings or None, final)


def _count(source: Any, name: str) -> int | None:
    return count_of(object_of(source).get(name))
