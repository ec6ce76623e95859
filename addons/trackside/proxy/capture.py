"""Saved captures, read whole."""

from pathlib import Path

from mitmproxy import exceptions, io
from mitmproxy.http import HTTPFlow

__all__ = ["HTTPFlow", "read_flows"]


def read_flows(path: Path) -> list[HTTPFlow]:
    """Return the HTTP flows of a capture, up to where it breaks off.

    Raises:
        ValueError: the file is no capture.
        OSError: it cannot be read.
    """
    flows: list[HTTPFlow] = []
    try:
        with path.open("rb") as file:
            for flow in io.FlowReader(file).stream():
                if isinstance(flow, HTTPFlow):
                    flows.append(flow)  # noqa: PERF401 # what came before an error counts
    except exceptions.FlowReadException as error:
        if not flows:
            raise ValueError(f"{path}: no mitmproxy capture: {error}") from error
    return flows
