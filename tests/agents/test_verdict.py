"""What is said of an agent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agents.play import ANSWER, CONTENT, FILE
from agents.session import Session
from agents.verdict import RUNS, judge

REQUEST = {
    "path": "/v1/messages",
    "headers": {"host": "127.0.0.1:1", "x-api-key": "none"},
    "body": {"messages": [{"role": "user", "content": "task"}], "tools": [{}]},
}
GOOD = Session(0, f"{ANSWER}\n", "", {FILE: CONTENT}, [REQUEST], 0, 23, 1.0)
SESSIONS = {
    **dict.fromkeys(RUNS, GOOD),
    "loop": replace(GOOD, exit_code=None, stdout="", files={}, events=3000),
    "loop guarded": replace(GOOD, handoffs=1),
}


def judged(**changed: Session) -> Any:
    sessions = {**SESSIONS, **{k.replace("_", " "): s for k, s in changed.items()}}
    return judge("agent", "1", "messages", sessions)


def test_the_same_with_and_without() -> None:
    verdict = judged()
    assert verdict.is_same
    assert verdict.differences == []
    assert not verdict.endings["loop"].answered
    assert verdict.endings["loop guarded"].answered


@pytest.mark.parametrize(
    ("change", "path"),
    [
        pytest.param({"exit_code": 1}, "exit_code", id="exit code"),
        pytest.param({"stdout": f"{ANSWER} Or not."}, "stdout", id="message"),
        pytest.param({"files": {FILE: CONTENT, "x": ""}}, "files.x", id="files"),
        pytest.param({"requests": [REQUEST] * 2}, "requests[1]", id="requests"),
        pytest.param(
            {"requests": [{**REQUEST, "body": {"tools": [{}]}}]},
            "requests[0].body.messages",
            id="request",
        ),
    ],
)
def test_what_differs_is_named(change: dict[str, Any], path: str) -> None:
    verdict = judged(guarded=replace(GOOD, **change))
    assert not verdict.is_same
    assert verdict.differences[0].startswith(f"{path}: ")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"exit_code": 1}, id="failed"),
        pytest.param({"exit_code": None}, id="ended at the limit"),
        pytest.param({"stdout": ""}, id="silent"),
        pytest.param({"files": {}}, id="nothing done"),
        pytest.param({"handoffs": 0}, id="not handed off"),
    ],
)
def test_a_loop_must_end_with_the_answer(change: dict[str, Any]) -> None:
    assert not judged(loop_guarded=replace(SESSIONS["loop guarded"], **change)).is_same


def test_what_the_agent_varies_itself_is_told_apart() -> None:
    other = replace(GOOD, stdout=f"{ANSWER} 7")
    assert judged(again=other).own_differences
    assert judged(again=other).is_same
