"""Turns through a real mitmdump, before an engine that does as it is told."""

from __future__ import annotations

import json
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from mitm import ROOT, Proxy, mitmdump, run_mitmdump
from scripted import (
    LOOP,
    OPENING,
    SSE,
    Asked,
    Hangup,
    Reply,
    Scripted,
    chunk,
    stream,
    usage,
)
from scripted import scripted as engine_of

SUITE = (
    *("-s", str(ROOT / "addons/diff.py")),
    *("-s", str(ROOT / "addons/turns.py")),
)
TOKEN_S = 0.15
SEEN: set[bytes] = set()
"""Bodies that the flaky engine has refused once."""


MESSAGE: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 9}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Blue."},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 2},
    },
    {"type": "message_stop"},
]


def message_event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def script(asked: Asked) -> Reply | None:
    if asked.method == "GET":
        return Reply(b'{"default_generation_settings":{}}')
    if asked.path.endswith("/messages"):
        return Reply(iter([message_event(data) for data in MESSAGE]), headers=SSE)
    if asked.path == "/api/chat":
        ndjson = {"Content-Type": "application/x-ndjson"}
        return Reply(iter([b'{"done":false}\n', b'{"done":true}\n']), headers=ndjson)
    if not asked.path.endswith("/chat/completions"):
        return None
    if asked.continues:
        return Reply(stream(content=["Blue."], usage=usage(70, 3, 64)), headers=SSE)
    case = asked.json["messages"][0]["content"]
    if case == "503":
        return Reply(b'{"error":{"message":"Loading model","code":503}}', 503)
    if case == "flaky" and asked.body not in SEEN:
        SEEN.add(asked.body)
        return Reply(b"{}", 503)
    if not asked.json.get("stream"):
        message = {"role": "assistant", "content": "hi", "reasoning_content": "hm"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        told = {"choices": [choice], "usage": usage(40, 2, 30), "model": "scripted"}
        return Reply(json.dumps(told).encode())
    return Reply(events(case), headers=SSE)


def events(case: str) -> Iterator[bytes]:
    if case == "silent":
        time.sleep(20)
    yield b": keep-alive\n\n"
    yield chunk({"role": "assistant", "content": None})
    time.sleep(TOKEN_S)
    if case == "error frame":
        yield b'data: {"error":{"message":"a secret","code":"oom"}}\n\n'
        return
    if case == "loop":
        yield from list(stream([*OPENING, *LOOP], gap_s=0.001))[1:]
        return
    said = {
        "content": {"content": "Hi"},
        "tool": {"tool_calls": [{"index": 0, "function": {"name": "f"}}]},
    }.get(case, {"reasoning_content": "Hm"})
    for _ in range(8):
        yield chunk(said)
    if case == "dies":
        raise Hangup
    if case == "cut":
        return
    if case in ("reasoning", "content", "tool"):
        for _ in range(200):
            time.sleep(0.05)
            yield chunk(said)
    yield chunk({}, finish_reason="stop")
    tail = {"choices": [], "usage": usage(100, 9, 80)}
    yield b"data: " + json.dumps(tail).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"
    if case == "stays open":
        time.sleep(3)


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    with engine_of(script) as state:
        yield state


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("turns")


@pytest.fixture(scope="module")
def proxy(engine: Scripted, folder: Path) -> Iterator[Proxy]:
    option = ("--set", f"turns_ledger={folder / 'turns.sqlite'}")
    with mitmdump(engine.url, folder, *SUITE, *option) as running:
        running.wait_for("turns: on")
        yield running


def rows(folder: Path, case: str | None = None) -> list[dict[str, Any]]:
    """Return the records of the ledger, of one agent: the name of a case."""
    with closing(sqlite3.connect(folder / "turns.sqlite", timeout=5)) as connection:
        try:
            found = connection.execute("SELECT record FROM turns ORDER BY started_at")
        except sqlite3.OperationalError:
            return []  # not made yet
        records = [json.loads(text) for (text,) in found]
    return [r for r in records if case is None or r["agent"] == case]


def the_row(folder: Path, case: str, limit_s: float = 10.0) -> dict[str, Any]:
    """Wait for the turn of a case; it must be there once."""
    return all_rows(folder, case, 1, limit_s)[0]


def all_rows(
    folder: Path, case: str, count: int, limit_s: float = 10.0
) -> list[dict[str, Any]]:
    end = time.monotonic() + limit_s
    while len(found := rows(folder, case)) < count:
        assert time.monotonic() < end, f"{len(found)} of {count} turns of {case}"
        time.sleep(0.05)
    time.sleep(0.4)  # longer than a turn is settled late
    found = rows(folder, case)
    assert len(found) == count
    return found


def body(case: str, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": case}
    return {"model": "m", "stream": True, "messages": [message], **more}


def agent(name: str) -> dict[str, str]:
    return {"User-Agent": f"{name.replace(' ', '_')}/1.0", "Authorization": "secret-7"}


def post(
    proxy: Proxy, case: str, name: str | None = None, **more: Any
) -> httpx.Response:
    return httpx.post(
        f"{proxy.url}/v1/chat/completions",
        json=body(case, **more),
        headers=agent(name or case),
        timeout=30,
    )


def leave(proxy: Proxy, case: str, until: bytes | None, name: str) -> None:
    """Send a request and close the socket once `until` was read."""
    data = json.dumps(body(case)).encode()
    host, port = proxy.url.removeprefix("http://").split(":")
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nUser-Agent: {name}/1\r\n"
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        seen = b""
        if until is None:
            time.sleep(1.0)
        while until is not None and until not in seen:
            seen += connection.recv(65536)


def ended(row: dict[str, Any]) -> tuple[str, str, str | None]:
    end = row["end"]
    return end["by"], end["stage"], end["error"]


def test_a_turn_that_ends_well(proxy: Proxy, folder: Path) -> None:
    assert post(proxy, "normal").text.endswith("data: [DONE]\n\n")
    row = the_row(folder, "normal")
    assert ended(row) == ("engine", "complete", None)
    assert row["usage"] == {
        **{"prompt": 100, "completion": 9, "cached": 80, "reasoning": None},
    }
    assert (row["api"], row["model"], row["engine"]) == ("chat", "m", "llama.cpp")
    assert row["ttft_s"] >= TOKEN_S > 0
    assert row["ttfb_s"] < row["ttft_s"] <= row["duration_s"]
    assert row["cache"]["state"] == "partial"  # warm, and no relative is known
    assert "turn normal" in proxy.wait_for("turn normal")


def test_a_client_that_closes_at_the_terminator(proxy: Proxy, folder: Path) -> None:
    leave(proxy, "normal", b"[DONE]", "at-done")
    assert ended(the_row(folder, "at-done")) == ("engine", "complete", None)


def test_an_engine_that_stays_open_behind_the_terminator(
    proxy: Proxy, folder: Path
) -> None:
    with httpx.stream(
        "POST",
        f"{proxy.url}/v1/chat/completions",
        json=body("stays open"),
        headers=agent("stays open"),
        timeout=30,
    ) as response:
        for text in response.iter_text():
            if "[DONE]" in text:
                break
        row = the_row(folder, "stays_open", 2.0)
    assert ended(row) == ("engine", "complete", None)
    time.sleep(0.3)
    assert len(rows(folder, "stays_open")) == 1


@pytest.mark.parametrize(
    ("case", "until", "stage"),
    [
        ("silent", None, "before_first_token"),
        ("reasoning", b"reasoning_content", "reasoning"),
        ("content", b"Hi", "content"),
        ("tool", b"tool_calls", "tool_call"),
    ],
)
def test_a_client_that_leaves(
    proxy: Proxy, folder: Path, case: str, until: bytes | None, stage: str
) -> None:
    leave(proxy, case, until, f"leaves-{case}")
    assert ended(the_row(folder, f"leaves-{case}")) == ("client", stage, None)


@pytest.mark.parametrize(
    ("case", "end"),
    [
        ("503", ("error", "before_first_token", "503")),
        ("error frame", ("error", "before_first_token", "oom")),
        ("cut", ("error", "reasoning", "cut")),
    ],
)
def test_an_engine_that_fails(
    proxy: Proxy, folder: Path, case: str, end: tuple[str, str, str]
) -> None:
    post(proxy, case)
    row = the_row(folder, case.replace(" ", "_"))
    assert ended(row) == end
    assert "secret" not in json.dumps(row)


def test_an_engine_that_dies(proxy: Proxy, folder: Path) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        post(proxy, "dies")
    by, stage, error = ended(the_row(folder, "dies"))
    assert (by, stage) == ("error", "reasoning")
    assert error


def test_a_turn_that_is_not_streamed(proxy: Proxy, folder: Path) -> None:
    assert post(proxy, "plain", stream=False).json()["model"] == "scripted"
    row = the_row(folder, "plain")
    assert ended(row) == ("engine", "complete", None)
    # The guard had it streamed, so that it could watch: its first token is known too.
    assert (row["streamed"], row["usage"]["cached"]) == (True, 80)
    assert row["ttft_s"] > 0


@pytest.mark.parametrize(
    ("path", "api"),
    [("/v1/messages", "messages"), ("/api/chat", "ollama_chat")],
)
def test_other_dialects_are_accounted(
    proxy: Proxy, folder: Path, path: str, api: str
) -> None:
    httpx.post(f"{proxy.url}{path}", json=body(api), headers=agent(api), timeout=30)
    row = the_row(folder, api)
    assert (row["api"], row["end"]["stage"]) == (api, "complete")
    assert row["cache"]["state"] == "unknown"


def test_a_retry_behind_a_refusal(proxy: Proxy, folder: Path) -> None:
    assert post(proxy, "flaky").status_code == 503
    assert post(proxy, "flaky").status_code == 200
    refused, again = all_rows(folder, "flaky", 2)
    assert ended(refused) == ("error", "before_first_token", "503")
    assert (again["role"], again["verdict"]["cause"]) == ("retry", "retry")
    assert again["resend"] is None


def test_a_resend_counts_what_was_burnt(proxy: Proxy, folder: Path) -> None:
    leave(proxy, "silent", None, "resends")
    leave(proxy, "silent", None, "resends")
    first, second = all_rows(folder, "resends", 2)
    assert first["resend"] is None
    assert second["verdict"]["cause"] == "resend"
    assert second["resend"]["burnt_s"] == pytest.approx(first["duration_s"], abs=1.0)


def test_headers_may_hold_any_bytes(proxy: Proxy, folder: Path) -> None:
    headers = {b"User-Agent": b"odd\xff/1", b"X-Session-Id": b"\xfe\xfd"}
    url = f"{proxy.url}/v1/chat/completions"
    assert httpx.post(url, json=body("normal"), headers=headers).status_code == 200
    assert the_row(folder, "odd?")["session"] == "??"


def test_queue_depth_is_what_was_in_flight_on_arrival(
    proxy: Proxy, folder: Path
) -> None:
    with httpx.stream(
        "POST",
        f"{proxy.url}/v1/chat/completions",
        json=body("content"),
        headers=agent("runs"),
        timeout=30,
    ):
        post(proxy, "normal", "beside")
        assert the_row(folder, "beside")["in_flight"] == 1
    assert the_row(folder, "runs")["in_flight"] == 0


def test_a_guarded_turn_is_told_in_phases_and_as_one(
    proxy: Proxy, folder: Path
) -> None:
    post(proxy, "loop", max_tokens=3000)
    one, two = all_rows(folder, "loop", 2)
    assert (one["guard"]["phase"], two["guard"]["phase"]) == (1, 2)
    assert one["guard"]["other"] == two["flow"]
    assert two["guard"]["other"] == one["flow"]
    assert ended(one) == ("guard", "complete", None)
    assert one["usage"]["completion"] == one["guard"]["spent_tokens"] + 3
    assert one["guard"]["saved_tokens"] == 3000 - one["usage"]["completion"]
    assert two["usage"]["completion"] == 3
    assert two["in_flight"] == 0  # phase 1 runs no more
    assert two["thread"] is None
    assert two["verdict"]["fault"] == "none"


def test_the_order_of_addons_does_not_matter(engine: Scripted, tmp_path: Path) -> None:
    options = (
        *("--set", f"turns_ledger={tmp_path / 'turns.sqlite'}"),
        *("-s", str(ROOT / "addons/guard.py")),
    )
    with mitmdump(engine.url, tmp_path, *options, script="turns.py") as proxy:
        proxy.wait_for("guard: on")
        response = post(proxy, "loop")
        one, two = all_rows(tmp_path, "loop", 2)
    assert ended(one) == ("guard", "complete", None)
    assert one["guard"]["other"] == two["flow"]
    assert response.text.count("usage") == 0  # nobody had asked for it


def test_a_dead_engine_is_accounted(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    option = ("--set", f"turns_ledger={tmp_path / 'turns.sqlite'}")
    with mitmdump(
        f"http://127.0.0.1:{port}", tmp_path, *option, script="turns.py"
    ) as proxy:
        assert post(proxy, "dead").status_code == 502
        by, stage, error = ended(the_row(tmp_path, "dead"))
    assert (by, stage) == ("error", "before_first_token")
    assert error


def test_a_capture_gives_the_same_records_again(
    proxy: Proxy, folder: Path, tmp_path: Path
) -> None:
    """Runs last: it ends the proxy that the other tests share."""
    live = {row["flow"]: row for row in rows(folder)}
    assert len(live) > 15
    flows = {flow.id: flow for flow in proxy.stop()}
    for row in live.values():
        assert "turn " in flows[row["flow"]].comment
        assert flows[row["flow"]].metadata["trackside.turn"]["v"] == 1
    option = ("--set", f"turns_ledger={tmp_path / 'turns.sqlite'}")
    guard = ("-s", str(ROOT / "addons/guard.py"))
    done = run_mitmdump(
        tmp_path, "-nr", str(proxy.capture_path), *guard, *SUITE, *option
    )
    assert done.returncode == 0, done.stdout
    again = {row["flow"]: row for row in rows(tmp_path)}
    assert again.keys() == live.keys()
    same = ("agent", "usage", "end", "ttft_s", "duration_s", "guard", "request_bytes")
    for flow, row in live.items():
        for name in same:
            assert again[flow][name] == row[name], (row["agent"], name)
    assert b"secret-7" not in (folder / "turns.sqlite").read_bytes()
