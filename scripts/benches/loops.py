"""How many loops each detector and its peers catch, how soon, and at what cost."""

from __future__ import annotations

import argparse
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.progress import track
from rich.table import Table

from benches import stress
from benches.corpus import Trace, tokens, traces
from benches.peers import PEERS, Peer
from benches.scores import Outcome, onset_token, summary
from trackside.loops import DETECTORS, Finding
from trackside.loops.monitor import Monitor

DEFAULT = "default set"


class _Subject:
    """One detector under test: its outcomes and its cost."""

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        self.make = make
        self.outcomes: list[Outcome] = []
        self.seconds = 0.0
        self.read = 0

    def run(self, trace: Trace, ids: Sequence[int], texts: Sequence[str]) -> None:
        """Feed the trace token by token until the subject stops it."""
        detector = self.make()
        items: Sequence[Any] = texts
        if isinstance(detector, Peer) and detector.reads == "tokens":
            items = ids
        update = detector.update
        found, trip = None, None
        began = time.process_time()
        for index, item in enumerate(items):
            if found := update(item):
                trip = index
                break
        self.seconds += time.process_time() - began
        self.read += len(items) if trip is None else trip + 1
        evidence = detector.evidence if isinstance(detector, Monitor) else []
        findings = [*evidence, found] if isinstance(found, Finding) else evidence
        self.outcomes.append(_outcome(trace, texts, trip, findings))


def _outcome(
    trace: Trace, texts: Sequence[str], trip: int | None, findings: Sequence[Finding]
) -> Outcome:
    finding = findings[-1] if findings and trip is not None else None
    label = trace.loop_start_char
    return Outcome(
        group=trace.group,
        lang=trace.lang,
        tokens=len(texts),
        onset=onset_token(trace, texts),
        trip=trip,
        detector=finding.detector if finding else "",
        start_chars=finding.start - label if finding and label is not None else None,
        evidence=tuple(finding.detector for finding in findings),
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of this bench."""
    parser.add_argument(
        "--corpus",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of *.jsonl.xz with labelled traces",
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="subjects to run (default: all)"
    )


def run(args: argparse.Namespace, progress: Console) -> dict[str, Any]:
    """Run every subject over every trace; return the figures by subject."""
    subjects = [s for s in _subjects() if not args.only or s.name in args.only]
    if not subjects:
        known = ", ".join(subject.name for subject in _subjects())
        raise ValueError(f"got --only {' '.join(args.only)}, want some of {known}")
    corpus = list(traces(args.corpus))
    cuts, agreed = 0, 0
    digest = hashlib.sha256()
    prose: list[str] = []
    for trace in track(corpus, "loops", console=progress, transient=True):
        digest.update(trace.text.encode())
        ids, texts = tokens(trace.text)
        for subject in subjects:
            subject.run(trace, ids, texts)
        if trace.label == "loop":
            cuts += 1
            agreed += stress.cuts_agree(trace.text, texts)
        if trace.label == "clean" and len(prose) < 2000:
            prose = texts
    return {
        "corpus": {
            "sha256": digest.hexdigest(),
            "traces": dict(Counter(trace.group for trace in corpus)),
        },
        "subjects": {s.name: summary(s.outcomes, s.seconds, s.read) for s in subjects},
        "same_trip_under_any_cut": {"traces": agreed, "of": cuts},
        "stutter_tokens_to_trip": stress.stutter(prose),
        "endurance": stress.endurance(),
    }


def _subjects() -> list[_Subject]:
    """Return the default set, each detector by itself, and the peers."""
    return [
        _Subject(DEFAULT, Monitor),
        *(_Subject(name, kind) for name, kind in DETECTORS.items()),
        *(_Subject(name, make) for name, make in PEERS.items()),
    ]


def table(found: dict[str, Any]) -> Group:
    """Return the figures as tables."""
    facts = [
        ("Pure stutter: tokens to the trip", found["stutter_tokens_to_trip"]),
        ("A million tokens that never repeat", found["endurance"]),
        ("The same trip under any cut", found["same_trip_under_any_cut"]),
    ]
    default = found["subjects"].get(DEFAULT)
    if default:
        for kind, counts in default["found_something"].items():
            facts.append((f"Traces in which it found something: {kind}", counts))
    return Group(
        _comparison(found["subjects"]),
        *([_kinds(DEFAULT, default)] if default else []),
        *(_facts(title, values) for title, values in facts),
    )


def _comparison(subjects: dict[str, Any]) -> Table:
    columns = (
        "subject", "recall reasoning", "recall content", "semantic", "synthetic",
        "saved", "delay median / p90", "false trips", "per 100k", ">15k", "zh",
        "structured", "µs/token",
    )  # fmt: skip
    table = Table(*columns, title="Loops caught, healthy traces cut")
    for name, figures in subjects.items():
        recall, real, false = figures["recall"], figures["real"], figures["false_trips"]
        synthetic = [r for group, r in recall.items() if group.startswith("syn ")]
        table.add_row(
            name,
            _of(recall.get("loop reasoning")),
            _of(recall.get("loop content")),
            _of(recall.get("semantic")),
            f"{sum(r['caught'] for r in synthetic)}/{sum(r['of'] for r in synthetic)}",
            _percent(real["saved"]),
            f"{real['delay_median']} / {real['delay_p90']}",
            f"{false['clean']}/{false['of']}",
            str(false["per_100k_tokens"]),
            str(false["over_15k_tokens"]),
            str(false["chinese"]),
            f"{false['structured']}/{false['structured_of']}",
            str(figures["us_per_token"]),
        )
    return table


def _kinds(name: str, figures: dict[str, Any]) -> Table:
    table = Table("kind", "caught", "recall", "saved", "delay median", title=name)
    for kind, row in figures["recall"].items():
        table.add_row(
            kind,
            _of(row),
            str(row["recall"]),
            _percent(row["saved"]),
            str(row["delay_median"]),
        )
    real = figures["real"]
    table.caption = (
        f"real loops {_of(real)}; first copy to label, characters: median "
        f"{real['start_distance_median']}, p90 {real['start_distance_p90']}"
    )
    return table


def _facts(title: str, facts: dict[str, Any]) -> Table:
    table = Table(title=title, show_header=False)
    for name, value in facts.items():
        table.add_row(name, str(value))
    return table


def _of(row: dict[str, Any] | None) -> str:
    return f"{row['caught']}/{row['of']}" if row else "–"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"
