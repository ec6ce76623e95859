"""The file of a recorded run: phase 1, and the phase 2 that continued it.

The format is described in captures/README.md.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

VERSION = 1

type Chunk = tuple[float, str]
"""Seconds since the request was sent, and the text that arrived then."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its streamed response."""

    request: Mapping[str, Any]  # the JSON body
    status: int  # HTTP
    headers: Mapping[str, str]  # of the response, lower case
    chunks: tuple[Chunk, ...]  # in order of arrival

    def events(self) -> Iterator[Chunk]:
        """Yield the data of each event, with the time its last character arrived.

        For streams with one `data` line an event, ended by LF, which is what the
        engines send to OpenAI clients. Comments are left out.
        """
        text = ""
        for arrived_s, chunk in self.chunks:
            *blocks, text = (text + chunk).split("\n\n")
            for block in blocks:
                if block.startswith("data:"):
                    yield arrived_s, block.removeprefix("data:").strip()


@dataclass(frozen=True, slots=True)
class Capture:
    """A recorded run."""

    made_by: str  # the command that recorded it
    engine: str  # engine and model
    phase1: Exchange
    phase2: Exchange

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a capture file.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is no capture; says what was got and what was wanted.
        """
        try:
            told = json.loads(path.read_bytes())
            if told["v"] != VERSION:
                raise ValueError(f"wanted version {VERSION}, got {told['v']!r}")
            phase1, phase2 = _exchange(told["phase1"]), _exchange(told["phase2"])
            return cls(str(told["made_by"]), str(told["engine"]), phase1, phase2)
        except KeyError as error:
            raise ValueError(f"{path} is no capture: it has no {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} is no capture: {error}") from error

    def save(self, path: Path) -> None:
        """Write the capture file, one chunk a line."""
        head = {"v": VERSION, "made_by": self.made_by, "engine": self.engine}
        lines = [f"{_json(name)}: {_json(value)}" for name, value in head.items()]
        for name, phase in (("phase1", self.phase1), ("phase2", self.phase2)):
            chunks = ",\n  ".join(_json(chunk) for chunk in phase.chunks)
            lines.append(
                f'"{name}": {{\n "request": {_json(phase.request)},\n'
                f' "status": {phase.status},\n "headers": {_json(phase.headers)},\n'
                f' "chunks": [\n  {chunks}\n ]}}'
            )
        path.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _exchange(told: Mapping[str, Any]) -> Exchange:
    """Read one phase, and check what playing it relies on."""
    chunks = tuple((float(arrived_s), str(text)) for arrived_s, text in told["chunks"])
    before_s = 0.0
    for arrived_s, _ in chunks:
        if not before_s <= arrived_s < math.inf:
            raise ValueError(f"wanted rising times, got {arrived_s} after {before_s}")
        before_s = arrived_s
    if not chunks:
        raise ValueError("wanted chunks, got none")
    headers = {str(name): str(value) for name, value in told["headers"].items()}
    return Exchange(dict(told["request"]), int(told["status"]), headers, chunks)
