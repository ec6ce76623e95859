"""Turns what a subject did on each trace into the figures that are compared."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from benches.corpus import LONG_TOKENS, Trace


class Outcome(msgspec.Struct, frozen=True):
    """What one subject did on one trace."""

    group: str
    lang: str
    tokens: int
    onset: int | None  # token at which the loop begins by its label
    trip: int | None  # token at which the subject stopped the stream
    detector: str = ""  # of ours, the one that fired
    start_chars: int | None = None  # from the label to where ours says it begins
    evidence: tuple[str, ...] = ()  # detectors of ours that found something

    @property
    def delay(self) -> int | None:
        """Tokens from the label to the trip, negative if it came before."""
        if self.trip is None or self.onset is None:
            return None
        return self.trip - self.onset


def onset_token(trace: Trace, texts: Sequence[str]) -> int | None:
    """Return the token in which the labelled loop begins."""
    if trace.loop_start_char is None:
        return None
    chars = 0
    for index, text in enumerate(texts):
        chars += len(text)
        if chars > trace.loop_start_char:
            return index
    return len(texts)


def summary(outcomes: Iterable[Outcome], seconds: float, read: int) -> dict[str, Any]:
    """Return the figures of one subject.

    Parameters:
        outcomes: one for each trace.
        seconds: CPU time spent on them.
        read: tokens read in that time.
    """
    by_group: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_group.setdefault(outcome.group, []).append(outcome)
    real = [o for g, os in by_group.items() if g.startswith("loop ") for o in os]
    clean = by_group.get("clean", [])
    clean_tokens = sum(outcome.tokens for outcome in clean)
    trips = [outcome for outcome in clean if outcome.trip is not None]
    return {
        "recall": {
            group: _recall(members)
            for group, members in sorted(by_group.items())
            if group not in ("clean", "structured", "unlabelled")
        },
        "real": {**_recall(real), **_delays(real)},
        "false_trips": {
            "clean": len(trips),
            "of": len(clean),
            "per_100k_tokens": _ratio(100_000 * len(trips), clean_tokens, 3),
            "over_15k_tokens": sum(o.tokens > LONG_TOKENS for o in trips),
            "chinese": sum(o.lang == "zh" for o in trips),
            "structured": sum(
                o.trip is not None for o in by_group.get("structured", [])
            ),
            "structured_of": len(by_group.get("structured", [])),
        },
        "trips_by_detector": dict(Counter(o.detector for o in real if o.detector)),
        "found_something": {
            "real": dict(Counter(name for o in real for name in o.evidence)),
            "clean": dict(Counter(name for o in clean for name in o.evidence)),
        },
        "us_per_token": _ratio(1e6 * seconds, read, 2),
    }


def _recall(members: Sequence[Outcome]) -> dict[str, Any]:
    caught = sum(outcome.trip is not None for outcome in members)
    return {
        "caught": caught,
        "of": len(members),
        "recall": _ratio(caught, len(members), 3),
        "saved": _saved(members),
        "delay_median": _quantile(_known(o.delay for o in members), 0.5),
    }


def _delays(members: Sequence[Outcome]) -> dict[str, Any]:
    starts = _known(outcome.start_chars for outcome in members)
    return {
        "delay_p90": _quantile(_known(outcome.delay for outcome in members), 0.9),
        "start_distance_median": _quantile([abs(start) for start in starts], 0.5),
        "start_distance_p90": _quantile([abs(start) for start in starts], 0.9),
        "starts_after_label": sum(start > 0 for start in starts),
    }


def _saved(members: Sequence[Outcome]) -> float | None:
    """Return the share of the tokens after the onset that were not generated."""
    labelled = [(o, o.onset) for o in members if o.onset is not None]
    after = sum(o.tokens - onset for o, onset in labelled)
    spared = sum(
        o.tokens - max(o.trip, onset) for o, onset in labelled if o.trip is not None
    )
    return _ratio(spared, after, 3)


def _known(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]


def _ratio(part: float, whole: float, digits: int) -> float | None:
    return round(part / whole, digits) if whole else None


def _quantile(values: Sequence[int], share: float) -> int | None:
    """Return the value below which that share of the values lies."""
    if not values:
        return None
    if share == 0.5:
        return round(statistics.median(values))
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
