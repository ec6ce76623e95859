"""A real model runs into a reasoning loop, is stopped, and answers.

Example:
    scripts/demo
    scripts/demo --capture captures/loop.json

The same question is asked twice: straight to the engine, until a cap on its tokens
ends it, and through mitmdump with the guard.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from engine import Engine
from mitm import ROOT, Proxy, mitmdump
from prompts import LOOPING

CAP_TOKENS = 1000
"""What the model may spend on the turn; it uses all of it when nobody stops it."""
FOLDER = ROOT / ".demo"
PROMPTS = {prompt.name: prompt for prompt in LOOPING}
PROMPT = "reasons-why-a-plant-dies"
SHOWN_CHARS = 700


@dataclass
class Turn:
    """What the agent sees of one turn."""

    reasoning: str = ""
    answer: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    finish_reason: str | None = None
    seconds: float = 0.0
    first_token_s: float | None = None
    answer_after_s: float | None = None

    @property
    def tokens(self) -> int:
        """Tokens the turn cost, as the engine counted them."""
        return int(self.usage.get("completion_tokens") or 0)


def main() -> int:
    """Run the demo; exit with 2 where it can't run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--prompt", choices=PROMPTS, default=PROMPT, metavar="NAME", help="what to ask"
    )
    parser.add_argument(
        "--capture", type=Path, help="play this recording instead of the real engine"
    )
    args = parser.parse_args()
    console = Console()
    try:
        with engine(args.capture, console) as running:
            return show(running, args.prompt, console)
    except (OSError, RuntimeError, httpx.HTTPError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2


@contextlib.contextmanager
def engine(capture: Path | None, console: Console) -> Iterator[Engine]:
    """Run the embedded engine, or the playing one where it can't be had."""
    with contextlib.ExitStack() as running:
        if capture is None:
            try:
                yield running.enter_context(Engine.start())
                return
            except RuntimeError as error:
                if importlib.util.find_spec("xllamacpp"):
                    raise
                console.print(f"[yellow]{error}[/]")
                capture = ROOT / "captures" / "loop.json"
        yield running.enter_context(Engine.start(capture=capture))


def show(running: Engine, name: str, console: Console) -> int:
    """Ask twice, and tell the difference."""
    messages = PROMPTS[name].messages
    console.print(f"[bold]engine[/] {running.model} at {running.url}")
    console.print(f"[bold]asked[/]  {messages[-1]['content']}\n")
    bare = ask(running.url, messages, console, "without the guard")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with mitmdump(running.url, FOLDER) as proxy:
        command = f"mitmdump -s addons/guard.py --mode reverse:{running.url}"
        console.print(f"\n[bold]now through[/] {command}")
        guarded = ask(proxy.url, messages, console, "with the guard")
        line = proxy.wait_for("guard: (tripped|no loop)")
        time.sleep(0.5)  # the flow is saved once its response has ended
        record = guard_record(proxy)
    console.print()
    console.print(Panel(line.partition("] ")[2] or line, title="the guard's log"))
    console.print(table(bare, guarded, record))
    where = (FOLDER / "out.flow").relative_to(ROOT)
    console.print(f"\nsaved: {where}. Look at it in a browser, or analyse it again:")
    console.print(f"  .venv/bin/mitmweb -r {where} -s addons/guard.py", soft_wrap=True)
    console.print(f"  .venv/bin/mitmdump -nr {where} -s addons/guard.py")
    if not record["tripped"]:
        print("demo: the model did not loop this time", file=sys.stderr)
        return 1
    return 0


def ask(url: str, messages: Any, console: Console, title: str) -> Turn:
    """Stream one turn and show it as it comes."""
    body = {
        "model": "demo",
        "messages": messages,
        "temperature": 0,
        "max_tokens": CAP_TOKENS,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    turn, started = Turn(), time.monotonic()
    with (
        Live(console=console, refresh_per_second=8) as live,
        httpx.stream(
            "POST", f"{url}/v1/chat/completions", json=body, timeout=300
        ) as response,
    ):
        response.raise_for_status()
        for line in response.iter_lines():
            if line.startswith("data: {"):
                read(turn, json.loads(line[6:]), time.monotonic() - started)
                turn.seconds = time.monotonic() - started
                live.update(view(turn, title))
    return turn


def read(turn: Turn, chunk: dict[str, Any], after_s: float) -> None:
    """Take one chunk of the stream."""
    turn.usage = chunk.get("usage") or turn.usage
    for choice in chunk["choices"]:
        delta = choice["delta"]
        if any(delta.get(key) for key in ("reasoning_content", "content")):
            turn.first_token_s = turn.first_token_s or after_s
        turn.reasoning += delta.get("reasoning_content") or ""
        turn.finish_reason = choice["finish_reason"] or turn.finish_reason
        if text := delta.get("content"):
            turn.answer_after_s = turn.answer_after_s or after_s
            turn.answer += text


def view(turn: Turn, title: str) -> Panel:
    """Return the agent's view of a turn."""
    parts = [Text(turn.reasoning[-SHOWN_CHARS:].strip(), style="dim italic")]
    if turn.answer:
        parts.append(
            Text("\n" + turn.answer.strip()[-SHOWN_CHARS:], style="bold green")
        )
    return Panel(Group(*parts), title=title, subtitle=f"{turn.seconds:.1f} s")


def guard_record(proxy: Proxy) -> dict[str, Any]:
    """Return what the guard noted about the client's flow."""
    records = [flow.metadata.get("trackside.guard", {}) for flow in proxy.stop()]
    return next(record for record in records if "reason" in record)


def table(bare: Turn, guarded: Turn, record: dict[str, Any]) -> Table:
    """Return what the turn cost without and with the guard."""
    result = Table("", "without", "with the guard")
    rows = [
        ("tokens generated", bare.tokens or "not told", guarded.tokens),
        ("seconds", f"{bare.seconds:.1f}", f"{guarded.seconds:.1f}"),
        ("first token", _seconds(bare), _seconds(guarded)),
        ("answer", _answer(bare), _answer(guarded)),
        ("finish reason", bare.finish_reason, guarded.finish_reason),
    ]
    handoff = record["handoff"] or {}
    if handoff.get("ttft_s") is not None:
        told = f"{handoff['cached_tokens']} of {handoff['prompt_tokens']} tokens cached"
        rows.append(("answer began", "", f"{handoff['ttft_s']:.2f} s after the trip"))
        rows.append(("phase 2's prompt", "", told))
    for row in rows:
        result.add_row(*map(str, row))
    return result


def _seconds(turn: Turn) -> str:
    after_s = turn.first_token_s
    return "none" if after_s is None else f"after {after_s:.2f} s"


def _answer(turn: Turn) -> str:
    if turn.answer_after_s is None:
        return "none"
    return f"{len(turn.answer.strip())} characters, after {turn.answer_after_s:.1f} s"


if __name__ == "__main__":
    sys.exit(main())
