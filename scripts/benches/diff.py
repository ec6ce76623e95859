"""What the diff of a known thread costs before its request is forwarded."""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from trackside.prefix.arrival import Arrival
from trackside.prefix.dialects import DIALECTS
from trackside.prefix.diffing import Differ
from trackside.prefix.hints import Hints

SIZES_KB = (300, 5000)
GROWTH = 30
"""Turns left out of the first request, so that the one in the middle has the size."""
WORDS = "the agent reads a file and writes what it found into the next message "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of this bench."""
    parser.add_argument("--runs", type=int, default=60, metavar="N")


def run(args: argparse.Namespace, progress: Console) -> dict[str, Any]:
    """Return milliseconds per diff, by case and size of the body."""
    return {
        f"{case}, {size_kb} KB": figures(make, size_kb, args.runs)
        for size_kb in SIZES_KB
        for case, make in CASES.items()
    }


def conversation(size_kb: int, turns: int = 0) -> dict[str, Any]:
    """Return a chat request of about so many KB, some turns further on."""
    text = WORDS * 12
    count = size_kb * 1000 // (len(text) + 40) - 2 * GROWTH
    messages: list[dict[str, str]] = [{"role": "system", "content": WORDS * 40}]
    for number in range(count + 2 * turns):
        role = "assistant" if number % 2 else "user"
        messages.append({"role": role, "content": f"{number} {text}"})
    tools = [
        {"type": "function", "function": {"name": f"tool_{n}", "description": WORDS}}
        for n in range(20)
    ]
    return {"model": "m", "messages": messages, "max_tokens": 9000, "tools": tools}


def appends(size_kb: int, run: int) -> dict[str, Any]:
    """One turn more."""
    return conversation(size_kb, run)


def shrinks(size_kb: int, run: int) -> dict[str, Any]:
    """One turn more, and another token limit."""
    return {**conversation(size_kb, run), "max_tokens": 9000 - run}


CASES: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "append-only": appends,
    "append-only, max_tokens shrinks": shrinks,
}


def arrival(body: dict[str, Any], run: int) -> Arrival:
    """Return a request as the addon would take it."""
    raw = json.dumps(body, separators=(",", ":")).encode()
    return Arrival(str(run), raw, DIALECTS["chat"], "bench", Hints(), float(run))


def figures(
    make: Callable[[int, int], dict[str, Any]], size_kb: int, runs: int
) -> dict[str, Any]:
    """Diff a growing conversation; return what one turn costs."""
    differ = Differ(1 << 30)
    took: list[float] = []
    arrivals = [arrival(make(size_kb, run), run) for run in range(runs + 1)]
    gc.collect()
    gc.disable()  # what it costs is the process's, not the diff's
    for one in arrivals:
        started = time.perf_counter()
        outcome = differ.diff_quickly(one) if took else differ.diff(one)
        took.append((time.perf_counter() - started) * 1000)
        if outcome is None:
            raise RuntimeError(f"run {one.flow} was not diffed on the hot path")
        ended_s = one.arrived_s + 0.5
        differ.finish(one.flow, ended_s, has_failed=False, is_abandoned=False)
    gc.enable()
    took = sorted(took[1:])
    return {
        "bytes": len(arrivals[runs // 2].raw),
        "best_ms": took[0],
        "median_ms": statistics.median(took),
        "p90_ms": took[int(len(took) * 0.9)],
    }


def table(found: dict[str, Any]) -> Table:
    """Return the figures for a person."""
    view = Table("", "bytes", "best ms", "median ms", "p90 ms", title="diff, hot path")
    for case, told in found.items():
        times = [f"{told[k]:.3f}" for k in ("best_ms", "median_ms", "p90_ms")]
        view.add_row(case, f"{told['bytes']:,}", *times)
    return view
