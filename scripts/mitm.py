"""Runs real mitmdump processes in front of an engine, on loopback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from trackside.proxy.capture import HTTPFlow, read_flows

ROOT = Path(__file__).parents[1]
MITMDUMP = Path(sys.executable).with_name("mitmdump")
START_LIMIT_S = 40.0
CONFDIR = tempfile.mkdtemp(prefix="trackside-conf-")
"""One for all: making the certificate authority takes a second."""


@dataclass
class Proxy:
    """A running mitmdump."""

    url: str
    log_path: Path
    capture_path: Path
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def log(self) -> str:
        """All it logged so far."""
        return self.log_path.read_text()

    def wait_for(self, pattern: str, limit_s: float = 20.0) -> str:
        """Return the first log line that matches; fail after the limit."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            if match := re.search(f".*{pattern}.*", self.log):
                return match.group()
            time.sleep(0.02)
        raise RuntimeError(f"no {pattern!r} in mitmdump's log:\n{self.log}")

    def stop(self) -> list[HTTPFlow]:
        """End it and return the flows it saved."""
        self.process.terminate()
        self.process.wait(20)
        return read_flows(self.capture_path)


@contextmanager
def mitmdump(
    upstream: str,
    folder: Path,
    *options: str,
    script: str = "guard.py",
    mode: str | None = None,
) -> Iterator[Proxy]:
    """Run mitmdump with one of our entry scripts until the block ends.

    Parameters:
        upstream: URL of the engine, unless `mode` says all.
        folder: where the log and the capture of the run go.

    Raises:
        RuntimeError: it did not start; with what it logged.
    """
    log_path, capture_path = folder / "mitmdump.log", folder / "out.flow"
    command: list[str | Path] = [
        *(MITMDUMP, "--mode", mode or f"reverse:{upstream}"),
        *("--listen-host", "127.0.0.1", "--listen-port", "0"),
        *("-s", ROOT / "addons" / script, "-w", capture_path),
        *("--set", f"confdir={CONFDIR}"),
        *options,
    ]
    # What is logged must be there to be read at once, not when a buffer is full.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
        )
    try:
        proxy = Proxy("", log_path, capture_path, process)
        line = proxy.wait_for(r"listening at (?:http://)?[\d.*]+:\d+", START_LIMIT_S)
        port = re.findall(r":(\d+)\.?$", line.strip())[-1]
        proxy.url = f"http://127.0.0.1:{port}"
        proxy.wait_for(r"(guard|diff|turns): on", START_LIMIT_S)
        yield proxy
    finally:
        process.kill()
        process.wait()


def run_mitmdump(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run mitmdump to its end and return what it printed."""
    return subprocess.run(
        [MITMDUMP, "--set", f"confdir={CONFDIR}", *options],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        check=False,
    )
