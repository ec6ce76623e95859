"""What the sessions of one agent say of trackside. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.compare import differences, in_order, masked, without_ours
from agents.play import ANSWER, CONTENT, FILE
from agents.session import Session

RUNS = {
    "plain": {"loops": False, "guarded": False},
    "again": {"loops": False, "guarded": False},
    "guarded": {"loops": False, "guarded": True},
    "loop": {"loops": True, "guarded": False},
    "loop guarded": {"loops": True, "guarded": True},
}
"""The sessions that a verdict needs."""


@dataclass(frozen=True)
class Ending:
    """How a session came to its end."""

    answered: bool  # by itself, with the file and the answer
    exit_code: int | None  # None: ended at the time limit
    requests: int  # of the agent
    handoffs: int
    events: int  # that the engine sent, about one a token
    seconds: float


@dataclass(frozen=True)
class Verdict:
    """One agent with and without trackside."""

    agent: str
    version: str
    dialect: str
    own_differences: list[str]  # between two sessions without trackside
    differences: list[str]  # between one without and one with
    endings: Mapping[str, Ending]  # by the names of `RUNS`

    @property
    def is_same(self) -> bool:
        """Nothing differs where nothing loops, and a loop ends with the answer."""
        looped = self.endings["loop guarded"]
        return (
            not self.differences
            and self.endings["guarded"].answered
            and self.endings["guarded"].handoffs == 0
            and looped.answered
            and looped.handoffs == 1
        )


def judge(
    agent: str, version: str, dialect: str, sessions: Mapping[str, Session]
) -> Verdict:
    """Compare the sessions of one agent, by the names of `RUNS`."""
    seen = {name: _seen(session) for name, session in sessions.items()}
    return Verdict(
        agent=agent,
        version=version,
        dialect=dialect,
        own_differences=list(differences(seen["plain"], seen["again"])),
        differences=list(differences(seen["plain"], seen["guarded"])),
        endings={name: ending(session) for name, session in sessions.items()},
    )


def ending(session: Session) -> Ending:
    """Return how a session ended."""
    answered = ANSWER in session.stdout and session.files.get(FILE) == CONTENT
    return Ending(
        answered=answered and session.exit_code == 0,
        exit_code=session.exit_code,
        requests=len(session.requests),
        handoffs=session.handoffs,
        events=session.events,
        seconds=round(session.seconds, 1),
    )


def _seen(session: Session) -> Any:
    """Return what two sessions have to share."""
    return masked(
        {
            "exit_code": session.exit_code,
            "stdout": session.stdout,
            "files": session.files,
            "requests": [without_ours(r) for r in in_order(session.requests)],
        }
    )
