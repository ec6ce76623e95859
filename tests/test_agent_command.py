"""`scripts/agent.py`, as far as it comes without an agent."""

from __future__ import annotations

from pathlib import Path

import pytest

import agent


def test_an_unknown_agent_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        agent.main(["aider"])
    assert stopped.value.code == 2
    assert "'aider' is none of qwen-code, opencode, codex" in capsys.readouterr().err


def test_without_node_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert agent.main(["--cache", str(tmp_path)]) == 2
    assert "agent: node and npm are not installed" in capsys.readouterr().err
