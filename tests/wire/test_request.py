import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.wire import DIALECTS
from trackside.wire.effort import Thinking
from trackside.wire.errors import WireError
from trackside.wire.request import Request, parse

USER = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


def request(**fields):
    return parse("chat", json.dumps({"messages": [USER], **fields}).encode())


def test_a_bare_request_asks_for_nothing_special():
    assert request() == Request(
        dialect="chat",
        model="",
        stream=False,
        n=1,
        has_tools=False,
        tool_choice=None,
        max_tokens=None,
        max_tokens_key=None,
        include_usage=False,
        continuous_usage=False,
        logprobs=False,
        stop_words=False,
        json_schema=False,
        images=False,
        last_role="user",
        effort=None,
        budget_tokens=None,
        server_held=False,
    )


@pytest.mark.parametrize(
    ("fields", "facts"),
    [
        pytest.param({"model": "m", "stream": True}, {"model": "m", "stream": True}),
        pytest.param({"model": None, "stream": None, "n": None}, {"n": 1}),
        pytest.param({"stream": "yes", "n": "2"}, {"stream": False, "n": 1}),
        pytest.param({"n": 3}, {"n": 3}),
        pytest.param({"tools": [TOOL]}, {"has_tools": True}),
        pytest.param({"tools": []}, {"has_tools": False}),
        pytest.param({"stop": "END"}, {"stop_words": True}),
        pytest.param({"stop": ["END"]}, {"stop_words": True}),
        pytest.param({"stop": []}, {"stop_words": False}),
        pytest.param({"stop": None}, {"stop_words": False}),
        pytest.param({"stop_sequences": ["END"]}, {"stop_words": True}),
        pytest.param({"tools": None}, {"has_tools": False}),
        pytest.param({"tools": {"a": 1}}, {"has_tools": False}),
        pytest.param({"tool_choice": "required"}, {"tool_choice": "required"}),
        pytest.param({"tool_choice": TOOL}, {"tool_choice": "named"}),
        pytest.param(
            {"max_tokens": 5}, {"max_tokens": 5, "max_tokens_key": "max_tokens"}
        ),
        pytest.param(
            {"max_tokens": 5, "max_completion_tokens": 4},
            {"max_tokens": 4, "max_tokens_key": "max_completion_tokens"},
        ),
        pytest.param(
            {"max_tokens": 5, "max_completion_tokens": None},
            {"max_tokens": 5, "max_tokens_key": "max_tokens"},
        ),
        pytest.param(
            {"stream_options": {"include_usage": True}},
            {"include_usage": True, "continuous_usage": False},
        ),
        pytest.param(
            {"stream_options": {"continuous_usage_stats": True}},
            {"include_usage": False, "continuous_usage": True},
        ),
        pytest.param({"stream_options": [1]}, {"include_usage": False}),
        pytest.param({"logprobs": True}, {"logprobs": True}),
        pytest.param({"logprobs": False}, {"logprobs": False}),
        pytest.param({"response_format": {"type": "text"}}, {"json_schema": False}),
        pytest.param({"response_format": None}, {"json_schema": False}),
        pytest.param(
            {"response_format": {"type": "json_object"}}, {"json_schema": True}
        ),
        pytest.param(
            {"response_format": {"type": "json_schema", "json_schema": {}}},
            {"json_schema": True},
        ),
        pytest.param({"reasoning_effort": "low"}, {"effort": "low"}),
        pytest.param({"thinking_budget": 9}, {"budget_tokens": 9}),
        pytest.param({"messages": []}, {"last_role": None}),
        pytest.param({"messages": [USER, 7]}, {"last_role": None}),
        pytest.param({"messages": [{"role": None}]}, {"last_role": None}),
        pytest.param({"messages": [USER, {"role": "tool"}]}, {"last_role": "tool"}),
    ],
)
def test_facts_are_read(fields, facts):
    found = request(**fields)
    assert {name: getattr(found, name) for name in facts} == facts


@pytest.mark.parametrize(
    ("content", "images"),
    [
        pytest.param([{"type": "image_url", "image_url": {}}], True, id="openai"),
        pytest.param([{"type": "text"}, {"type": "input_image"}], True, id="second"),
        pytest.param([{"type": "text", "text": '"image_url"'}], False, id="in-text"),
        pytest.param("image_url", False, id="the-word-alone"),
        pytest.param(["image", 7, {"type": 7}], False, id="odd"),
        pytest.param(None, False, id="null"),
    ],
)
def test_images_are_found(content, images):
    messages = [{"role": "user", "content": content}, "image", USER]
    assert request(messages=messages).images is images


def test_a_word_in_a_tool_is_no_image():
    assert request(tools=[{"image_url": 1}]).images is False


@pytest.mark.parametrize("text", [rb"\ud83d", b"\xff"], ids=["half-emoji", "not-utf-8"])
def test_what_messages_say_does_not_matter(text):
    body = b'{"messages":[{"role":"user","content":"%s"}],"n":2}' % text
    assert (parse("chat", body).n, parse("chat", body).last_role) == (2, "user")


@pytest.mark.parametrize(
    ("body", "got"),
    [
        pytest.param(b"", "got b''", id="nothing"),
        pytest.param(b"hello", "hello", id="words"),
        pytest.param(b'{"messages":[', "Expecting value", id="cut"),
        pytest.param(b"[]", "array", id="list"),
        pytest.param(b'{"prompt":"x"}', "messages", id="no-messages"),
        pytest.param(b'{"messages":"x"}', "messages", id="messages-no-list"),
        pytest.param(b'{"messages":[],"n":' + b"[" * 200_000, "recursion", id="deep"),
    ],
)
def test_what_is_no_chat_request_is_refused_in_words(body, got):
    with pytest.raises(WireError, match=f"{got}.*wanted"):
        parse("chat", body)


INPUT = {"type": "message", "role": "user", "content": [{"type": "input_text"}]}
SCHEMA = {"type": "json_schema", "schema": {}}


def facts_of(dialect, body):
    return parse(dialect, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("responses", {"input": "Hi"}),
        ("messages", {"messages": [USER]}),
        ("completions", {"prompt": "Hi"}),
        ("llama_completion", {"prompt": "Hi"}),
        ("ollama_chat", {"messages": [USER]}),
        ("ollama_generate", {"prompt": "Hi"}),
    ],
)
def test_a_bare_request_asks_for_nothing_special_in_any_dialect(dialect, body):
    speaks = "messages" in body or "input" in body
    assert facts_of(dialect, body) == Request(
        dialect=dialect,
        model="",
        stream=dialect.startswith("ollama"),
        n=1,
        has_tools=False,
        tool_choice=None,
        max_tokens=None,
        max_tokens_key=None,
        include_usage=dialect != "completions",
        continuous_usage=False,
        logprobs=False,
        stop_words=False,
        json_schema=False,
        images=False,
        last_role="user" if speaks else None,
        effort=None,
        budget_tokens=None,
        server_held=False,
    )


@pytest.mark.parametrize(
    ("dialect", "fields", "facts"),
    [
        pytest.param(
            "responses",
            {"max_output_tokens": 5, "max_tokens": 4},
            {"max_tokens": 5, "max_tokens_key": "max_output_tokens"},
            id="responses-limit",
        ),
        pytest.param(
            "responses",
            {"reasoning": {"effort": "high", "summary": "auto"}},
            {"effort": "high"},
            id="responses-effort",
        ),
        pytest.param(
            "responses",
            {"input": [INPUT, {"type": "function_call_output", "output": "x"}]},
            {"last_role": "tool"},
            id="responses-tool",
        ),
        pytest.param(
            "responses",
            {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
            {"images": True},
            id="responses-image",
        ),
        pytest.param("responses", {"input": []}, {"last_role": None}, id="no-input"),
        pytest.param(
            "responses", {"input": 7}, {"last_role": None}, id="responses-odd-input"
        ),
        pytest.param(
            "responses",
            {"tool_choice": {"type": "function", "name": "f"}, "tools": [TOOL]},
            {"tool_choice": "named", "has_tools": True},
            id="responses-named-tool",
        ),
        pytest.param(
            "responses", {"text": {"format": SCHEMA}}, {"json_schema": True}, id="form"
        ),
        pytest.param(
            "responses",
            {"text": {"format": {"type": "text"}, "verbosity": "low"}},
            {"json_schema": False},
            id="responses-text",
        ),
        pytest.param(
            "responses",
            {"include": ["message.output_text.logprobs"]},
            {"logprobs": True},
            id="responses-logprobs",
        ),
        pytest.param(
            "responses",
            {"include": ["reasoning.encrypted_content"], "top_logprobs": 0},
            {"logprobs": False},
            id="responses-no-logprobs",
        ),
        pytest.param(
            "responses", {"previous_response_id": "r"}, {"server_held": True}, id="held"
        ),
        pytest.param(
            "responses",
            {"previous_response_id": None, "conversation": None, "background": False},
            {"server_held": False},
            id="not-held",
        ),
        pytest.param(
            "responses", {"conversation": {"id": "c"}}, {"server_held": True}, id="conv"
        ),
        pytest.param(
            "responses", {"background": True}, {"server_held": True}, id="background"
        ),
        pytest.param(
            "responses", {"prompt": {"id": "p"}}, {"server_held": True}, id="stored"
        ),
        pytest.param(
            "responses",
            {"input": [INPUT, {"type": "item_reference", "id": "x"}]},
            {"server_held": True},
            id="reference",
        ),
        pytest.param("responses", {"n": 2}, {"n": 1}, id="responses-has-no-n"),
        pytest.param(
            "messages",
            {"max_tokens": 9, "thinking": {"type": "enabled", "budget_tokens": 5}},
            {"max_tokens": 9, "max_tokens_key": "max_tokens", "budget_tokens": 5},
            id="messages-limits",
        ),
        pytest.param(
            "messages", {"thinking": {"type": "disabled"}}, {"effort": "none"}, id="off"
        ),
        pytest.param(
            "messages",
            {"output_config": {"effort": "max", "format": SCHEMA}},
            {"effort": "max", "json_schema": True},
            id="messages-output-config",
        ),
        pytest.param(
            "messages", {"output_format": SCHEMA}, {"json_schema": True}, id="older"
        ),
        pytest.param(
            "messages", {"tool_choice": {"type": "any"}}, {"tool_choice": "required"}
        ),
        pytest.param(
            "messages", {"tool_choice": {"type": "auto"}}, {"tool_choice": "auto"}
        ),
        pytest.param(
            "messages", {"tool_choice": {"type": "none"}}, {"tool_choice": "none"}
        ),
        pytest.param(
            "messages",
            {"tool_choice": {"type": "tool", "name": "f"}},
            {"tool_choice": "named"},
        ),
        pytest.param(
            "messages",
            {"messages": [{"role": "user", "content": [{"type": "image"}]}]},
            {"images": True},
            id="messages-image",
        ),
        pytest.param("completions", {"prompt": ["a", "b"], "n": 2}, {"n": 4}),
        pytest.param("completions", {"prompt": ["a"]}, {"n": 1}),
        pytest.param("completions", {"prompt": [[1, 2], [3]]}, {"n": 2}),
        pytest.param("completions", {"prompt": [1, 2, 3], "n": 2}, {"n": 2}),
        pytest.param("completions", {"prompt": []}, {"n": 1}),
        pytest.param("completions", {"prompt": 7}, {"n": 1}),
        pytest.param("completions", {"logprobs": 0}, {"logprobs": True}),
        pytest.param("completions", {"logprobs": None}, {"logprobs": False}),
        pytest.param(
            "completions",
            {"stream_options": {"include_usage": True}, "max_tokens": 5},
            {"include_usage": True, "max_tokens": 5, "max_tokens_key": "max_tokens"},
        ),
        pytest.param("llama_completion", {"prompt": ["a", 5, "b"]}, {"n": 1}),
        pytest.param("llama_completion", {"prompt": "a", "n_cmpl": 3}, {"n": 3}),
        pytest.param("llama_completion", {"n_probs": 5}, {"logprobs": True}),
        pytest.param(
            "llama_completion", {"grammar": "root ::="}, {"json_schema": True}
        ),
        pytest.param("llama_completion", {"json_schema": {}}, {"json_schema": False}),
        pytest.param(
            "llama_completion",
            {"n_predict": 5},
            {"max_tokens": 5, "max_tokens_key": "n_predict"},
        ),
        pytest.param(
            "llama_completion",
            {"n_predict": -1},
            {"max_tokens": None, "max_tokens_key": None},
            id="no-limit",
        ),
        pytest.param(
            "llama_completion",
            {"prompt": {"prompt_string": "x", "multimodal_data": ["iVBO"]}},
            {"images": True},
        ),
        pytest.param("ollama_chat", {"stream": False}, {"stream": False}),
        pytest.param("ollama_chat", {"stream": None}, {"stream": True}),
        pytest.param("ollama_chat", {"think": "high"}, {"effort": "high"}),
        pytest.param("ollama_generate", {"think": False}, {"effort": "none"}),
        pytest.param("ollama_chat", {"format": "json"}, {"json_schema": True}),
        pytest.param("ollama_chat", {"format": SCHEMA}, {"json_schema": True}),
        pytest.param("ollama_generate", {"format": ""}, {"json_schema": False}),
        pytest.param("ollama_chat", {"tools": [TOOL]}, {"has_tools": True}),
        pytest.param(
            "ollama_chat",
            {"options": {"num_predict": 5, "num_ctx": 4096}},
            {"max_tokens": 5, "max_tokens_key": "options.num_predict"},
        ),
        pytest.param(
            "ollama_chat", {"options": {"num_predict": -2}}, {"max_tokens": None}
        ),
        pytest.param("ollama_chat", {"options": [5]}, {"max_tokens": None}),
        pytest.param(
            "ollama_chat",
            {"messages": [{"role": "user", "images": ["iVBO"]}]},
            {"images": True},
        ),
        pytest.param("ollama_generate", {"images": ["iVBO"]}, {"images": True}),
        pytest.param("ollama_generate", {"images": []}, {"images": False}),
        pytest.param("ollama_chat", {"messages": []}, {"last_role": None}),
    ],
)
def test_facts_are_read_in_every_dialect(dialect, fields, facts):
    bare = {"messages": [USER]} if dialect == "messages" else {}
    found = facts_of(dialect, {**bare, **fields})
    assert {name: getattr(found, name) for name in facts} == facts


def test_ollama_takes_a_request_without_messages_to_load_a_model():
    assert facts_of("ollama_chat", {"model": "m"}).model == "m"


def test_messages_demand_a_list_of_messages():
    with pytest.raises(WireError, match=r"messages request: .* wanted a list"):
        facts_of("messages", {"messages": {"role": "user"}})


MEMBERS = ["messages", "input", "prompt", "tools", "n", "options", "images", "text"]


@given(
    st.dictionaries(
        st.sampled_from([*MEMBERS, *Thinking.__struct_fields__]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=3),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["type", "role", "content", "format"]), inner
                )
            ),
            max_leaves=6,
        ),
        max_size=5,
    )
)
def test_members_of_any_shape_are_read_or_refused_in_words(body):
    for dialect in DIALECTS:
        try:
            assert facts_of(dialect, body).dialect == dialect
        except WireError as error:
            assert "wanted a list" in str(error)  # noqa: PT017 (both ways are fine)
