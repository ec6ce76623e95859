"""Tell where a request breaks the prefix of the one before, and why.

Example:
    .venv/bin/python scripts/diff.py A.json B.json
    .venv/bin/python scripts/diff.py captures/session.flow
    .venv/bin/python scripts/diff.py --json FOLDER_OF_NUMBERED_BODIES

Exit code: 0 append-only, 1 a break, 2 unusable input.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from diffs.folder import dialect_name, read_folder
from diffs.tables import show_capture, show_pair
from trackside.prefix.dialects import DIALECTS
from trackside.prefix.diffing import Differ, diff_pair
from trackside.prefix.record import has_break, problem_record
from trackside.prefix.sentence import verdict
from trackside.prefix.spans import BodyError, common_bytes
from trackside.proxy.flows import Captured, read_requests

MEMORY_BYTES = 4 << 30
_FLOW = re.compile(rb"\d+:")  # a capture begins with the length of its first flow
_FLOW_BYTES = 24


def main(arguments: list[str] | None = None) -> int:
    """Diff what the command line names; return the exit code."""
    args = parse(arguments)
    try:
        if len(args.paths) == 2 and not any(map(is_capture, args.paths)):
            return diff_files(*args.paths, as_json=args.json, excerpts=args.excerpts)
        return diff_captures(args.paths, as_json=args.json, excerpts=args.excerpts)
    except (ValueError, OSError) as error:
        print(f"diff: {error}", file=sys.stderr)
        return 2


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
        help="two request bodies (A.json B.json), or captures: .flow files and folders"
        " of NNN.json, with or without an index.jsonl",
    )
    parser.add_argument("--json", action="store_true", help="for machines")
    parser.add_argument(
        "--excerpts", action="store_true", help="show the text around each break"
    )
    return parser.parse_args(arguments)


def is_capture(path: Path) -> bool:
    """Return whether a path is a folder, or a file that mitmproxy wrote."""
    if path.is_dir() or path.suffix in (".flow", ".har"):
        return True
    with path.open("rb") as file:
        return _FLOW.match(file.read(_FLOW_BYTES)) is not None


def diff_files(earlier: Path, later: Path, *, as_json: bool, excerpts: bool) -> int:
    """Diff two request bodies; return the exit code."""
    old, new = earlier.read_bytes(), later.read_bytes()
    try:
        names = [dialect_of(path, raw) for path, raw in ((earlier, old), (later, new))]
        if names[0] != names[1]:
            raise ValueError(f"{earlier} speaks {names[0]}, {later} {names[1]}")
    except ValueError as error:
        print(f"diff: {error}", file=sys.stderr)
        print(f"diff: as bytes: {raw_difference(old, new)}", file=sys.stderr)
        return 2
    record = diff_pair(old, new, DIALECTS[names[0]], excerpts=excerpts)
    if as_json:
        print(json.dumps({**record, "verdict": verdict(record)}, indent=1))
    else:
        show_pair(Console(), record)
    return 0 if record["append_only"] else 1


def dialect_of(path: Path, raw: bytes) -> str:
    """Return the dialect of a body; say which file it is that has none."""
    try:
        return dialect_name(raw)
    except BodyError as error:
        raise ValueError(f"{path}: {error}") from error


def raw_difference(old: bytes, new: bytes) -> str:
    """Return in words how far two files agree."""
    if old == new:
        return f"identical, {len(old):,} bytes"
    agreed = common_bytes(old, new)
    return f"first divergent byte {agreed:,} of {len(old):,} and {len(new):,}"


def diff_captures(paths: list[Path], *, as_json: bool, excerpts: bool) -> int:
    """Diff every request of captures against the one it continues."""
    captured = [request for path in paths for request in read_capture(path)]
    if not captured:
        raise ValueError("no request to an engine in it")
    rows = list(diff_requests(captured, excerpts=excerpts))
    if as_json:
        print(json.dumps(rows, indent=1))
    else:
        show_capture(Console(), rows)
    if all("problem" in row for row in rows):
        return 2
    return int(any(map(has_break, rows)))


def read_capture(path: Path) -> Iterator[Captured]:
    """Yield the requests of a folder or of a mitmproxy capture."""
    return read_folder(path) if path.is_dir() else read_requests(path)


def diff_requests(
    captured: Iterable[Captured], *, excerpts: bool
) -> Iterator[dict[str, Any]]:
    """Yield one row per request, in order of arrival."""
    differ = Differ(MEMORY_BYTES, excerpts=excerpts)
    indexes: dict[str | None, int] = {}
    running: list[Captured] = []
    for index, one in enumerate(
        track(
            list(captured),
            "comparing",
            console=Console(stderr=True),
            transient=True,
        )
    ):
        place = {"index": index, "name": one.name}
        if one.arrival is None:
            yield {**place, **problem_record(None, one.problem or "", 0)}
            continue
        for other in [o for o in running if _has_ended(o, one)]:
            finish(differ, other)
            running.remove(other)
        try:
            record = differ.diff(one.arrival).record
        except BodyError as error:
            size_bytes = len(one.arrival.raw)
            name = one.arrival.dialect.name
            yield {**place, **problem_record(name, str(error), size_bytes)}
            continue
        differ.answered(one.arrival.flow, one.ending.response_id)
        indexes[one.arrival.flow] = index
        running.append(one)
        record["previous"] = indexes.get(record["previous"])
        record["sibling"] = indexes.get(record["sibling"])
        yield {**place, **record}


def _has_ended(earlier: Captured, later: Captured) -> bool:
    arrived_s = later.arrival.arrived_s if later.arrival else 0.0
    return earlier.ending.ended_s <= arrived_s


def finish(differ: Differ, captured: Captured) -> None:
    """Tell the differ how a turn ended."""
    end = captured.ending
    if captured.arrival:
        differ.finish(
            captured.arrival.flow,
            end.ended_s,
            has_failed=end.has_failed,
            is_abandoned=end.is_abandoned,
            has_reasoned=end.has_reasoned,
            prompt_tokens=end.prompt_tokens,
        )


if __name__ == "__main__":
    sys.exit(main())
