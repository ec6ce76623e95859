"""The play, read by the official clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from agents import play
from agents.play import ANSWER, THOUGHTS, Play, tool_results
from agents.roster import AGENTS
from agents.speech import SPEECHES
from engines.scripted import Scripted, scripted

SCHEMA = {"type": "object"}
RESULTS = {
    "chat": {"role": "tool", "tool_call_id": "c", "content": "ok"},
    "responses": {"type": "function_call_output", "call_id": "c", "output": "ok"},
    "messages": {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}],
    },
}


def calls(step: int, folder: str) -> tuple[str, dict[str, str]]:
    return ("read" if step else "write"), {"path": f"{folder}/f"}


@pytest.fixture(params=[False, True], ids=["", "loops"])
def stage(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Scripted, Play]]:
    monkeypatch.setattr(play, "GAP_S", 0)
    played = Play(calls, "/agents/work", loops=request.param)
    with scripted(played) as engine:
        yield engine, played


def ask_chat(url: str, items: list[Any]) -> tuple[str, Any, str, str]:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    tool: Any = {"type": "function", "function": {"name": "write"}}
    said: Any = [{"role": "user", "content": "task"}, *items]
    thought = ""
    with client.chat.completions.stream(
        model="m", messages=said, tools=[tool]
    ) as stream:
        for event in stream:
            if event.type == "chunk":
                for choice in event.chunk.choices:
                    delta: Any = choice.delta
                    thought += getattr(delta, "reasoning_content", "")
        choice = stream.get_final_completion().choices[0]
    call = (choice.message.tool_calls or [None])[0]
    named = call and (call.function.name, call.function.arguments)
    return thought, named, choice.message.content or "", choice.finish_reason


def ask_responses(url: str, items: list[Any]) -> tuple[str, Any, str, str]:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    tool: Any = {"type": "function", "name": "write", "parameters": SCHEMA}
    said: Any = [{"role": "user", "content": "task"}, *items]
    events = list(
        client.responses.create(model="m", input=said, tools=[tool], stream=True)
    )
    final: Any = events[-1]
    thought, named = "", None
    for item in final.response.output:
        if item.type == "reasoning":
            thought = item.content[0].text
        if item.type == "function_call":
            named = (item.name, item.arguments)
    return thought, named, final.response.output_text, final.response.status


def ask_messages(url: str, items: list[Any]) -> tuple[str, Any, str, str]:
    client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
    tool: Any = {"name": "write", "input_schema": SCHEMA}
    said: Any = [{"role": "user", "content": "task"}, *items]
    with client.messages.stream(
        model="m", max_tokens=9, messages=said, tools=[tool]
    ) as stream:
        message: Any = stream.get_final_message()
    thought, named, text = "", None, ""
    for block in message.content:
        thought += getattr(block, "thinking", "")
        text += getattr(block, "text", "")
        if block.type == "tool_use":
            named = (block.name, json.dumps(block.input))
    return thought, named, text, message.stop_reason


ASKS = {"chat": ask_chat, "responses": ask_responses, "messages": ask_messages}


@pytest.mark.parametrize("dialect", ASKS)
def test_the_official_clients_read_the_play(
    stage: tuple[Scripted, Play], dialect: str
) -> None:
    engine, played = stage
    ask, result = ASKS[dialect], RESULTS[dialect]
    if played._loops:
        try:
            thought, named, text, finish = ask(engine.url, [])
        except openai.LengthFinishReasonError:  # so it says that a turn was cut
            return
        assert thought.count(play.LOOP) > 100
        assert (named, text) == (None, "")
        assert finish in ("length", "max_tokens", "incomplete")
        assert played.events > play.LOOP_TOKENS
        return
    for step, name in enumerate(("write", "read")):
        thought, named, text, _ = ask(engine.url, [result] * step)
        assert thought == "".join(THOUGHTS[step])
        assert named == (name, json.dumps({"path": "/agents/work/f"}))
        assert text == ""
    thought, named, text, finish = ask(engine.url, [result] * 2)
    assert (thought, named, text) == ("".join(THOUGHTS[2]), None, ANSWER)
    assert finish in ("stop", "end_turn", "completed")


@pytest.mark.parametrize("dialect", RESULTS)
def test_results_of_tools_are_counted(dialect: str) -> None:
    key = "input" if dialect == "responses" else "messages"
    asked = {"role": "user", "content": "task"}
    assert tool_results({key: [asked]}) == 0
    assert tool_results({key: [asked, RESULTS[dialect], RESULTS[dialect]]}) == 2


@pytest.mark.parametrize("body", [{}, {"input": "task"}, {"messages": []}])
def test_a_request_without_any_has_none(body: dict[str, Any]) -> None:
    assert tool_results(body) == 0


def test_the_agents_speak_three_dialects() -> None:
    spoken = {path.removeprefix("/v1/").partition("/")[0] for path in SPEECHES}
    assert {agent.dialect for agent in AGENTS.values()} == spoken
