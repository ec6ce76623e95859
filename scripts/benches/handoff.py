"""How often and how soon each way of continuing gives an answer, on a real engine."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import msgspec
from rich.console import Console
from rich.progress import track
from rich.table import Table

from engine import Engine
from mitm import Proxy, mitmdump
from prompts import LOOPING, Prompt

WAYS = ("in_place", "continue", "completion")
ANSWER_TOKENS = 200
"""The answer is cut here: the model may well loop in it too."""
REASONING_TOKENS = 600


class Run(msgspec.Struct, frozen=True):
    """One prompt through the guard."""

    prompt: str
    strategy: str | None  # the way that was gone in the end, None if nothing tripped
    answer_chars: int
    finish_reason: str | None
    ttft_s: float | None  # from the trip to the first piece of the answer
    cached_share: float | None  # of phase 2's prompt, the new closing words apart
    seconds: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of this bench."""
    parser.add_argument("--prompts", type=int, default=30, metavar="N")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)


def run(args: argparse.Namespace, progress: Console) -> dict[str, Any]:
    """Run every prompt through every way; return the figures by way."""
    found: dict[str, Any] = {}
    for way in args.ways:
        with tempfile.TemporaryDirectory() as folder, Engine.start() as engine:
            option = ("--set", f"guard_strategy={way}")
            with mitmdump(engine.url, Path(folder), *option) as proxy:
                prompts = track(
                    LOOPING[: args.prompts], way, console=progress, transient=True
                )
                runs = _records(proxy, [(p, *_ask(proxy, p)) for p in prompts])
        found[way] = summary(way, runs)
    return found


def _ask(proxy: Proxy, prompt: Prompt) -> tuple[str, float]:
    """Return the answer's text and how long the turn took, in seconds."""
    body = {
        "model": "m",
        "messages": prompt.messages,
        "temperature": 0,
        "max_tokens": REASONING_TOKENS + ANSWER_TOKENS,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    started = time.monotonic()
    answer = []
    url = f"{proxy.url}/v1/chat/completions"
    with httpx.stream("POST", url, json=body, timeout=300) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line[6:])["choices"]
                answer += [c["delta"].get("content") or "" for c in choices]
            if len(answer) > ANSWER_TOKENS and answer[-ANSWER_TOKENS]:
                break
    return "".join(answer), time.monotonic() - started


def _records(proxy: Proxy, asked: Sequence[tuple[Prompt, str, float]]) -> list[Run]:
    time.sleep(1)  # the last flow is saved after its response has ended
    records = [flow.metadata.get("trackside.guard", {}) for flow in proxy.stop()]
    turns = [record for record in records if "reason" in record]
    runs = []
    for (prompt, answer, seconds), record in zip(asked, turns, strict=True):
        handoff = record["handoff"] or {}
        cached, told = handoff.get("cached_tokens"), handoff.get("prompt_tokens")
        runs.append(
            Run(
                prompt.name,
                record["strategy"],
                len(answer.strip()),
                record["end"]["finish_reason"],
                handoff.get("ttft_s"),
                cached / told if cached is not None and told else None,
                seconds,
            )
        )
    return runs


def summary(way: str, runs: Sequence[Run]) -> dict[str, Any]:
    """Return the figures of one way."""
    tripped = [run for run in runs if run.strategy]
    gone = [run for run in tripped if run.strategy == way]
    answered = [run for run in gone if run.answer_chars]
    ttft = sorted(run.ttft_s for run in answered if run.ttft_s is not None)
    shares = [run.cached_share for run in gone if run.cached_share is not None]
    return {
        "prompts": len(runs),
        "tripped": len(tripped),
        "went_this_way": len(gone),
        "answered": len(answered),
        "ended_by_itself": sum(run.finish_reason == "stop" for run in answered),
        "ttft_median_s": statistics.median(ttft) if ttft else None,
        "ttft_p90_s": ttft[int(len(ttft) * 0.9)] if ttft else None,
        "cached_share_median": statistics.median(shares) if shares else None,
        "runs": [msgspec.structs.asdict(run) for run in runs],
    }


def table(found: dict[str, Any]) -> Table:
    """Return the figures for a person."""
    view = Table("", *found, title="ways to continue, embedded engine")
    keys = [key for key in next(iter(found.values())) if key != "runs"]
    for key in keys:
        cells = [figures[key] for figures in found.values()]
        view.add_row(
            key.replace("_", " "),
            *(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells),
        )
    return view
