"""What an engine tells of its own times, under whatever names."""

from collections.abc import Mapping

import msgspec

_PREFILL = (  # name, seconds per unit; without the wait in a queue
    ("prompt_ms", 1e-3),  # llama.cpp, mlx-vlm
    ("prompt_eval_duration", 1.0),  # oMLX; Ollama writes nanoseconds
)
_FIRST_TOKEN = (
    ("time_to_first_token_ms", 1e-3),  # vLLM
    ("time_to_first_token_seconds", 1.0),  # LM Studio
    ("time_to_first_token", 1.0),  # oMLX, older LM Studio
)
_LOAD = (
    ("load_duration", 1.0),  # Ollama, nanoseconds
    ("model_load_duration", 1.0),  # oMLX
    ("model_load_time_seconds", 1.0),  # LM Studio
)
_QUEUE = (("queue_time_ms", 1e-3),)  # vLLM
_RATE = ("predicted_per_second", "generation_tokens_per_second", "tokens_per_second")


class Clocks(msgspec.Struct, frozen=True):
    """An engine's own times, in seconds. None: not told."""

    prefill_s: float | None = None
    first_token_s: float | None = None
    load_s: float | None = None
    queue_s: float | None = None
    tokens_per_s: float | None = None  # of the output


def read_clocks(timings: Mapping[str, float] | None, *, nanoseconds: bool) -> Clocks:
    """Return the times among what an engine told.

    Parameters:
        timings: see `pieces.Usage`.
        nanoseconds: durations without a unit in their name are in ns (Ollama), else s.

    Example:
        >>> read_clocks({"prompt_ms": 1500.0}, nanoseconds=False).prefill_s
        1.5
        >>> read_clocks({"load_duration": 2_000_000_000}, nanoseconds=True).load_s
        2.0
    """
    told = timings or {}

    def seconds(names: tuple[tuple[str, float], ...]) -> float | None:
        for name, unit in names:
            if name in told:
                is_bare = nanoseconds and name.endswith("duration")
                return told[name] * (1e-9 if is_bare else unit)
        return None

    return Clocks(
        prefill_s=seconds(_PREFILL),
        first_token_s=seconds(_FIRST_TOKEN),
        load_s=seconds(_LOAD),
        queue_s=seconds(_QUEUE),
        tokens_per_s=next((told[name] for name in _RATE if told.get(name)), None),
    )
