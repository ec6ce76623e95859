"""The official Node clients, one process each, asked over JSON lines."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import npm
from got import Got

FOLDER = Path(__file__).with_name("node")
INSTALL_LIMIT_S = 90
ANSWER_LIMIT_S = 60


@dataclass
class NodeGot(Got):
    """What a Node client made of a response."""

    order: list[str] | None = None
    """Kinds of what came after the other, of a stream."""


def install() -> None:
    """Install what the lock pins, once; skip where this machine can't."""
    try:
        npm.install(FOLDER, FOLDER, INSTALL_LIMIT_S)
    except npm.Unavailable as error:
        pytest.skip(f"{error}: the Node clients were not tried")


def ask(client: str, questions: Iterable[Mapping[str, Any]]) -> list[NodeGot]:
    """Ask one client all at once; return what it got in the order of the questions."""
    lines = [
        json.dumps({"number": number, **question})
        for number, question in enumerate(questions)
    ]
    done = subprocess.run(
        ["node", FOLDER / f"{client}.mjs"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=ANSWER_LIMIT_S,
        check=False,
    )
    answers = sorted(map(json.loads, done.stdout.splitlines()), key=_number)
    if len(answers) != len(lines):
        raise AssertionError(f"{client}: {len(answers)} of {len(lines)}\n{done.stderr}")
    return [_got(answer) for answer in answers]


def _number(answer: Mapping[str, Any]) -> int:
    return int(answer["number"])


def _got(answer: Mapping[str, Any]) -> NodeGot:
    told = {key: value for key, value in answer.items() if key != "number"}
    calls = [(name, arguments) for name, arguments in told.pop("calls", ())]
    return NodeGot(**told, calls=calls)
