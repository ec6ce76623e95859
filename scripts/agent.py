"""Run real agents headless with and without trackside, and compare their sessions.

Example:
    .venv/bin/python scripts/agent.py
    .venv/bin/python scripts/agent.py codex qwen-code --json

npm installs the agents as their lock pins them (0.8 GB, once). Each does a small task
in front of a scripted engine, in folders of its own: twice directly, which shows what
it varies by itself, and once through mitmdump with the suite; then with a first turn
that reasons in a loop, without and with trackside.

Exit code: 0 the same with trackside, and loops end with the answer; 1 something
differs; 2 the agents can't be run here.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

import npm
from agents.roster import AGENTS
from agents.session import Session, run
from agents.verdict import RUNS, Ending, Verdict, judge
from mitm import ROOT

LOCK_FOLDER = ROOT / "scripts" / "agents"
CACHE = ROOT / ".agents"
INSTALL_LIMIT_S = 600.0
LIMIT_S = 60.0
SHOWN_DIFFERENCES = 20


def main(arguments: list[str] | None = None) -> int:
    """Run the agents that the command line names; return the exit code."""
    args = parse(arguments)
    try:
        verdicts = judged(args.agents or list(AGENTS), args.cache, args.limit)
    except (npm.Unavailable, OSError, RuntimeError) as error:
        print(f"agent: {error}", file=sys.stderr)
        return 2
    if args.json:
        told = [{**asdict(verdict), "same": verdict.is_same} for verdict in verdicts]
        print(json.dumps(told, indent=1))
    else:
        show(Console(), verdicts)
    return 0 if all(verdict.is_same for verdict in verdicts) else 1


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "agents",
        nargs="*",
        type=agent_name,
        metavar="AGENT",
        help=f"of {', '.join(AGENTS)}; default: all",
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=CACHE,
        metavar="FOLDER",
        help="where the agents are installed, default .agents",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=LIMIT_S,
        metavar="SECONDS",
        help="when a session is ended, default %(default)g",
    )
    parser.add_argument("--json", action="store_true", help="for machines")
    return parser.parse_args(arguments)


def agent_name(text: str) -> str:
    """Read the name of an agent."""
    if text not in AGENTS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(AGENTS)}")
    return text


def judged(names: Sequence[str], cache: Path, limit_s: float) -> list[Verdict]:
    """Install the agents, run all their sessions and compare them.

    Raises:
        npm.Unavailable: they can't be installed here.
        RuntimeError: npm or mitmdump failed.
    """
    progress, cache = Console(stderr=True), cache.resolve()
    with progress.status("npm installs the agents"):
        npm.install(LOCK_FOLDER, cache, INSTALL_LIMIT_S)
    runs = [(name, kind) for name in names for kind in RUNS]
    sessions: dict[str, dict[str, Session]] = {name: {} for name in names}
    with tempfile.TemporaryDirectory(prefix="trackside-agents-") as folder:
        for name, kind in track(runs, "sessions", console=progress, transient=True):
            # the same path for all: agents tell the model where they work
            base = Path(folder) / name
            sessions[name][kind] = run(AGENTS[name], cache, base, limit_s, **RUNS[kind])
    return [
        judge(name, version(cache, name), AGENTS[name].dialect, sessions[name])
        for name in names
    ]


def version(cache: Path, name: str) -> str:
    """Return the version of an installed agent."""
    path = cache / "node_modules" / AGENTS[name].package / "package.json"
    return str(json.loads(path.read_text())["version"])


def show(console: Console, verdicts: Sequence[Verdict]) -> None:
    """Print a table, and what differs below it."""
    table = Table("agent", "dialect", "with and without", "loop without", "loop with")
    for verdict in verdicts:
        count = verdict.endings["guarded"].requests
        alike = "differ" if verdict.differences else "same"
        table.add_row(
            f"{verdict.agent} {verdict.version}",
            verdict.dialect,
            f"{alike}, {count} requests",
            told(verdict.endings["loop"]),
            told(verdict.endings["loop guarded"]),
        )
    console.print(table)
    for verdict in verdicts:
        own = set(verdict.own_differences)
        for line in verdict.differences[:SHOWN_DIFFERENCES]:
            by = "without trackside too" if line in own else "with trackside"
            console.print(f"{verdict.agent}, {by}: {line}", markup=False)


def told(ending: Ending) -> str:
    """Return in words how a session ended.

    Example:
        >>> told(Ending(False, None, 11, 0, 31751, 90.2))
        'no answer, ended after 90.2 s, 11 requests, 31,751 events'
    """
    answer = "answer" if ending.answered else "no answer"
    end = f"exit {ending.exit_code} after"
    if ending.exit_code is None:
        end = "ended after"
    requests = f"{ending.requests} requests, {ending.events:,} events"
    return f"{answer}, {end} {ending.seconds} s, {requests}"


if __name__ == "__main__":
    sys.exit(main())
