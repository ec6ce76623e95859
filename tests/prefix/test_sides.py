from __future__ import annotations

import copy

import pytest

from prefix.conversations import Step, answered, conversation
from trackside.prefix.body import read_body
from trackside.prefix.dialects import DIALECTS
from trackside.prefix.sides import asks_for_summary, told_part, tool_names

CHAT = DIALECTS["chat"]


def test_tools_are_known_by_name_in_every_dialect() -> None:
    for dialect in ("chat", "responses", "messages", "ollama_chat"):
        body = read_body(conversation(dialect).body(), DIALECTS[dialect])
        assert tool_names(body) == {"read_file", "list_files", "run"}


@pytest.mark.parametrize(
    ("steps", "part"),
    [
        pytest.param(slice(None), "whole", id="all"),
        pytest.param(slice(0, 3), "part", id="begin"),
        pytest.param(slice(0, 0), "", id="nothing"),
    ],
)
def test_a_transcript_is_known_by_what_it_tells(steps: slice, part: str) -> None:
    talk = conversation("chat")
    told = "\n".join(
        f"{step.text} {step.reasoning}" + "".join(call.result for call in step.calls)
        for step in talk.steps[steps]
    )
    side = copy.deepcopy(talk)
    side.steps = [Step("user", told)]
    assert told_part(read_body(talk.body(), CHAT), side.body()) == part


def test_a_user_right_after_tools_asks_for_a_summary_unless_it_is_a_habit() -> None:
    talk = conversation("chat")
    plain = read_body(talk.body(), CHAT)
    asked = copy.deepcopy(talk)
    asked.steps.append(Step("user", "Now sum up what was done, for another model."))
    body = read_body(asked.body(), CHAT)
    assert asks_for_summary(body, plain)
    later = answered(talk)
    later.steps.append(Step("user", "Now sum up what was done, for yet another one."))
    assert not asks_for_summary(read_body(later.body(), CHAT), body)
    assert not asks_for_summary(plain, None)
