"""The turn records of a saved capture, made anew where it has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trackside.proxy.arrivals import api_of_turn
from trackside.proxy.capture import HTTPFlow, read_flows
from trackside.proxy.turning import KEY, Turning


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the record of each turn in a capture, up to where it breaks off.

    A turn that was saved without one is accounted as `mitmdump -nr` would do it: its
    first token is not timed, as only the proxy of its day could see when it came.

    Raises:
        ValueError: it is no capture.
        OSError: it cannot be read.
    """
    records: dict[str, dict[str, Any]] = {}

    def keep(_: HTTPFlow | None, record: dict[str, Any], __: bool) -> None:
        records[record["flow"]] = record

    turning = Turning(asks_usage=False, told=keep)
    for flow in read_flows(path):
        if api_of_turn(flow) is None:
            continue
        if KEY in flow.metadata:
            records[flow.id] = flow.metadata[KEY]
        else:
            turning.finished(flow, flow.error.msg if flow.error else None)
    return list(records.values())
