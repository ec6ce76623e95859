"""One session of an agent in folders of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.play import Play, is_phase2, is_turn
from agents.roster import Agent
from engines.scripted import scripted
from mitm import mitmdump

KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
"""What an agent sees of the environment: no key, no proxy, no home of the user."""


@dataclass(frozen=True)
class Session:
    """What a session was, seen from both ends."""

    exit_code: int | None  # None: it was ended at the time limit
    stdout: str
    stderr: str
    files: Mapping[str, str]  # in its working folder, by path
    requests: list[dict[str, Any]]  # the agent's own, as the engine got them
    handoffs: int  # requests of the guard for an answer
    events: int  # that the engine sent
    seconds: float


def run(
    agent: Agent, cache: Path, base: Path, limit_s: float, *, loops: bool, guarded: bool
) -> Session:
    """Run one session; directly at the engine, or through mitmdump with the suite.

    Parameters:
        cache: folder that the agents were installed in.
        base: folder of the run, made anew; the same one for sessions to be compared.
        limit_s: when to end an agent that goes on and on, in seconds.
    """
    shutil.rmtree(base, ignore_errors=True)
    work, home, logs = base / "work", base / "home", base / "logs"
    for folder in (work, home, logs):
        folder.mkdir(parents=True)
    play = Play(agent.call, str(work), loops=loops)
    with scripted(play) as engine:
        through = mitmdump(engine.url, logs, script="suite.py")
        with through if guarded else nullcontext() as proxy:
            environment = {
                **{key: os.environ[key] for key in KEPT if key in os.environ},
                **{"HOME": str(home), "NO_COLOR": "1", "CI": "1", "TERM": "dumb"},
                **{"NO_PROXY": "*", "DO_NOT_TRACK": "1"},
                **agent.configure(home, proxy.url if proxy else engine.url),
            }
            started = time.monotonic()
            code, stdout, stderr = _run(agent, cache, work, environment, limit_s)
            seconds = time.monotonic() - started
        turns = [asked for asked in engine.asked if is_turn(asked)]
    return Session(
        exit_code=code,
        stdout=stdout,
        stderr=stderr,
        files=_files(work),
        requests=[
            {"path": asked.path, "headers": asked.headers, "body": asked.json}
            for asked in turns
            if not is_phase2(asked)
        ],
        handoffs=sum(map(is_phase2, turns)),
        events=play.events,
        seconds=seconds,
    )


def _run(
    agent: Agent,
    cache: Path,
    work: Path,
    environment: Mapping[str, str],
    limit_s: float,
) -> tuple[int | None, str, str]:
    process = subprocess.Popen(
        agent.command(cache),
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # it may have children, which end with it
    )
    code: int | None = None
    try:
        stdout, stderr = process.communicate(timeout=limit_s)
        code = process.returncode
    except subprocess.TimeoutExpired:
        _end(process)
        stdout, stderr = process.communicate()
    _end(process)
    return code, stdout, stderr


def _end(process: subprocess.Popen[str]) -> None:
    """End a process group, of which some may be left when its first one has gone."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(errors="replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
