"""The requests of a saved capture, in order of arrival."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trackside.prefix.arrival import Arrival
from trackside.prefix.spans import BodyError
from trackside.proxy.answered import ending_of, read_answer
from trackside.proxy.arrivals import Ending, arrival_of, dialect_of_turn
from trackside.proxy.capture import read_flows


@dataclass(frozen=True, slots=True)
class Captured:
    """One request to an engine, from a capture."""

    name: str
    arrival: Arrival | None  # None if the body could not be read
    problem: str | None  # why it could not
    ending: Ending


def read_requests(path: Path) -> Iterator[Captured]:
    """Yield the requests to engines in a capture, up to where it breaks off.

    Raises:
        ValueError: a file that is no capture.
    """
    flows = read_flows(path)
    flows.sort(key=lambda flow: flow.request.timestamp_start)
    for flow in flows:
        dialect = dialect_of_turn(flow)
        guard = flow.metadata.get("trackside.guard") or {}
        if dialect is None or "phase1" in guard:
            continue
        arrival, problem = None, None
        try:
            arrival = arrival_of(flow, dialect)
        except BodyError as error:
            problem = str(error)
        answer = read_answer(flow, dialect.name)
        ending = ending_of(flow, flow.request.timestamp_end or 0.0, answer)
        yield Captured(f"{path.name}:{flow.id[:8]}", arrival, problem, ending)
