"""What no corpus holds: pure stutter, a stream of a million tokens, odd cuts."""

from __future__ import annotations

import pickle
import random
import time
from collections.abc import Sequence
from typing import Any

from benches.corpus import tokens
from trackside.loops.monitor import Monitor

_PERIODS = (1, 2, 3, 5, 8, 16, 32, 64, 100, 128)
_LONG_TOKENS = 1_000_000


def stutter(prose: Sequence[str]) -> dict[str, int | None]:
    """Return after how many tokens of pure repetition the default set trips.

    Parameters:
        prose: tokens of healthy text, at least 628, from which cycles are cut.
    """
    stutters = {
        "one word": " the" * 999,
        "?!": "?!" * 999,
        "! !": "! " * 999,
        "newlines": "\n" * 9999,
        "spaces": " " * 9999,
        "digit": "9" * 3999,
        "CJK": "哈" * 1999,
        "emoji": "😀" * 1999,
    }
    found = {}
    before = list(prose[:500])
    for name, text in stutters.items():
        found[name] = _tokens_to_trip(before, tokens(text)[1])
    for period in _PERIODS:
        cycle = list(prose[500 : 500 + period])
        found[f"cycle of {period} tokens"] = _tokens_to_trip(before, cycle * 1000)
    return found


def _tokens_to_trip(before: Sequence[str], repeated: Sequence[str]) -> int | None:
    monitor = Monitor()
    for text in before:
        monitor.update(text)
    for count, text in enumerate(repeated[:3000], 1):
        if monitor.update(text):
            return count
    return None


def endurance() -> dict[str, Any]:
    """Feed a million tokens that never repeat; return cost early and late, and size."""
    numbers = random.Random(7)
    words = ["".join(numbers.choices("abcdefghijklmnop", k=5)) for _ in range(5000)]
    monitor = Monitor()
    costs = []
    slowest_us = 0.0
    for _ in range(10):
        texts = [" " + word for word in numbers.choices(words, k=_LONG_TOKENS // 10)]
        began = time.process_time()
        for text in texts:
            monitor.update(text)
        costs.append(1e6 * (time.process_time() - began) / len(texts))
        slowest_us = max(slowest_us, _percentile_us(monitor, texts[:5000]))
    return {
        "tokens": _LONG_TOKENS,
        "us_per_token_first_tenth": round(costs[0], 2),
        "us_per_token_last_tenth": round(costs[-1], 2),
        "delta_p99_us": round(slowest_us),
        "state_bytes": len(pickle.dumps(monitor)),
    }


def _percentile_us(monitor: Monitor, texts: Sequence[str]) -> float:
    """Return the 99th percentile of the CPU time one delta takes."""
    spent = []
    for text in texts:
        began = time.process_time()
        monitor.update(text)
        spent.append(1e6 * (time.process_time() - began))
    return sorted(spent)[int(0.99 * len(spent))]


def cuts_agree(text: str, texts: Sequence[str]) -> bool:
    """Tell whether characters, tokens and 4 KB pieces give the same trip."""
    pieces = [text[at : at + 4096] for at in range(0, len(text), 4096)]
    return _trip(texts) == _trip(list(text)) == _trip(pieces)


def _trip(texts: Sequence[str]) -> object:
    monitor = Monitor()
    return next((trip for text in texts if (trip := monitor.update(text))), None)
