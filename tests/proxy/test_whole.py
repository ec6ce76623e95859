"""Turns that are not streamed: watched all the same, and answered with one body."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cases import ANSWER
from dialects import LOOK, script
from got import Got
from mitm import ROOT, Proxy, mitmdump, run_mitmdump
from scripted import LOOP, OPENING, SSE, Asked, Hangup, Reply, Scripted, chunk, scripted

PATHS = ("/v1/chat/completions", "/v1/messages", "/v1/responses")


def whole_script(asked: Asked) -> Reply | None:
    """Speak as ever, but fail midway where that is asked for."""
    if b"error midway" in asked.body:
        frame = b'data: {"error":{"message":"out of memory","code":503}}\n\n'
        return Reply(iter([chunk({"reasoning_content": "Hm"}), frame]), headers=SSE)
    if b"refused at once" in asked.body:
        return Reply(b'{"error":{"message":"no"}}', 400)
    if b"hangs up" in asked.body:
        return Reply(_hanging_up(), headers=SSE)
    if b"endless" in asked.body:
        return Reply(_endless(), headers=SSE)
    return script(asked)


def _endless() -> Iterator[bytes]:
    for number in range(400):
        time.sleep(0.05)
        word = hashlib.sha256(str(number).encode()).hexdigest()
        yield chunk({"reasoning_content": f"{word} "})


def _hanging_up() -> Iterator[bytes]:
    yield chunk({"reasoning_content": "Hm"})
    raise Hangup


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    with scripted(whole_script) as state:
        yield state


@pytest.fixture(scope="module")
def proxy(
    engine: Scripted, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    with mitmdump(engine.url, tmp_path_factory.mktemp("whole")) as running:
        yield running


def body(path: str, case: str) -> dict[str, Any]:
    if path == "/v1/responses":
        return {"model": "m", "input": case, "max_output_tokens": 5000}
    messages = [{"role": "user", "content": case}]
    return {"model": "m", "messages": messages, "max_tokens": 5000}


def post(proxy: Proxy, path: str, case: str) -> httpx.Response:
    return httpx.post(proxy.url + path, json=body(path, case), timeout=30)


def read(path: str, response: httpx.Response) -> Got:
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert int(response.headers["content-length"]) == len(response.content)
    assert "transfer-encoding" not in response.headers
    told, got = response.json(), Got()
    if path == "/v1/chat/completions":
        (choice,) = told["choices"]
        message = choice["message"]
        got.content = message["content"]
        got.reasoning = message.get("reasoning_content", "")
        got.finish = choice["finish_reason"]
        calls = [call["function"] for call in message.get("tool_calls", ())]
        got.calls = [(call["name"], call["arguments"]) for call in calls]
        got.output_tokens = told.get("usage", {}).get("completion_tokens")
    elif path == "/v1/messages":
        got.finish = told["stop_reason"]
        got.output_tokens = told["usage"]["output_tokens"]
        for block in told["content"]:
            got.content += block.get("text", "")
            got.reasoning += block.get("thinking", "")
            if block["type"] == "tool_use":
                got.calls.append((block["name"], json.dumps(block["input"])))
    else:
        got.finish = told["status"]
        got.output_tokens = told["usage"]["output_tokens"]
        for item in told["output"]:
            text = "".join(part["text"] for part in item.get("content", ()))
            got.content += text if item["type"] == "message" else ""
            got.reasoning += text if item["type"] == "reasoning" else ""
            if item["type"] == "function_call":
                got.calls.append((item["name"], item["arguments"]))
    return got


@pytest.mark.parametrize("path", PATHS)
def test_a_healthy_answer_is_one_body(proxy: Proxy, path: str) -> None:
    got = read(path, post(proxy, path, "healthy"))
    assert (got.reasoning, got.content) == ("".join(OPENING), "".join(ANSWER))
    assert got.finish in ("stop", "end_turn", "completed")


@pytest.mark.parametrize("path", PATHS)
def test_a_loop_is_handed_off_in_one_body(proxy: Proxy, path: str) -> None:
    got = read(path, post(proxy, path, "loop"))
    assert got.content == "".join(ANSWER)
    assert "".join([*OPENING, *LOOP]).startswith(got.reasoning)
    assert len(got.reasoning) < len("".join(LOOP)) / 2
    assert got.finish in ("stop", "end_turn", "completed")
    assert got.output_tokens
    assert got.output_tokens > 100


@pytest.mark.parametrize("path", PATHS)
def test_a_tool_call_of_phase_2_is_in_the_body(proxy: Proxy, path: str) -> None:
    assert read(path, post(proxy, path, "calls")).calls == [LOOK]


def test_half_a_tool_call_of_a_chat_is_cut(proxy: Proxy) -> None:
    assert read(PATHS[0], post(proxy, PATHS[0], "dies-calling")).finish == "length"


@pytest.mark.parametrize("path", PATHS[1:])
def test_half_a_tool_call_is_an_error(proxy: Proxy, path: str) -> None:
    response = post(proxy, path, "dies-calling")
    assert response.status_code == 500
    assert response.json()["error"]["message"]


@pytest.mark.parametrize("path", PATHS)
def test_a_failing_phase_2_is_a_cut_body(proxy: Proxy, path: str) -> None:
    got = read(path, post(proxy, path, "dies"))
    assert got.content == "It is"
    assert got.finish in ("length", "max_tokens", "incomplete")


def test_an_error_inside_the_stream_has_its_status(proxy: Proxy) -> None:
    response = post(proxy, PATHS[0], "error midway")
    assert response.status_code == 503
    assert response.json()["error"]["message"] == "out of memory"


def test_a_refusal_passes_as_it_is(proxy: Proxy) -> None:
    response = post(proxy, PATHS[0], "refused at once")
    assert (response.status_code, response.text) == (
        400,
        '{"error":{"message":"no"}}',
    )


def test_an_engine_that_hangs_up_is_a_bad_gateway(proxy: Proxy) -> None:
    assert post(proxy, PATHS[0], "hangs up").status_code == 502


@pytest.mark.parametrize(("case", "cut"), [("endless", 1), ("slow", 2)])
def test_a_client_that_leaves_stops_the_engine(
    proxy: Proxy, engine: Scripted, case: str, cut: int
) -> None:
    before = len(engine.cut)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(proxy.url + PATHS[0], json=body(PATHS[0], case), timeout=2)
    engine.wait_cut(before + cut)


def test_the_connection_is_reused(proxy: Proxy) -> None:
    with httpx.Client(timeout=30) as client:
        for case in ("loop", "healthy", "loop"):
            response = client.post(proxy.url + PATHS[0], json=body(PATHS[0], case))
            assert read(PATHS[0], response).content == "".join(ANSWER)


def test_the_saved_flow_has_the_body_of_the_client(
    tmp_path: Path, engine: Scripted
) -> None:
    with mitmdump(engine.url, tmp_path) as proxy:
        answer = post(proxy, PATHS[0], "loop").content
        time.sleep(0.3)
        flows = [f for f in proxy.stop() if f.request.path == PATHS[0]]
    phase2, turn = sorted(
        flows, key=lambda f: "handoff" in f.metadata["trackside.guard"]
    )
    assert turn.response
    assert turn.response.raw_content == answer
    assert phase2.response
    assert b"blue." in (phase2.response.raw_content or b"")
    addon = ("-s", str(ROOT / "addons/guard.py"))
    done = run_mitmdump(tmp_path, "-nr", str(proxy.capture_path), *addon)
    assert "guard: tripped by" in done.stdout
    assert "strategy continue" in done.stdout


@pytest.mark.parametrize(
    ("engine_name", "more"),
    [
        pytest.param("vllm", {}, id="engine whose bodies are not rebuilt"),
        pytest.param("llama.cpp", {"logprobs": True}, id="logprobs"),
        pytest.param("llama.cpp", {"n": 2}, id="several choices"),
    ],
)
def test_what_cannot_be_rebuilt_is_not_touched(
    tmp_path: Path, engine: Scripted, engine_name: str, more: dict[str, Any]
) -> None:
    option = ("--set", f"guard_engine={engine_name}")
    with mitmdump(engine.url, tmp_path, *option) as proxy:
        httpx.post(
            proxy.url + PATHS[0],
            json={**body(PATHS[0], "healthy"), **more},
            timeout=30,
        )
    assert "stream" not in engine.chats[-1].json
