"""A real mitmweb shows a capture with the guard's comment and marker."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from pathlib import Path

import httpx

from cases import post, script
from mitm import CONFDIR, MITMDUMP, ROOT, mitmdump
from scripted import scripted

PASSWORD = "only-for-this-test"


def test_a_capture_opens_in_mitmweb(tmp_path: Path) -> None:
    with scripted(script) as engine, mitmdump(engine.url, tmp_path) as proxy:
        post(proxy, "loop")
        proxy.wait_for("guard: tripped")
        time.sleep(0.5)
        proxy.stop()
    log = tmp_path / "mitmweb.log"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [
                *(MITMDUMP.with_name("mitmweb"), "-n", "--no-web-open-browser"),
                *("--web-port", str(port), "--set", f"web_password={PASSWORD}"),
                *("-r", proxy.capture_path, "-s", ROOT / "addons" / "guard.py"),
                *("--set", f"confdir={CONFDIR}"),
            ],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        flows = wait_for_flows(port, log)
    finally:
        process.kill()
        process.wait()
    turn = next(flow for flow in flows if flow["marked"])
    assert turn["marked"] == "🔁"
    assert turn["comment"].startswith("guard tripped by cycles in reasoning")
    assert any(flow["comment"].startswith("guard phase 2 of") for flow in flows)


def wait_for_flows(port: int, log: Path) -> list[dict[str, str]]:
    """Return the flows that mitmweb lists, once it has read both turns."""
    end = time.monotonic() + 40
    while time.monotonic() < end:
        with contextlib.suppress(httpx.ConnectError):
            url = f"http://127.0.0.1:{port}/flows"
            answer = httpx.get(url, params={"token": PASSWORD})
            flows = answer.json() if answer.status_code == 200 else []
            if sum(bool(flow["comment"]) for flow in flows) >= 2:
                return list(flows)
        time.sleep(0.2)
    raise AssertionError(log.read_text())
