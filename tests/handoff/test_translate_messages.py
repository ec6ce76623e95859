"""Anthropic requests as chat: what is rendered alike is found in the cache."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trackside.handoff import body
from trackside.handoff.strategy import Engine
from trackside.handoff.translate_messages import to_chat
from trackside.wire.errors import WireError

IMAGE = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def chat(engine: Engine = "vllm", **request: Any) -> dict[str, Any]:
    request.setdefault("messages", [])
    members = to_chat(body.split(json.dumps(request).encode()), engine)
    return {key: json.loads(value) for key, value in members.items()}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("system", "content"),
    [
        pytest.param("Be brief.", "Be brief.", id="text"),
        pytest.param([text("Be "), text("brief.")], "Be brief.", id="blocks"),
    ],
)
def test_the_system_prompt_is_the_first_message(system: Any, content: str) -> None:
    assert chat(system=system)["messages"] == [{"role": "system", "content": content}]


def test_ollama_gets_a_message_for_each_of_its_own() -> None:
    """Parts would be a message each, and the reasoning beside them be dropped."""
    said = [{"type": "thinking", "thinking": "Hm"}, text("One."), text("Two.")]
    result = {"type": "tool_result", "tool_use_id": "c1"}
    answer = [{**result, "content": [text("a"), text("b")]}, text("Go "), text("on")]
    messages = [
        {"role": "assistant", "content": said},
        {"role": "user", "content": answer},
    ]
    assert chat("ollama", messages=messages)["messages"] == [
        {"role": "assistant", "content": "One.Two.", "reasoning": "Hm"},
        {"role": "tool", "tool_call_id": "c1", "content": "ab"},
        {"role": "user", "content": "Go on"},
    ]


@pytest.mark.parametrize(
    ("request_", "effort"),
    [
        pytest.param({"output_config": {"effort": "low"}}, "low", id="a level"),
        pytest.param({"output_config": {"effort": "xhigh"}}, "high", id="not max"),
        pytest.param({"output_config": {"effort": "?"}}, None, id="refused by chat"),
        pytest.param(
            {"output_config": {"effort": "low"}, "thinking": {"type": "enabled"}},
            None,
            id="thinking without a level",
        ),
        pytest.param({"output_config": {"effort": []}}, None, id="odd"),
    ],
)
def test_ollama_thinks_as_it_did(request_: dict[str, Any], effort: str | None) -> None:
    assert chat("ollama", **request_).get("reasoning_effort") == effort


BILLING = text("x-anthropic-billing-header: cch=0a1b2;")


@pytest.mark.parametrize(
    ("engine", "content"),
    [
        pytest.param("vllm", "Be brief.", id="vllm leaves it out"),
        pytest.param("sglang", f"{BILLING['text']}\nBe brief.", id="sglang's lines"),
        pytest.param(
            "llama.cpp",
            "x-anthropic-billing-header: cch=fffff;Be brief.",
            id="llama.cpp has no hash in it",
        ),
        pytest.param("openai", f"{BILLING['text']}Be brief.", id="not known"),
    ],
)
def test_claude_codes_header_is_rendered_as_the_engine_does(
    engine: Engine, content: str
) -> None:
    messages = chat(engine, system=[BILLING, text("Be brief.")])["messages"]
    assert messages == [{"role": "system", "content": content}]


@pytest.mark.parametrize(
    ("system", "content"),
    [
        pytest.param(
            "x-anthropic-billing-header: cch=0a1b2; Hi",
            "x-anthropic-billing-header: cch=fffff; Hi",
            id="text",
        ),
        pytest.param(
            [text("Hi"), text("x-anthropic-billing-header: cch=0a1b2;")],
            "Hix-anthropic-billing-header: cch=fffff;",
            id="second block",
        ),
        pytest.param(
            "x-anthropic-billing-header: cch=0a1b; cch=0a1b2;",
            "x-anthropic-billing-header: cch=0a1b; cch=0a1b2;",
            id="another length",
        ),
        pytest.param("Hi cch=0a1b2;", "Hi cch=0a1b2;", id="elsewhere"),
        pytest.param(
            "x-anthropic-billing-header: 1",
            "x-anthropic-billing-header: 1",
            id="no hash",
        ),
        pytest.param(
            "x-anthropic-billing-header: cch=0a1b2",
            "x-anthropic-billing-header: cch=0a1b2",
            id="cut short",
        ),
    ],
)
def test_llama_cpp_takes_out_the_hash_alone(system: Any, content: str) -> None:
    (message,) = chat("llama.cpp", system=system)["messages"]
    assert message["content"] == content


def test_a_system_prompt_of_nothing_is_none() -> None:
    assert chat("vllm", system=[BILLING])["messages"] == []


def test_an_agent_turn_is_taken_apart() -> None:
    result = {"type": "tool_result", "tool_use_id": "c1"}
    messages = [
        {"role": "user", "content": [text("Look"), {"type": "image", "source": IMAGE}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "x"},
                {"type": "redacted_thinking", "data": "x"},
                text("I will."),
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [{**result, "content": [text("a"), text("b")]}, text("Go on")],
        },
    ]
    call = {"name": "f", "arguments": '{"a":1}'}
    own = {
        "role": "assistant",
        "content": "I will.",
        "tool_calls": [{"id": "c1", "type": "function", "function": call}],
        "reasoning": "Hm",
    }
    user = {"role": "user", "content": "Go on"}
    tool = {"role": "tool", "tool_call_id": "c1", "content": "a\nb"}
    assert chat(messages=messages)["messages"] == [
        {"role": "user", "content": [text("Look"), PICTURE]},
        own,
        tool,
        user,
    ]
    own["reasoning_content"] = own.pop("reasoning")
    llama = chat("llama.cpp", messages=messages)["messages"]
    assert llama[1:] == [own, user, {**tool, "content": "ab"}]


@pytest.mark.parametrize(
    ("content", "result"),
    [
        pytest.param("done", "done", id="text"),
        pytest.param(None, "", id="none"),
        pytest.param(
            [text("a"), {"type": "image", "source": IMAGE}],
            [text("a"), PICTURE],
            id="picture",
        ),
    ],
)
def test_tool_results_are_tool_messages(content: Any, result: Any) -> None:
    block = {"type": "tool_result", "tool_use_id": "c1", "content": content}
    messages = [{"role": "user", "content": [block]}]
    assert chat(messages=messages)["messages"][0]["content"] == result


def test_the_rest_of_the_request_keeps_its_meaning() -> None:
    told = chat(
        model="m",
        max_tokens=900,
        temperature=0.5,
        top_k=3,
        stop_sequences=["END"],
        tools=[{"name": "f", "input_schema": {"type": "object"}}],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
        output_config={"effort": "low"},
        thinking={"type": "enabled", "budget_tokens": 2000},
        metadata={"user_id": "x"},
        stream=True,
    )
    function = {"name": "f", "description": "", "parameters": {"type": "object"}}
    assert told == {
        "model": "m",
        "max_tokens": 900,
        "temperature": 0.5,
        "top_k": 3,
        "messages": [],
        "stop": ["END"],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "reasoning_effort": "low",
    }


@pytest.mark.parametrize(
    ("engine", "choice"),
    [
        ("vllm", {"type": "function", "function": {"name": "f"}}),
        ("llama.cpp", "required"),
    ],
)
def test_a_named_tool_is_chosen_as_the_engine_can(engine: Engine, choice: Any) -> None:
    told = chat(engine, tool_choice={"type": "tool", "name": "f"})
    assert told["tool_choice"] == choice


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"messages": [{"role": "user"}]}, id="no content"),
        pytest.param({"messages": "hi"}, id="no list"),
        pytest.param({"messages": [1]}, id="no object"),
        pytest.param(
            {"messages": [{"role": "user", "content": [{"type": "document"}]}]},
            id="no counterpart",
        ),
        pytest.param({"tools": [{"type": "web_search"}]}, id="server tool"),
        pytest.param({"tool_choice": {"type": "odd"}}, id="odd choice"),
    ],
)
def test_what_has_no_counterpart_is_refused(request_: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        chat(**request_)
