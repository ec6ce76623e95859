"""The guard in every dialect the real engine serves, with the official clients."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from anthropic import Anthropic
from openai import OpenAI

from asking import wait_until
from engine import Engine
from mitm import Proxy, mitmdump
from prompts import HEALTHY, LOOPING

ANSWER_TOKENS = 700
CLOSING = "I will answer now."
COMPLETED = r"strategy completion.* (\d+) of (\d+) prompt tokens cached"
CACHED = r"strategy continue.* (\d+) of (\d+) prompt tokens cached"


@pytest.fixture(scope="module")
def proxy(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    option = ("--set", f"guard_closing={CLOSING}")
    folder = tmp_path_factory.mktemp("live")
    with mitmdump(engine.url, folder, *option) as running:
        yield running


def handed_off(proxy: Proxy, before: int) -> None:
    """Check that the last turn was, and that phase 2 began from the cache.

    Parameters:
        before: turns that were handed off earlier.
    """
    wait_until(lambda: handoffs(proxy) > before)
    cached, prompt = map(int, re.findall(CACHED, proxy.log)[-1])
    assert prompt - cached < 20  # the closing words and tags


def handoffs(proxy: Proxy) -> int:
    return len(re.findall(CACHED, proxy.log))


def test_anthropic_gets_a_handed_off_answer(proxy: Proxy) -> None:
    client = Anthropic(base_url=proxy.url, api_key="none")
    before = handoffs(proxy)
    with client.messages.stream(
        model="m",
        max_tokens=ANSWER_TOKENS,
        extra_body={"temperature": 0},
        messages=list(LOOPING[0].messages),
    ) as stream:
        message = stream.get_final_message()
    thinking, text = message.content
    assert (thinking.type, text.type) == ("thinking", "text")
    assert len(thinking.thinking) > 100
    assert thinking.signature == ""
    assert text.text.strip()
    assert message.stop_reason in ("end_turn", "max_tokens")
    assert 100 < message.usage.output_tokens <= ANSWER_TOKENS
    handed_off(proxy, before)


def test_openai_responses_get_a_handed_off_answer(proxy: Proxy) -> None:
    client = OpenAI(base_url=f"{proxy.url}/v1", api_key="none")
    before = handoffs(proxy)
    created = client.responses.create(
        model="m",
        max_output_tokens=ANSWER_TOKENS,
        temperature=0,
        input=[dict(m) for m in LOOPING[0].messages],
        stream=True,
    )
    events = list(created)
    assert events[-1].type == "response.completed"
    response = events[-1].response
    reasoning, message = response.output
    assert (reasoning.type, message.type) == ("reasoning", "message")
    assert response.output_text.strip()
    deltas = (e.delta for e in events if e.type == "response.output_text.delta")
    assert response.output_text == "".join(deltas)
    assert response.usage
    assert 100 < response.usage.output_tokens <= ANSWER_TOKENS
    handed_off(proxy, before)


def rendered(engine: Engine) -> str:
    """Return the prompt of a looping turn, its reasoning opened."""
    body = {"messages": list(LOOPING[0].messages)}
    answer = httpx.post(f"{engine.url}/apply-template", json=body, timeout=60)
    return str(answer.json()["prompt"])


def test_text_completions_are_handed_off(proxy: Proxy, engine: Engine) -> None:
    client = OpenAI(base_url=f"{proxy.url}/v1", api_key="none")
    before = len(re.findall(COMPLETED, proxy.log))
    chunks = list(
        client.completions.create(
            model="m",
            prompt=rendered(engine),
            max_tokens=ANSWER_TOKENS,
            temperature=0,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(c.choices[0].text for c in chunks if c.choices)
    reasoning, closer, answer = text.partition("\n</think>\n\n")
    assert closer
    assert len(reasoning) > 100
    assert answer.strip()
    assert len({chunk.id for chunk in chunks}) == 1
    (usage,) = [chunk.usage for chunk in chunks if chunk.usage]
    assert 100 < usage.completion_tokens <= ANSWER_TOKENS
    wait_until(lambda: len(re.findall(COMPLETED, proxy.log)) > before)
    cached, prompt = map(int, re.findall(COMPLETED, proxy.log)[-1])
    assert prompt - cached < 20


def test_native_completions_are_handed_off(proxy: Proxy, engine: Engine) -> None:
    body = {"prompt": rendered(engine), "temperature": 0, "stream": True}
    body["n_predict"] = ANSWER_TOKENS
    raw = post(f"{proxy.url}/completion", body).text
    frames = [json.loads(part[6:]) for part in raw.split("\n\n")[:-1]]
    assert [frame["stop"] for frame in frames] == [False] * (len(frames) - 1) + [True]
    text = "".join(frame["content"] for frame in frames)
    assert text.partition("\n</think>\n\n")[2].strip()
    assert frames[-1]["stop_type"] in ("eos", "limit")
    assert 100 < frames[-1]["tokens_predicted"] <= ANSWER_TOKENS


def test_turns_that_are_not_streamed_are_handed_off(proxy: Proxy) -> None:
    client = OpenAI(base_url=f"{proxy.url}/v1", api_key="none")
    messages: Any = list(LOOPING[0].messages)
    limit = {"max_tokens": ANSWER_TOKENS, "temperature": 0}
    before = handoffs(proxy)
    chat = client.chat.completions.create(model="m", messages=messages, **limit)
    message = chat.choices[0].message
    assert len(message.reasoning_content) > 100
    assert message.content
    assert message.content.strip()
    assert chat.usage
    assert 100 < chat.usage.completion_tokens <= ANSWER_TOKENS
    handed_off(proxy, before)
    anthropic = Anthropic(base_url=proxy.url, api_key="none").messages.create(
        model="m",
        max_tokens=ANSWER_TOKENS,
        extra_body={"temperature": 0},
        messages=messages,
    )
    assert [block.type for block in anthropic.content] == ["thinking", "text"]
    handed_off(proxy, before + 1)
    response = client.responses.create(
        model="m", max_output_tokens=ANSWER_TOKENS, temperature=0, input=messages
    )
    assert [item.type for item in response.output] == ["reasoning", "message"]
    assert response.output_text.strip()
    handed_off(proxy, before + 2)


@pytest.mark.parametrize(
    ("path", "limit"), [("/v1/completions", "max_tokens"), ("/completion", "n_predict")]
)
def test_texts_that_are_not_streamed_are_handed_off(
    proxy: Proxy, engine: Engine, path: str, limit: str
) -> None:
    body = {"prompt": rendered(engine), "temperature": 0, limit: ANSWER_TOKENS}
    before = len(re.findall(COMPLETED, proxy.log))
    told = post(proxy.url + path, body).json()
    (choice,) = told.get("choices") or [{"text": told["content"]}]
    reasoning, closer, answer = choice["text"].partition("\n</think>\n\n")
    assert closer
    assert len(reasoning) > 100
    assert answer.strip()
    tokens = told.get("usage", told)
    count = tokens.get("completion_tokens", tokens.get("tokens_predicted"))
    assert 100 < count <= ANSWER_TOKENS
    wait_until(lambda: len(re.findall(COMPLETED, proxy.log)) > before)


BODIES: dict[str, dict[str, Any]] = {
    "/v1/completions": {"prompt": "The capital of France is", "max_tokens": 40},
    "/completion": {"prompt": "The capital of France is", "n_predict": 40},
    "/v1/chat/completions": {"messages": list(HEALTHY[0].messages), "max_tokens": 700},
    "/v1/messages": {"messages": list(HEALTHY[0].messages), "max_tokens": 700},
    "/v1/responses": {
        "input": HEALTHY[0].messages[-1]["content"],
        "max_output_tokens": 700,
    },
}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("path", BODIES)
def test_a_healthy_answer_is_the_engines(
    proxy: Proxy, engine: Engine, path: str, stream: bool
) -> None:
    """Streams keep every byte; bodies every value, in order, and header."""
    body = {"model": "m", "temperature": 0, "stream": stream, **BODIES[path]}
    post(engine.url + path, body)  # so that both find the same cache
    direct, got = post(engine.url + path, body), post(proxy.url + path, body)
    assert direct.status_code == got.status_code == 200
    if stream:
        assert normal(got.content) == normal(direct.content)
        return
    assert members(normal(got.content)) == members(normal(direct.content))
    assert set(got.headers) == set(direct.headers)
    kind = "content-type"
    assert got.headers[kind] == direct.headers[kind]


def post(url: str, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(url, json=body, timeout=120)


def members(body: bytes) -> Any:
    """Read JSON, with members in their order."""
    return json.loads(body, object_pairs_hook=list)


def normal(stream: bytes) -> bytes:
    """Take out what differs between any two answers: ids and times."""
    stream = re.sub(rb'"((?:item_)?id)":"(?:\w+[-_])\w+"', rb'"\1":""', stream)
    stream = re.sub(rb'"(created|created_at|completed_at)":\d+', rb'"\1":0', stream)
    return re.sub(rb'"(\w+_ms|\w+_per_second)":[\d.e+-]+', rb'"\1":0', stream)
