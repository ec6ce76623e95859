"""Verdicts on a real engine: the same deeds, and what is said of them."""

from __future__ import annotations

import importlib.util
import json
import socket
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from forgetful import forgetful
from mitm import ROOT, Proxy, mitmdump
from trackside.ledger.store import read_ledger

pytestmark = pytest.mark.skipif(
    not importlib.util.find_spec("xllamacpp"),
    reason="this platform has no embedded engine",
)

FILLER = " ".join(f"Box {n} holds the lamp of room {n * 7 % 13}." for n in range(6))


class Talk:
    """One thread of a client that keeps its history as it should."""

    def __init__(self, proxy: Proxy, name: str) -> None:
        self.proxy = proxy
        system = {"role": "system", "content": f"You are {name}. {FILLER}"}
        self.messages: list[dict[str, Any]] = [system]
        self.ask("Hello.")

    def ask(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def body(self, max_tokens: int) -> dict[str, Any]:
        return {
            "model": "m",
            "stream": True,
            "temperature": 0,
            "max_tokens": max_tokens,
            "messages": self.messages,
        }

    def turn(self) -> None:
        """Take a turn, and go on from its answer."""
        url = f"{self.proxy.url}/v1/chat/completions"
        response = httpx.post(url, json=self.body(4), timeout=90)
        deltas = [
            choice["delta"]
            for line in response.text.split("\n")
            if line.startswith("data: {")
            for choice in json.loads(line[6:])["choices"]
        ]
        said = "".join(delta.get("reasoning_content") or "" for delta in deltas)
        answer = {"role": "assistant", "content": "Yes.", "reasoning_content": said}
        self.messages.append(answer)
        self.ask(f"Go on {len(self.messages)}.")

    def leave_early(self) -> None:
        """Take a turn and leave once a token came."""
        url = f"{self.proxy.url}/v1/chat/completions"
        with httpx.stream("POST", url, json=self.body(400), timeout=90) as response:
            for text in response.iter_text():
                if "reasoning_content" in text:
                    return


def verdicts(path: Path, count: int) -> list[tuple[str, str | None]]:
    """Wait for that many turns; return what was said of each."""
    end = time.monotonic() + 10
    while len(records := list(read_ledger(path))) < count:
        assert time.monotonic() < end, f"{len(records)} of {count} turns"
        time.sleep(0.05)
    return [(r["verdict"]["fault"], r["verdict"]["cause"]) for r in records]


FIRST, HEALTHY = ("none", "first_request"), ("healthy", None)


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return int(server.getsockname()[1])


def test_what_befalls_a_real_cache_is_told_right(tmp_path: Path) -> None:
    ledger, port = tmp_path / "turns.sqlite", free_port()
    options = (
        *("-s", str(ROOT / "addons/turns.py")),
        *("--set", f"turns_ledger={ledger}"),
    )
    with ExitStack() as stack:
        running = stack.enter_context(ExitStack())
        url = running.enter_context(forgetful(port))
        proxy = stack.enter_context(mitmdump(url, tmp_path, *options, script="diff.py"))
        proxy.wait_for("turns: on")
        one = Talk(proxy, "Ada")
        for _ in range(4):
            one.turn()
        two = Talk(proxy, "Bob")
        two.turn()
        one.turn()
        one.turn()
        seen = [FIRST, *[HEALTHY] * 3, FIRST, ("engine", "slot_takeover"), HEALTHY]
        assert verdicts(ledger, 7) == seen
        record = list(read_ledger(ledger))[5]
        assert record["verdict"]["by"] == "a2"
        assert 0 < record["cache"]["cached_tokens"] < 20
        assert record["ttft_s"] > list(read_ledger(ledger))[6]["ttft_s"]

        running.close()  # the engine is killed, and started anew
        running.enter_context(forgetful(port))
        one.turn()
        one.turn()
        assert verdicts(ledger, 9)[7:] == [("engine", "engine_restart"), HEALTHY]

        one.messages[0]["content"] = f"Today is the 4th. {one.messages[0]['content']}"
        one.turn()
        one.turn()
        assert verdicts(ledger, 11)[9:] == [("harness", "system_changed"), HEALTHY]
        broken = list(read_ledger(ledger))[9]["verdict"]
        assert (broken["sub"], broken["confidence"]) == ("text", "proven")

        one.leave_early()
        time.sleep(0.5)
        one.messages.append({"role": "user", "content": "Well?"})
        one.turn()
        assert verdicts(ledger, 13)[12] == HEALTHY  # llama.cpp keeps what it has read
        end = list(read_ledger(ledger))[11]["end"]
        assert (end["by"], end["stage"]) == ("client", "reasoning")


def test_a_model_that_was_unloaded_is_told_from_a_restart(tmp_path: Path) -> None:
    ledger = tmp_path / "turns.sqlite"
    options = (
        *("-s", str(ROOT / "addons/turns.py")),
        *("--set", f"turns_ledger={ledger}"),
    )
    with (
        forgetful(0, idle_s=2) as url,
        mitmdump(url, tmp_path, *options, script="diff.py") as proxy,
    ):
        proxy.wait_for("turns: on")
        talk = Talk(proxy, "Ada")
        talk.turn()
        talk.turn()
        talk.turn()
        time.sleep(4)
        talk.turn()
        talk.turn()
        seen = [FIRST, HEALTHY, HEALTHY, ("engine", "idle_expiry"), HEALTHY]
        assert verdicts(ledger, 5) == seen
