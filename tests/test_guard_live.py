"""The guard in front of the real engine, with the official client as strict parser."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI, OpenAI

from engine import Engine
from mitm import Proxy, mitmdump
from prompts import HEALTHY, LOOPING, Prompt

LOOP = LOOPING[0]
ANSWER_TOKENS = 700


@pytest.fixture(scope="module")
def proxy(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    option = ("--set", "guard_closing=I will answer now.")
    folder = tmp_path_factory.mktemp("live")
    with mitmdump(engine.url, folder, *option) as running:
        yield running


def request(prompt: Prompt, **more: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "messages": list(prompt.messages),
        "temperature": 0,
        "max_tokens": ANSWER_TOKENS,
        **more,
    }


class Seen:
    """What a client got, chunk by chunk."""

    def __init__(self) -> None:
        self.reasoning = self.answer = ""
        self.finishes: list[str] = []
        self.usages: list[Any] = []
        self.ids: set[str] = set()

    def add(self, chunk: Any) -> None:
        self.ids.add(chunk.id)
        if chunk.usage:
            self.usages.append(chunk.usage)
        for choice in chunk.choices:
            assert not self.finishes, "nothing may follow the finish"
            if choice.finish_reason:
                self.finishes.append(choice.finish_reason)
            self.reasoning += getattr(choice.delta, "reasoning_content", None) or ""
            self.answer += choice.delta.content or ""


def check(seen: Seen) -> None:
    """One well-formed response: reasoning, then an answer."""
    assert len(seen.reasoning) > 100
    assert seen.answer.strip()
    assert seen.finishes in (["stop"], ["length"])
    assert len(seen.ids) == 1
    (usage,) = seen.usages
    reasoning_tokens = usage.completion_tokens_details.reasoning_tokens
    assert 0 < reasoning_tokens < usage.completion_tokens <= ANSWER_TOKENS
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def idle_within_a_second(engine: Engine) -> bool:
    end = time.monotonic() + 1
    while time.monotonic() < end:
        if engine.busy_slots() == 0:
            return True
        time.sleep(0.02)
    return False


def test_a_real_loop_is_stopped_and_answered(proxy: Proxy) -> None:
    client = OpenAI(base_url=f"{proxy.url}/v1", api_key="none")
    usage = {"include_usage": True}
    seen = Seen()
    stream: Any = client.chat.completions.create(
        **request(LOOP), stream=True, stream_options=usage
    )
    for chunk in stream:
        seen.add(chunk)
    check(seen)


@pytest.mark.anyio
async def test_the_async_client_gets_the_same(proxy: Proxy) -> None:
    client = AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="none")
    usage = {"include_usage": True}
    seen = Seen()
    stream: Any = await client.chat.completions.create(
        **request(LOOP), stream=True, stream_options=usage
    )
    async for chunk in stream:
        seen.add(chunk)
    check(seen)


def test_phase_2_starts_from_the_cache(proxy: Proxy, engine: Engine) -> None:
    """At least 95 % of what is handed on is cached; the closing words are new."""
    post(proxy.url, request(LOOP, stream=True))
    line = proxy.wait_for(r"strategy continue.*cached")
    cached, prompt = map(int, re.findall(r"(\d+) of (\d+) prompt tokens", line)[0])
    ending = "\n\nI will answer now.\n</think>\n\n"
    told = httpx.post(f"{engine.url}/tokenize", json={"content": ending}).json()
    handed_on = prompt - len(told["tokens"])
    print("phase 2:", line.partition("guard: ")[2])
    assert cached >= 0.95 * handed_on


def test_a_real_budget_trips(engine: Engine, tmp_path: Path) -> None:
    options = ("--set", "guard_budget=default:60", "--set", "guard_detectors=toolcalls")
    with mitmdump(engine.url, tmp_path, *options) as proxy:
        post(proxy.url, request(LOOP, stream=True, max_tokens=200))
        line = proxy.wait_for("tripped by budget")
    # the engine counts; what came in the same chunk may be a few tokens more
    tokens = int(re.findall(r"at (\d+) reasoning tokens \(engine\)", line)[0])
    assert 60 <= tokens < 70


def test_a_healthy_answer_keeps_every_byte(proxy: Proxy, engine: Engine) -> None:
    body = request(HEALTHY[0], stream=True, stream_options={"include_usage": True})
    post(engine.url, body)  # so that both find the same cache
    direct = post(engine.url, body)
    assert normal(post(proxy.url, body)) == normal(direct)
    plain = request(HEALTHY[0], stream=True)
    assert normal(post(proxy.url, plain)) == normal(post(engine.url, plain))


@pytest.mark.parametrize("action", ["observe", "cut"])
def test_other_actions_on_a_real_loop(
    engine: Engine, tmp_path: Path, action: str
) -> None:
    body = request(LOOP, stream=True, max_tokens=350)
    with mitmdump(engine.url, tmp_path, "--set", f"guard_action={action}") as proxy:
        got = normal(post(proxy.url, body))
        proxy.wait_for(f"action {action}")
    assert got.endswith(b"data: [DONE]\n\n")
    assert got.count(b'"finish_reason":"length"') == 1
    assert b'"content":"' not in got
    if action == "observe":
        assert got == normal(post(engine.url, body))
    else:
        assert idle_within_a_second(engine)


def test_a_client_that_leaves_frees_the_slot(proxy: Proxy, engine: Engine) -> None:
    for mark in (b"reasoning_content", b'"content":"'):
        leave(proxy, request(LOOP, stream=True, max_tokens=4000), mark)
        assert idle_within_a_second(engine), mark


def test_a_connection_serves_spliced_turns_one_after_another(proxy: Proxy) -> None:
    with httpx.Client(timeout=120) as client:
        url = f"{proxy.url}/v1/chat/completions"
        for prompt in (LOOP, HEALTHY[0], LOOP):
            answer = client.post(url, json=request(prompt, stream=True)).content
            assert answer.endswith(b"data: [DONE]\n\n")
            assert answer.count(b"[DONE]") == 1


def post(url: str, body: dict[str, Any]) -> bytes:
    return httpx.post(f"{url}/v1/chat/completions", json=body, timeout=120).content


def normal(stream: bytes) -> bytes:
    """Take out what differs between any two answers: ids and times."""
    stream = re.sub(rb'"id":"chatcmpl-\w+"', b'"id":""', stream)
    stream = re.sub(rb'"created":\d+', b'"created":0', stream)
    return re.sub(rb'"(\w+_ms|\w+_per_second)":[\d.e+-]+', rb'"\1":0', stream)


def leave(proxy: Proxy, body: dict[str, Any], mark: bytes) -> None:
    url = f"{proxy.url}/v1/chat/completions"
    with httpx.stream("POST", url, json=body, timeout=120) as response:
        seen = b""
        for part in response.iter_raw():
            seen += part
            if seen.count(mark) > 5:
                return
    raise AssertionError(f"ended before {mark!r} came")
