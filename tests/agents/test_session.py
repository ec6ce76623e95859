"""A session of an agent that is no more than a line of Python."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agents.session import run

ASKS = """
import json, os, pathlib, urllib.request
body = json.dumps({"messages": [{"role": "user", "content": "x"}], "tools": [{}]})
url = os.environ["URL"] + "/v1/chat/completions"
urllib.request.urlopen(urllib.request.Request(url, body.encode())).read()
pathlib.Path("made.txt").write_text(os.environ["HOME"])
print(sorted(os.environ))
raise SystemExit(3)
"""
HANGS = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("both wait", flush=True)
time.sleep(600)
"""


@dataclass(frozen=True)
class Line:
    """An agent."""

    code: str
    package: str = "none"
    dialect: str = "chat"

    def command(self, cache: Path) -> Sequence[str | Path]:
        return [sys.executable, "-c", self.code]

    def configure(self, home: Path, url: str) -> Mapping[str, str]:
        return {"URL": url}

    def call(self, step: int, folder: str) -> tuple[str, Mapping[str, Any]]:
        return "write", {"path": folder}


def test_a_session_is_seen_from_both_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the user's own")
    session = run(Line(ASKS), tmp_path, tmp_path / "s", 60, loops=False, guarded=False)
    assert (session.exit_code, session.handoffs) == (3, 0), session.stderr
    assert session.files == {"made.txt": str(tmp_path / "s" / "home")}
    (request,) = session.requests
    assert request["path"] == "/v1/chat/completions"
    assert request["body"]["messages"][0]["content"] == "x"
    assert session.events > 3
    assert "OPENAI_API_KEY" not in session.stdout


def test_an_agent_that_goes_on_is_ended_with_its_children(tmp_path: Path) -> None:
    session = run(Line(HANGS), tmp_path, tmp_path / "s", 2, loops=True, guarded=False)
    assert session.exit_code is None
    # stdout has come to its end, which the child held open as well
    assert session.stdout == "both wait\n"
