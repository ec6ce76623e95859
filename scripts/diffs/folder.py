"""The requests of a folder of numbered bodies, in order of arrival."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trackside.prefix.arrival import Arrival
from trackside.prefix.body import read_body
from trackside.prefix.dialects import DIALECTS, recognise_members, recognise_path
from trackside.prefix.hints import Hints, read_hints
from trackside.prefix.spans import BodyError, decode_members
from trackside.prefix.surrogates import mend_surrogates
from trackside.proxy.arrivals import Ending
from trackside.proxy.flows import Captured


def read_folder(folder: Path) -> Iterator[Captured]:
    """Yield the requests `NNN.json` of a folder.

    An `index.jsonl` beside them, if there is one, tells of each by its number `n`:
    `path`, `headers`, `status`, `error` and `t` (Unix time).

    Raises:
        ValueError: a folder without such files.
    """
    index = _read_index(folder / "index.jsonl")
    files = sorted(folder.glob("[0-9]*.json"))
    if not files:
        raise ValueError(f"{folder}: no NNN.json in it")
    for number, file in enumerate(files):
        told = index.get(file.stem.lstrip("0") or "0", {})
        yield _captured(folder, file, told, float(number))


def _captured(
    folder: Path, file: Path, told: dict[str, Any], number: float
) -> Captured:
    arrived_s = float(told.get("t", number))
    headers = {str(k).lower(): str(v) for k, v in told.get("headers", {}).items()}
    status = told.get("status")
    ending = Ending(
        ended_s=arrived_s,
        has_failed=isinstance(status, int) and status >= 400,
        is_abandoned=bool(told.get("error")) and status is None and bool(told),
        has_reasoned=None,
        prompt_tokens=None,
    )
    name = f"{folder.name}/{file.name}"
    raw = file.read_bytes()
    dialect = recognise_path(str(told.get("path", "")))
    try:
        found = dialect.name if dialect else dialect_name(raw)
    except BodyError as error:
        return Captured(name, None, str(error), ending)
    arrival = Arrival(
        flow=str(file),
        raw=raw,
        dialect=DIALECTS[found],
        key=found,
        hints=read_hints(headers) if headers else Hints(),
        arrived_s=arrived_s,
    )
    return Captured(name, arrival, None, ending)


def dialect_name(raw: bytes) -> str:
    """Return the dialect of a body of unknown path.

    Raises:
        BodyError: what is no request of a known dialect; it says why.
    """
    try:
        members = decode_members(raw)
    except BodyError:
        members = decode_members(mend_surrogates(raw))
    dialect = recognise_members({name: bytes(raw) for name, raw in members.items()})
    if dialect is None:
        names = ", ".join(list(members)[:8]) or "none"
        raise BodyError(f"JSON, but no request of a known dialect (members: {names})")
    read_body(raw, dialect)
    return dialect.name


def _read_index(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    rows = {}
    for line in path.read_text().splitlines():
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        if isinstance(row, dict):
            rows[str(row.get("n"))] = row
    return rows
