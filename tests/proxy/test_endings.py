"""Every ending of a turn in every dialect, accounted exactly once by real mitmdumps."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from asking import wait_until
from endings import ALL, KINDS, MARK, script
from mitm import mitmdump
from scripted import scripted

type Rows = dict[str, list[dict[str, Any]]]
type Case = tuple[str, str]

STREAMED: dict[str, tuple[str, str, str | None]] = {
    "complete": ("engine", "complete", None),
    "closes at the end": ("engine", "complete", None),
    "stays open": ("engine", "complete", None),
    "leaves silent": ("client", "before_first_token", None),
    "leaves in reasoning": ("client", "reasoning", None),
    "leaves in content": ("client", "content", None),
    "leaves in a call": ("client", "tool_call", None),
    "status": ("error", "before_first_token", "503"),
    "fails at once": ("error", "before_first_token", "oom"),
    "fails in reasoning": ("error", "reasoning", "oom"),
    "fails in content": ("error", "content", "oom"),
    "dies in reasoning": ("error", "reasoning", "closed"),
    "dies in content": ("error", "content", "closed"),
    "cut in reasoning": ("error", "reasoning", "cut"),
    "cut in content": ("error", "content", "cut"),
}
"""By, stage and error of each ending; the text of "closed" is mitmproxy's own."""

WHOLE: dict[str, tuple[str, str, str | None]] = {
    "whole": ("engine", "complete", None),
    "whole status": ("error", "before_first_token", "503"),
    "whole left": ("client", "before_first_token", None),
    "whole dies": ("error", "before_first_token", "closed"),
}
UNTIL = {
    "leaves in reasoning": b"riddle",
    "leaves in content": b"blue",
    "leaves in a call": b"sky",
}
TWICE = ("retried", "resent")
CALLING = [name for name, kind in KINDS.items() if kind.calls]
TABLE: list[Case] = [
    (name, ending)
    for name in ALL
    for ending in (*STREAMED, *WHOLE)
    if ending != "leaves in a call" or name in CALLING
]


WATCHED: list[Case] = [
    (name, ending)
    for name in ("chat", "messages", "responses", "completions", "llama_completion")
    for ending in ("whole", "whole status", "whole left", "whole dies")
]
"""Answers that the guard has streamed on llama.cpp, and makes one body of."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows of an engine that nobody knows, by agent: each agent is one case."""
    twice = [(name, ending) for name in ALL for ending in TWICE]
    return run("uvicorn", tmp_path_factory.mktemp("endings"), TABLE, twice)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return run("llama.cpp", tmp_path_factory.mktemp("watched"), WATCHED, [])


def run(server: str, folder: Path, once: list[Case], twice: list[Case]) -> Rows:
    """Send all cases at once; return the rows of the ledger by agent."""
    ledger = folder / "turns.sqlite"
    option = ("--set", f"turns_ledger={ledger}")
    counts = {case: 1 for case in once} | {case: 2 for case in twice}
    rows: Rows = {}

    def are_told() -> bool:
        rows.clear()
        for row in read(ledger):
            rows.setdefault(row["agent"], []).append(row)
        return all(len(rows.get(agent_of(*c), ())) >= n for c, n in counts.items())

    with (
        scripted(script, server=server) as engine,
        mitmdump(engine.url, folder, *option, script="suite.py") as proxy,
        httpx.Client(base_url=proxy.url) as client,
        ThreadPoolExecutor(12) as pool,
    ):
        proxy.wait_for("turns: on")
        ask(client, ("chat", "warm-up"), 1)  # by its end llama.cpp is known
        told = [pool.submit(ask, client, *item) for item in counts.items()]
        for one in told:
            one.result()
        wait_until(are_told)
    are_told()
    return rows


def agent_of(name: str, ending: str) -> str:
    return f"{name}-{ending}".replace(" ", "_")


def read(ledger: Path) -> list[dict[str, Any]]:
    if not ledger.exists():
        return []
    with closing(sqlite3.connect(ledger)) as connection:
        found = connection.execute("SELECT record FROM turns ORDER BY started_at")
        return [json.loads(record) for (record,) in found]


def ask(client: httpx.Client, case: Case, times: int) -> None:
    """Send a case, and leave where it says so; do it again if asked to."""
    name, ending = case
    dialect = ALL[name]
    body = dialect.body(f"{MARK} {ending}")
    if ending.startswith("whole"):
        body["stream"] = False
        body.pop("stream_options", None)
    is_impatient = ending in ("leaves silent", "whole left", "resent")
    until = KINDS[name].last if ending == "closes at the end" else UNTIL.get(ending)
    limit = httpx.Timeout(30, read=0.5 if is_impatient else 30)
    headers = {"User-Agent": f"{agent_of(*case)}/1"}
    for _ in range(times):
        with (
            suppress(httpx.RemoteProtocolError, httpx.ReadTimeout),
            client.stream(
                "POST", dialect.path, json=body, headers=headers, timeout=limit
            ) as response,
        ):
            seen = b""
            for part in response.iter_raw():
                seen += part
                if until and until in seen:
                    break


@pytest.mark.parametrize(("name", "ending"), TABLE)
def test_a_turn_is_accounted_once_as_it_ended(
    found: Rows, name: str, ending: str
) -> None:
    [row] = found[agent_of(name, ending)]
    check(row, name, ending)
    is_timed = row["streamed"] and row["end"]["stage"] != "before_first_token"
    assert (row["ttft_s"] is not None) is is_timed


@pytest.mark.parametrize(("name", "ending"), WATCHED)
def test_an_answer_that_the_guard_watches_is_accounted_once(
    watched: Rows, name: str, ending: str
) -> None:
    [row] = watched[agent_of(name, ending)]
    check(row, name, ending)


def check(row: dict[str, Any], name: str, ending: str) -> None:
    by, stage, error = {**STREAMED, **WHOLE}[ending]
    end = row["end"]
    assert (row["api"], end["by"], end["stage"]) == (name, by, stage)
    if error == "closed":
        assert end["error"]
    else:
        assert end["error"] == (KINDS[name].code if error == "oom" else error)
    assert end["finish_reason"] == (KINDS[name].reason if by == "engine" else None)
    assert by != "engine" or row["usage"]["completion"]
    assert "secret" not in json.dumps(row)


@pytest.mark.parametrize("name", ALL)
def test_a_retry_behind_a_refusal_is_a_turn_of_its_own(found: Rows, name: str) -> None:
    refused, again = found[agent_of(name, "retried")]
    assert (refused["end"]["by"], refused["end"]["error"]) == ("error", "503")
    assert (again["end"]["by"], again["end"]["stage"]) == ("engine", "complete")
    assert again["resend"] is None


@pytest.mark.parametrize("name", ALL)
def test_a_resend_tells_what_was_burnt(found: Rows, name: str) -> None:
    first, second = found[agent_of(name, "resent")]
    assert first["resend"] is None
    assert second["resend"]["burnt_s"] > 0
    assert second["verdict"]["cause"] == "resend"
