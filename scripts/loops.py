"""Runs the loop detectors over saved reasoning, fed token by token as a stream is.

FILE is a text file, a capture (.flow), an SSE body, or JSONL rows with id and text;
any of them may be compressed (.xz). Exit code: 0 nothing tripped, 1 something did, 2
a file is unusable.

Example:
    .venv/bin/python scripts/loops.py thoughts.txt capture.flow --explain
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from benches.corpus import tokens
from traces import Trace, read
from trackside.loops.finding import Finding
from trackside.loops.monitor import Monitor

_SHOWN_CHARS = 1200


@dataclass(frozen=True, slots=True)
class Row:
    """What was found in one trace. Offsets and sizes are in characters."""

    id: str | int
    tripped: bool
    detector: str | None
    trip_char: int | None  # characters read when it fired
    start_char: int | None  # where the first copy begins
    copies: int | None
    chars: int
    evidence: list[str]  # detectors that found something and do not trip


def main() -> int:
    """Report on every trace; return the exit code."""
    args = _arguments()
    progress = Console(stderr=True)
    found: list[tuple[Row, Trace, Finding | None]] = []
    try:
        for trace in track(
            list(_traces(args)), "reading", console=progress, transient=True
        ):
            row, finding = check(trace, args.budget)
            found.append((row, trace, finding))
            if args.json:
                print(json.dumps(asdict(row), ensure_ascii=False))
    except (OSError, ValueError) as error:
        print(f"loops: {error}", file=sys.stderr)
        return 2
    console = Console()
    if not args.json:
        console.print(_table([row for row, _, _ in found]))
    if args.explain:
        shown = Console(stderr=True) if args.json else console
        for _, trace, finding in found:
            if finding:
                shown.print(_copies(trace, finding))
    return int(any(row.tripped for row, _, _ in found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument(
        "--jsonl", action="store_true", help="rows with id and text, one a line"
    )
    parser.add_argument("--json", action="store_true", help="one JSON row a trace")
    parser.add_argument(
        "--budget", type=int, metavar="N", help="trip after N tokens (default: never)"
    )
    parser.add_argument(
        "--explain", action="store_true", help="show the copies side by side"
    )
    args = parser.parse_args()
    if args.budget is not None and args.budget < 1:
        parser.error(f"got --budget {args.budget}, want at least 1")
    return args


def _traces(args: argparse.Namespace) -> Iterator[Trace]:
    for file in args.files:
        yield from read(file, jsonl=args.jsonl)


def check(trace: Trace, budget: int | None) -> tuple[Row, Finding | None]:
    """Feed a trace until it trips; return its row and the finding, if any."""
    monitor = Monitor()
    finding, read_chars, spent = None, 0, False
    for count, text in enumerate(tokens(trace.text)[1], 1):
        read_chars += len(text)
        finding = monitor.update(text)
        spent = budget is not None and count >= budget
        if finding or spent:
            break
    evidence = [found.detector for found in monitor.evidence]
    size = len(trace.text)
    if finding:
        start, copies = finding.start, finding.copies
        row = Row(
            trace.id, True, finding.detector, finding.end, start, copies, size, evidence
        )
    elif spent:
        row = Row(trace.id, True, "budget", read_chars, None, None, size, evidence)
    else:
        row = Row(trace.id, False, None, None, None, None, size, evidence)
    return row, finding


def _table(rows: list[Row]) -> Table:
    table = Table("id", "detector", "trip", "first copy at", "copies", "chars")
    for row in rows:
        table.add_row(
            str(row.id),
            row.detector or "–",
            "–" if row.trip_char is None else str(row.trip_char),
            "–" if row.start_char is None else str(row.start_char),
            "–" if row.copies is None else str(row.copies),
            str(row.chars),
            style=None if row.tripped else "dim",
        )
    return table


def _copies(trace: Trace, finding: Finding) -> Table:
    """Return the first, the second and the last copy side by side."""
    size = finding.second - finding.start
    first = trace.text[finding.start : finding.second]
    second = trace.text[finding.second : finding.second + size]
    last = trace.text[max(finding.second, finding.end - size) : finding.end]
    table = Table(
        f"first copy, from {finding.start}",
        f"second copy, from {finding.second}",
        f"up to the trip, at {finding.end}",
        title=f"{trace.id}: {finding.detector}, {finding.copies} copies",
        show_lines=True,
    )
    table.add_row(Text(_cut(first)), _changes(first, second), _changes(first, last))
    return table


def _changes(before: str, after: str) -> Text:
    """Return `after` with the words that `before` does not have marked."""
    old, new = before.split(" "), _cut(after).split(" ")
    text = Text()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, _, _, start, end in matcher.get_opcodes():
        words = " ".join(new[start:end])
        if words:
            text.append(words + " ", style=None if kind == "equal" else "bold yellow")
    return text


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + " …"


if __name__ == "__main__":
    sys.exit(main())
