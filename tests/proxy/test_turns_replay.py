"""Turns that are replayed, from the client's side and from the engine's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from asking import wait_until
from endings import ALL, MARK, script
from mitm import ROOT, mitmdump, run_mitmdump
from scripted import scripted
from trackside.ledger.store import read_ledger
from trackside.proxy.records import read_records
from trackside.report.tables import tables

NAMES = ("chat", "messages", "ollama_chat")


def ask(url: str) -> None:
    for name in NAMES:
        dialect = ALL[name]
        body = dialect.body(f"{MARK} complete")
        assert httpx.post(url + dialect.path, json=body, timeout=30).status_code == 200


def ended(ledger: Path) -> list[tuple[Any, ...]]:
    if not ledger.exists() or not ledger.stat().st_size:
        return []
    records = read_ledger(ledger)
    return [(r["api"], r["end"]["by"], r["usage"]["completion"]) for r in records]


def wait_for(ledger: Path, told: list[tuple[Any, ...]]) -> None:
    wait_until(lambda: len(ended(ledger)) == len(told))
    assert ended(ledger) == told


@pytest.mark.parametrize("side", ["client", "server"])
def test_a_replay_is_accounted_once_a_turn(tmp_path: Path, side: str) -> None:
    live, again = tmp_path / "live.sqlite", tmp_path / "again.sqlite"
    option, anew = f"turns_ledger={live}", f"turns_ledger={again}"
    folder = tmp_path / "again"
    folder.mkdir()
    with scripted(script) as engine:
        with mitmdump(
            engine.url, tmp_path, "--set", option, script="turns.py"
        ) as proxy:
            proxy.wait_for("turns: on")
            ask(proxy.url)
            wait_until(lambda: len(ended(live)) == len(NAMES))
            proxy.stop()
        told, saved = ended(live), str(proxy.capture_path)
        figures = tables(list(read_ledger(live)), "model")
        assert figures == tables(read_records(proxy.capture_path), "model")
        if side == "client":
            addon = ("-s", str(ROOT / "addons" / "turns.py"), "--set", anew)
            done = run_mitmdump(folder, "-n", "--client-replay", saved, *addon)
            assert done.returncode == 0, done.stdout
            wait_for(again, told)
            return
    options = ("--server-replay", saved, "--set", anew)  # the engine is gone by now
    with mitmdump(engine.url, folder, *options, script="turns.py") as proxy:
        proxy.wait_for("turns: on")
        ask(proxy.url)
        wait_for(again, told)
