"""Tables of a ledger or of captures: waits, cache hits, refills and whose fault.

Example:
    .venv/bin/python scripts/report.py turns.sqlite
    .venv/bin/python scripts/report.py captures/*.flow --by thread --html report.html
    .venv/bin/python scripts/report.py turns.sqlite --compare qwen-code opencode

Exit code: 0, or 2 for unusable input.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "addons"))

from rich.console import Console
from rich.progress import track

from trackside.ledger.store import read_ledger
from trackside.proxy.records import read_records
from trackside.report.page import page
from trackside.report.render import comparison, group_tables
from trackside.report.tables import KEYS, tables

SQLITE = b"SQLite format 3\0"


def main(arguments: list[str] | None = None) -> int:
    """Report what the command line names; return the exit code."""
    args = parse(arguments)
    try:
        records = list(read_all(args.paths))
        if not records:
            raise ValueError("no turn in it")
        told = tables(records, args.by)
        pair = chosen(told, args.compare) if args.compare else None
        if args.html:
            args.html.write_text(page(told, records), encoding="utf-8")
    except (ValueError, OSError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps({**told, "groups": pair} if pair else told, indent=1))
        return 0
    console = Console()
    if pair:
        console.print(comparison(*pair))
    else:
        for table in group_tables(told):
            console.print(table)
    if args.html:
        print(f"report: wrote {args.html}", file=sys.stderr)
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="ledgers (turns_ledger) and captures (mitmdump -w)",
    )
    parser.add_argument("--by", choices=list(KEYS), default="agent", help="rows")
    parser.add_argument(
        "--compare", nargs=2, metavar=("A", "B"), help="two rows side by side"
    )
    parser.add_argument("--json", action="store_true", help="for machines")
    parser.add_argument("--html", type=Path, metavar="OUT.html", help="write a page")
    return parser.parse_args(arguments)


def read_all(paths: list[Path]) -> Iterator[dict[str, Any]]:
    """Yield the turns of all files; one that is in several counts once."""
    seen: set[str] = set()
    bar = Console(stderr=True)
    shown = track(
        paths, "reading", console=bar, transient=True, disable=not bar.is_terminal
    )
    for path in shown:
        with path.open("rb") as file:
            is_ledger = file.read(len(SQLITE)) == SQLITE
        for record in read_ledger(path) if is_ledger else read_records(path):
            if record["flow"] not in seen:
                seen.add(record["flow"])
                yield record


def chosen(told: dict[str, Any], names: list[str]) -> list[dict[str, Any]]:
    """Return the two rows that were named.

    Raises:
        ValueError: there is no such row.
    """
    rows = {row["name"]: row for row in told["groups"]}
    for name in names:
        if name not in rows:
            raise ValueError(f"no {told['by']} {name!r}, there is {', '.join(rows)}")
    return [rows[name] for name in names]


if __name__ == "__main__":
    sys.exit(main())
