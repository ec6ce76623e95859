"""Responses requests as chat: items become messages, members take chat's names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trackside.handoff import body
from trackside.handoff.strategy import Engine
from trackside.handoff.translate_responses import to_chat
from trackside.wire.errors import WireError


def chat(engine: Engine = "vllm", **request: Any) -> dict[str, Any]:
    request.setdefault("input", [])
    members = to_chat(body.split(json.dumps(request).encode()), engine)
    return {key: json.loads(value) for key, value in members.items()}


def text(words: str, kind: str = "text") -> dict[str, str]:
    return {"type": kind, "text": words}


def test_a_plain_input_is_a_user_message() -> None:
    assert chat(input="Hi", instructions="Be brief.")["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
    ]


def test_the_items_of_an_assistant_turn_are_one_message() -> None:
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    items = [
        {"role": "user", "content": [text("Look", "input_text")]},
        {"type": "reasoning", "summary": [], "content": [text("Hm", "reasoning_text")]},
        {
            "type": "message",
            "role": "assistant",
            "content": [text("I will.", "output_text")],
        },
        {**call, "call_id": "c1"},
        {**call, "call_id": "c2"},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [text("a", "input_text"), text("b", "input_text")],
        },
    ]
    function = {"name": "f", "arguments": "{}"}
    own = {
        "role": "assistant",
        "content": "I will.",
        "reasoning": "Hm",
        "tool_calls": [
            {"id": name, "type": "function", "function": function}
            for name in ("c1", "c2")
        ],
    }
    messages = chat(input=items)["messages"]
    assert messages == [
        {"role": "user", "content": "Look"},
        own,
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        {"role": "tool", "tool_call_id": "c2", "content": [text("a"), text("b")]},
    ]
    own["reasoning_content"] = own.pop("reasoning")
    assert chat("llama.cpp", input=items)["messages"][1] == own


def test_pictures_and_several_texts_stay_parts() -> None:
    content = [
        text("Look", "input_text"),
        {"type": "input_image", "image_url": "data:image/png;base64,AA"},
    ]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    told = chat(input=[{"role": "user", "content": content}])
    assert told["messages"][0]["content"] == [text("Look"), picture]


def test_two_assistant_messages_are_one() -> None:
    items = [
        {"type": "message", "role": "assistant", "content": words}
        for words in ("One.", "Two.")
    ]
    (message,) = chat(input=items)["messages"]
    assert message["content"] == [text("One."), text("Two.")]


def test_ollama_gets_texts_instead_of_parts() -> None:
    items = [
        {"role": "user", "content": [text("One.", "input_text"), text("Two.")]},
        {"type": "message", "role": "assistant", "content": [text("a"), text("b")]},
        {"type": "message", "role": "assistant", "content": "c"},
    ]
    assert chat("ollama", input=items)["messages"] == [
        {"role": "user", "content": "One.Two."},
        {"role": "assistant", "content": "abc"},
    ]


def test_the_rest_of_the_request_keeps_its_meaning() -> None:
    function = {"name": "f", "parameters": {"type": "object"}}
    told = chat(
        model="m",
        max_output_tokens=900,
        temperature=0.5,
        seed=3,
        tools=[{"type": "function", **function}, {"type": "web_search"}],
        tool_choice={"type": "function", "name": "f"},
        parallel_tool_calls=False,
        reasoning={"effort": "low", "summary": "auto"},
        text={"format": {"type": "json_schema", "name": "s", "schema": {}}},
        store=False,
        include=["x"],
        prompt_cache_key="k",
        stream=True,
    )
    assert told == {
        "model": "m",
        "temperature": 0.5,
        "parallel_tool_calls": False,
        "seed": 3,
        "messages": [],
        "max_tokens": 900,
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "reasoning_effort": "low",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "s", "schema": {}},
        },
    }


def test_llama_cpp_makes_tools_strict() -> None:
    tools = [{"type": "function", "name": "f", "parameters": {}}]
    told = chat("llama.cpp", tools=tools)
    assert told["tools"][0]["function"]["strict"] is True
    assert told["tool_choice"] == "auto"


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"previous_response_id": "resp_1"}, id="held by the engine"),
        pytest.param({"conversation": "c"}, id="conversation"),
        pytest.param({"input": None}, id="no input"),
        pytest.param({"input": [3]}, id="no item"),
        pytest.param({"input": [{"type": "computer_call"}]}, id="no counterpart"),
        pytest.param(
            {"input": [{"role": "user", "content": [{"type": "input_file"}]}]},
            id="file",
        ),
        pytest.param({"input": [{"role": "user"}]}, id="no content"),
    ],
)
def test_what_has_no_counterpart_is_refused(request_: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        chat(**request_)
