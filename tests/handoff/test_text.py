"""Text completions that are gone on with, and Ollama's raw ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trackside.handoff import raw, text
from trackside.handoff.completion import Completion
from trackside.handoff.strategy import Turn
from trackside.wire.errors import WireError
from trackside.wire.pieces import Content, Finish, Reasoning, Start

KEPT = "So it is Bob."


def turn_of(dialect: str, **members: Any) -> Turn:
    raws = {key: json.dumps(value).encode() for key, value in members.items()}
    return Turn(
        engine="llama.cpp", members=raws, kept=KEPT, spent_tokens=30, dialect=dialect
    )


@pytest.mark.parametrize(
    ("dialect", "limit", "path"),
    [
        ("completions", "max_tokens", "/v1/completions"),
        ("llama_completion", "n_predict", "/completion"),
    ],
)
def test_text_goes_on_behind_its_closed_reasoning(
    dialect: str, limit: str, path: str
) -> None:
    turn = turn_of(dialect, prompt="Hi<think>\n", seed=1, **{limit: 100})
    assert Completion().fits(turn)
    call = text.continued(turn)
    body = json.loads(call.body)
    assert (call.path, call.reads) == (path, dialect)
    assert body["prompt"] == f"Hi<think>\n{KEPT}\n</think>\n\n"
    assert (body["seed"], body[limit]) == (1, 70)


def test_a_prompt_without_an_opener_gets_one() -> None:
    call = text.continued(turn_of("completions", prompt="Hi"))
    assert json.loads(call.body)["prompt"].startswith(f"Hi<think>\n{KEPT}")


@pytest.mark.parametrize("prompt", [[1, 2], ["Hi"], None])
def test_prompts_that_are_no_text_are_left_alone(prompt: Any) -> None:
    assert not Completion().fits(turn_of("completions", prompt=prompt))


@pytest.mark.parametrize(
    ("body", "dialect"),
    [
        ({"prompt": "Hi"}, "completions"),
        ({"prompt": [1]}, "completions"),
        ({"prompt": "Hi<think>"}, "ollama_generate"),
        ({"messages": []}, "chat"),
    ],
)
def test_other_text_does_not_begin_inside_the_reasoning(
    body: dict[str, Any], dialect: str
) -> None:
    assert text.opened(json.dumps(body).encode(), dialect) is None


def test_text_begins_inside_the_reasoning_that_its_prompt_opens() -> None:
    reader = text.opened(b'{"prompt":"Hi<think>\\n"}', "llama_completion")
    assert reader
    found = [
        *reader.place([Start("", "", 0), Content("Hm</thi")]),
        *reader.place([Content("nk>Yes")]),
        *reader.place([Finish("stop")]),
    ]
    assert found == [
        Start("", "", 0),
        Reasoning("Hm", "inline"),
        Content("Yes"),
        Finish("stop"),
    ]


@pytest.mark.parametrize(
    ("prompt", "kept", "closed"),
    [
        pytest.param("a\n", "\nHm", "<think>\nHm\n</think>\n\n", id="has it"),
        pytest.param("a\n", "Hm", "<think>\nHm\n</think>\n\n", id="has it not"),
        pytest.param("a\n", "\n\nHm", "<think>\n\nHm\n</think>\n\n", id="has two"),
        pytest.param("<think>", "\nHm", "\nHm\n</think>\n\n", id="open"),
        pytest.param("<think>\n", "\nHm", "\nHm\n</think>\n\n", id="open, a line on"),
    ],
)
def test_the_openers_line_break_is_there_once(
    prompt: str, kept: str, closed: str
) -> None:
    assert text.closed_block(prompt, kept) == closed


def test_what_is_held_back_is_told_at_the_finish() -> None:
    reader = text.opened(b'{"prompt":"<think>"}', "completions")
    assert reader
    assert reader.place([Content("</thi"), Finish("length")]) == (
        Reasoning("</thi", "inline"),
        Finish("length"),
    )


@pytest.mark.parametrize("dialect", raw.PATHS)
def test_ollama_renders_and_completes_raw(dialect: str) -> None:
    options = {"num_predict": 100, "seed": 1}
    turn = turn_of(dialect, model="m", options=options, keep_alive="5m", think=True)
    calls = Completion().calls(turn)
    asked = next(calls)
    assert asked.path == raw.PATHS[dialect]
    assert json.loads(asked.body)["_debug_render_only"] is True
    with pytest.raises(StopIteration) as done:
        calls.send(b'{"_debug_info":{"rendered_template":"Hi"}}')
    call = done.value.value
    assert (call.path, call.reads) == ("/api/generate", "ollama_generate")
    assert json.loads(call.body) == {
        "model": "m",
        "options": {"num_predict": 70, "seed": 1},
        "keep_alive": "5m",
        "prompt": f"Hi<think>\n{KEPT}\n</think>\n\n",
        "raw": True,
        "stream": True,
    }


def test_an_ollama_that_does_not_render_is_refused() -> None:
    calls = Completion().calls(turn_of("ollama_chat", model="m"))
    next(calls)
    with pytest.raises(WireError, match="rendered_template"):
        calls.send(b'{"message":{}}')
