"""Usage that the turns ask a real mitmdump's engine for, unseen by the client."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from asking import wait_until
from handoff.shapes import text_stream, vllm
from mitm import ROOT, mitmdump
from scripted import SSE, Asked, Reply, Scripted, scripted

DELTAS = [{"reasoning": "Hm"}, {"content": "Hi"}]
PATHS = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "x"}]},
    "/v1/completions": {"prompt": "x"},
}


def script(asked: Asked) -> Reply | None:
    """Answer as vLLM does, with its stamp on the last event."""
    if asked.path == "/version":
        return Reply(b'{"version":"0.33.0"}')
    if asked.path not in PATHS:
        return None
    options = asked.json.get("stream_options") or {}
    wants = bool(options.get("include_usage"))
    if asked.path == "/v1/completions":
        events = text_stream("vllm", ["Hi", ""], asked=wants)
    else:
        wants_running = bool(options.get("continuous_usage_stats"))
        events = vllm(DELTAS, asked=wants_running, include_usage=wants)
    return Reply(iter(list(events)), headers=SSE)


def post(url: str, path: str, **more: Any) -> bytes:
    body = {"model": "m", "stream": True, **PATHS[path], **more}
    return httpx.post(url + path, json=body, timeout=30).content


def asked_last(engine: Scripted, path: str) -> Any:
    """Return the body of the last request that the engine got at a path."""
    return [asked.json for asked in engine.asked if asked.path == path][-1]


def told(ledger: Path) -> list[tuple[str, int | None]]:
    with closing(sqlite3.connect(ledger)) as connection:
        try:
            return connection.execute(
                "SELECT api, prompt_tokens FROM turns ORDER BY started_at"
            ).fetchall()
        except sqlite3.OperationalError:
            return []


@pytest.mark.parametrize(
    "addons",
    [("turns.py",), ("guard.py", "turns.py"), ("turns.py", "guard.py")],
    ids=["alone", "behind the guard", "before the guard"],
)
def test_usage_is_asked_for_and_hidden_again(
    tmp_path: Path, addons: tuple[str, ...]
) -> None:
    first, *others = addons
    ledger = tmp_path / "turns.sqlite"
    options = ["--set", f"turns_ledger={ledger}"]
    for name in others:
        options += ["-s", str(ROOT / "addons" / name)]
    with (
        scripted(script, server="uvicorn") as engine,
        mitmdump(engine.url, tmp_path, *options, script=first) as proxy,
    ):
        proxy.wait_for("turns: on")
        chat, *_ = PATHS

        def is_known() -> bool:
            post(proxy.url, chat)
            return "stream_options" in asked_last(engine, chat)

        wait_until(is_known)
        for path in PATHS:
            direct = post(engine.url, path)
            assert b"system_fingerprint" in direct
            assert post(proxy.url, path) == direct
            assert asked_last(engine, path)["stream_options"]["include_usage"] is True
            wished = {"stream_options": {"include_usage": True}}
            assert post(proxy.url, path, **wished) == post(engine.url, path, **wished)
        asked = [*[("chat", 25)] * 2, *[("completions", 90)] * 2]
        wait_until(lambda: told(ledger)[-4:] == asked)
