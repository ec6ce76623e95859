"""What is learnt of one model at one upstream: sizes, speed, cache block."""

import math
from collections import deque
from statistics import median

TOKENS_PER_BYTE = 0.25
"""Taken until the model's own counts tell better."""

BLOCK_TOKENS = {"vllm": 16, "omlx": 2048, "mlx-vlm": 16}
"""Cache blocks until a model's own are seen; 1 for other engines."""

_KEPT = 64
_LEAST_TOKENS = 128  # a shorter prefill is mostly overhead
_LEAST_SAMPLES = 3
_MOST_BLOCK = 4096


class Calibration:
    """Learns from turns whose engine told; answers for those it did not tell."""

    def __init__(self, engine: str | None) -> None:
        self._ratios: deque[float] = deque(maxlen=_KEPT)
        self._errors: deque[float] = deque(maxlen=_KEPT)
        self._prefills: deque[float] = deque(maxlen=_KEPT)
        self._first_block = BLOCK_TOKENS.get(engine or "", 1)
        self._cached: set[int] = set()
        self._gcd = 0

    @property
    def tokens_per_byte(self) -> float:
        """Tokens of a byte of request."""
        return median(self._ratios) if self._ratios else TOKENS_PER_BYTE

    @property
    def is_calibrated(self) -> bool:
        """The model's own counts were seen."""
        return bool(self._ratios)

    @property
    def error(self) -> float | None:
        """Median relative error of the estimates so far; None without any to check."""
        return median(self._errors) if self._errors else None

    @property
    def prefill_s_per_token(self) -> float | None:
        """Seconds to read a token that is not in the cache; None if not known yet."""
        known = len(self._prefills) >= _LEAST_SAMPLES
        return median(self._prefills) if known else None

    @property
    def block(self) -> int:
        """Tokens that the cache holds or loses together."""
        if len(self._cached) < _LEAST_SAMPLES:
            return self._first_block
        return min(max(self._gcd, 1), _MOST_BLOCK)

    def learn_size(self, size_bytes: int, tokens: int, estimate: int) -> None:
        """Note a count by the engine, and what had been estimated."""
        if size_bytes > 0 and tokens > 0:
            self._ratios.append(tokens / size_bytes)
            self._errors.append(abs(estimate - tokens) / tokens)

    def learn_prefill(self, uncached_tokens: int, prefill_s: float) -> None:
        """Note how long it took to read tokens that were not in the cache."""
        if uncached_tokens >= _LEAST_TOKENS and prefill_s > 0:
            self._prefills.append(prefill_s / uncached_tokens)

    def learn_cached(self, cached: int) -> None:
        """Note how many tokens came from the cache."""
        if cached > 0:
            self._gcd = math.gcd(self._gcd, cached)
            if len(self._cached) < _LEAST_SAMPLES:
                self._cached.add(cached)

    def infer_cached(self, prompt: int, prefill_s: float) -> int | None:
        """Return how many of a prompt's tokens must have been cached, by the clock.

        None as long as the speed is not known, or where the prompt is too short to
        tell.
        """
        per_token = self.prefill_s_per_token
        if per_token is None or prompt < 2 * _LEAST_TOKENS:
            return None
        return max(prompt - round(prefill_s / per_token), 0)
