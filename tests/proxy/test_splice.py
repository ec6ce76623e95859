"""The splice against a scripted engine: what a real one can't be made to do."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import OpenAI

from cases import ANSWER, body, events, finishes, post, script, texts
from mitm import Proxy, mitmdump
from scripted import LOOP, OPENING, Asked, Hangup, Reply, Scripted, scripted


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    with scripted(script) as state:
        yield state


@pytest.fixture(scope="module")
def proxy(
    engine: Scripted, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    with mitmdump(engine.url, tmp_path_factory.mktemp("splice")) as running:
        yield running


@pytest.fixture
def asked(engine: Scripted) -> list[Asked]:
    """The chat requests of this test alone."""
    before = len(engine.chats)

    class Since(list[Asked]):
        def __getitem__(self, at: Any) -> Any:
            return engine.chats[before:][at]

    return Since()


def test_a_loop_is_handed_off_as_one_response(proxy: Proxy, asked: list[Asked]) -> None:
    options = {"stream_options": {"include_usage": True}, "max_tokens": 5000}
    chunks = events(post(proxy, "loop", **options))
    assert texts(chunks, "content") == "".join(ANSWER)
    reasoning = texts(chunks, "reasoning_content")
    assert "".join([*OPENING, *LOOP]).startswith(reasoning)
    assert len(reasoning) < len("".join(LOOP)) / 2
    assert {c["id"] for c in chunks} == {"chatcmpl-1"}
    assert {c["created"] for c in chunks} == {1700000001}
    assert sum("role" in c["choices"][0]["delta"] for c in chunks if c["choices"]) == 1
    assert finishes(chunks) == ["stop"]
    told = [c["usage"] for c in chunks if c.get("usage")]
    assert len(told) == 1
    spent = told[0]["completion_tokens_details"]["reasoning_tokens"]
    assert told[0]["completion_tokens"] == spent + 3
    phase2 = asked[1].json
    assert phase2["max_tokens"] == 5000 - spent
    assert phase2["continue_final_message"] == "content"
    kept = phase2["messages"][-1]["reasoning_content"]
    closing = kept.rpartition("\n\n")
    assert reasoning.startswith(closing[0])
    assert closing[0].count("could be green") < 2


def test_the_official_client_accepts_a_splice(proxy: Proxy) -> None:
    client = OpenAI(base_url=f"{proxy.url}/v1", api_key="secret-key")
    messages: Any = [{"role": "user", "content": "loop"}]
    with client.chat.completions.stream(model="m", messages=messages) as events_:
        final = events_.get_final_completion()
    assert final.choices[0].message.content == "".join(ANSWER)
    assert final.choices[0].finish_reason == "stop"


def test_a_healthy_stream_keeps_every_byte(proxy: Proxy, engine: Scripted) -> None:
    options = {"stream_options": {"include_usage": True}}
    url = f"{engine.url}/v1/chat/completions"
    direct = httpx.post(url, json=body("healthy", **options))
    assert post(proxy, "healthy", **options).content == direct.content


def test_a_refusal_falls_back_to_text_completion(
    proxy: Proxy, engine: Scripted
) -> None:
    chunks = events(post(proxy, "refused", max_tokens=400))
    assert texts(chunks, "content") == "".join(ANSWER)
    assert finishes(chunks) == ["stop"]
    completion = next(a for a in engine.asked if a.path == "/v1/completions").json
    assert completion["prompt"].startswith("<|im_start|>assistant\n<think>\nLet me")
    assert completion["prompt"].endswith("\n</think>\n\n")
    assert "messages" not in completion


@pytest.mark.parametrize(
    ("case", "said"),
    [
        pytest.param("refused-tools", "", id="refused"),
        pytest.param("no-stream", "", id="no stream"),
        pytest.param("error-frame", "", id="error frame"),
        pytest.param("dies", "It is", id="dies midway"),
        pytest.param("loops-again", "", id="reasons again, and loops"),
    ],
)
def test_a_failing_phase_2_ends_the_turn_in_form(
    proxy: Proxy, case: str, said: str
) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    chunks = events(post(proxy, case, tools=tools))
    assert texts(chunks, "content") == said
    assert finishes(chunks) == ["length"]


def test_an_engine_that_vanished_ends_the_turn_in_form(tmp_path: Path) -> None:
    gone = threading.Event()

    def vanishing(asked: Asked) -> Reply | None:
        if gone.is_set():
            raise Hangup
        reply = script(asked)
        if asked.path.endswith("/chat/completions"):
            gone.set()
        return reply

    with scripted(vanishing) as engine, mitmdump(engine.url, tmp_path) as proxy:
        chunks = events(post(proxy, "loop"))
        assert finishes(chunks) == ["length"]
        assert texts(chunks, "content") == ""
        assert "handoff error" in proxy.wait_for("guard: tripped")


def test_text_labelled_as_reasoning_is_content_once_the_block_is_closed(
    tmp_path: Path, engine: Scripted
) -> None:
    option = ("--set", "guard_engine=vllm")
    with mitmdump(engine.url, tmp_path, *option) as proxy:
        chunks = events(post(proxy, "labelled"))
        assert texts(chunks, "content") == "".join(ANSWER)
        assert not any("usage" in c for c in chunks)
        assert all(c["choices"] for c in chunks)


def test_inline_thinking_is_closed_for_the_client(proxy: Proxy) -> None:
    content = texts(events(post(proxy, "inline")), "content")
    thought, closer, answer = content.partition("</think>")
    assert thought.startswith("<think>\n" + "".join(OPENING))
    assert closer
    assert answer.strip() == "".join(ANSWER)


@pytest.mark.parametrize(
    ("case", "more"),
    [
        pytest.param("tool-call", {}, id="after a tool call"),
        pytest.param("opener", {"tools": [{}]}, id="after a tool-call opener"),
        pytest.param("ends-with-the-loop", {}, id="answered in the same chunk"),
        pytest.param("loop", {"n": 2}, id="several choices"),
    ],
)
def test_the_guard_stands_back(
    proxy: Proxy, engine: Scripted, asked: list[Asked], case: str, more: dict[str, Any]
) -> None:
    url = f"{engine.url}/v1/chat/completions"
    direct = httpx.post(url, json=body(case, **more), timeout=30)
    assert post(proxy, case, **more).content == direct.content
    assert len(asked[:]) == 2  # ours and the direct one, no phase 2


def test_the_client_connection_is_reused_after_a_splice(proxy: Proxy) -> None:
    connection = http.client.HTTPConnection(proxy.url.removeprefix("http://"))
    for case in ("loop", "healthy", "loop"):
        headers = {"Content-Type": "application/json"}
        content = json.dumps(body(case))
        connection.request("POST", "/v1/chat/completions", content, headers)
        answer = connection.getresponse().read()
        assert answer.endswith(b"data: [DONE]\n\n")
        assert b"blue." in answer
    # one client connection: a second one would have been logged as such
    peer = connection.sock.getsockname()[1]
    assert proxy.log.count(f"127.0.0.1:{peer}] client connect") == 1


def test_a_client_that_leaves_in_phase_1_stops_the_engine(
    proxy: Proxy, engine: Scripted
) -> None:
    leave(proxy, "loop", after=b"colours")
    engine.wait_cut(len(engine.cut) + 1)


def test_a_client_that_leaves_in_phase_2_stops_the_engine(
    proxy: Proxy, engine: Scripted
) -> None:
    before = len(engine.cut)
    leave(proxy, "slow", after=b"blue.")
    engine.wait_cut(before + 2)  # phase 1 by the guard, phase 2 by the client
    proxy.wait_for("ended None by client")


def leave(proxy: Proxy, case: str, after: bytes) -> None:
    """Read until some bytes came, then close."""
    url = f"{proxy.url}/v1/chat/completions"
    with httpx.stream("POST", url, json=body(case), timeout=30) as response:
        seen = b""
        for part in response.iter_raw():
            seen += part
            if after in seen:
                return
    raise AssertionError("ended before it could be left")


def test_both_flows_are_saved_and_linked(tmp_path: Path, engine: Scripted) -> None:
    with mitmdump(engine.url, tmp_path) as proxy:
        answer = post(proxy, "loop").content
        time.sleep(0.3)
        flows = [f for f in proxy.stop() if f.request.path.endswith("completions")]
    phase2, turn = sorted(
        flows, key=lambda f: "handoff" in f.metadata["trackside.guard"]
    )
    record = turn.metadata["trackside.guard"]
    assert record["handoff"]["flow_id"] == phase2.id
    assert phase2.metadata["trackside.guard"]["phase1"] == turn.id
    assert turn.response
    assert turn.response.raw_content == answer
    assert phase2.response
    assert b"blue." in (phase2.response.raw_content or b"")
    assert (record["tripped"], record["strategy"]) == (True, "continue")
    assert turn.marked == ":repeat:"
    assert "guard tripped by" in turn.comment
