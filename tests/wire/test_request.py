import json

import pytest

from trackside.wire.errors import WireError
from trackside.wire.request import ChatRequest, parse

USER = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


def request(**fields):
    return parse(json.dumps({"messages": [USER], **fields}).encode())


def test_a_bare_request_asks_for_nothing_special():
    assert request() == ChatRequest(
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
        json_schema=False,
        images=False,
        last_role="user",
        effort=None,
        budget_tokens=None,
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
    assert (parse(body).n, parse(body).last_role) == (2, "user")


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
        parse(body)
