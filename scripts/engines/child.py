"""An engine that runs as a child process for as long as a `with` block."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

SCRIPT = Path(__file__).parents[1] / "engine.py"

START_LIMIT_S = 60.0
END_LIMIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine.

    Example:
        with Engine.start(parallel=1) as engine:
            httpx.get(engine.url + "/health")
    """

    url: str  # "http://127.0.0.1:PORT", no slash at the end
    model: str  # name the engine answers under
    pid: int  # its process

    @classmethod
    @contextmanager
    def start(
        cls,
        *,
        parallel: int = 1,
        ctx_tokens: int | None = None,
        template: Path | None = None,
        capture: Path | None = None,
        pace: float = 1.0,
    ) -> Iterator[Self]:
        """Start `scripts/engine.py`, wait until it answers, end it with the block.

        Parameters:
            parallel: slots of the embedded engine.
            ctx_tokens: context of each slot, in tokens; None takes the default.
            template: Jinja chat template instead of the project's own.
            capture: play this recording instead of running the embedded engine.
            pace: factor on the recorded times, 0 plays at once.

        Raises:
            RuntimeError: the engine did not start; with its last words.
        """
        if capture:
            options = ["--capture", str(capture), "--pace", str(pace)]
        else:
            options = ["--parallel", str(parallel)]
            options += ["--ctx", str(ctx_tokens)] if ctx_tokens else []
            options += ["--template", str(template)] if template else []
        command = [sys.executable, str(SCRIPT), "--parent", str(os.getpid()), *options]
        with tempfile.TemporaryFile() as words:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
            )
            try:
                ready = _first_line(process)
                if not ready:
                    words.seek(0)
                    said = words.read().decode("utf-8", "replace").strip()[-2000:]
                    raise RuntimeError(said or "the engine said nothing before it died")
                url, _, model = ready.removeprefix("ready ").partition(" model ")
                yield cls(url, model, process.pid)
            finally:
                _end(process)

    def busy_slots(self) -> int:
        """Return how many slots are generating now."""
        with urllib.request.urlopen(f"{self.url}/slots", timeout=10) as answer:
            return sum(slot["is_processing"] for slot in json.load(answer))


def _first_line(process: subprocess.Popen[str]) -> str:
    """Wait for the child's first line; return "" if it dies or takes too long."""
    assert process.stdout
    limit = threading.Timer(START_LIMIT_S, process.kill)
    limit.start()
    try:
        return process.stdout.readline().rstrip("\n")
    finally:
        limit.cancel()


def _end(process: subprocess.Popen[str]) -> None:
    """End the child, politely first."""
    process.terminate()
    try:
        process.wait(END_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stdout
    process.stdout.close()
