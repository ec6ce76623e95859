"""Turns that are not streamed: watched all the same, and answered with one body."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import ollama
import openai
import pytest

from cases import ANSWER
from dialects import DIALECTS, LOOK, script
from got import Got
from mitm import ROOT, Proxy, mitmdump, run_mitmdump
from scripted import LOOP, OPENING, SSE, Asked, Hangup, Reply, Scripted, chunk, scripted

CHAT = "/v1/chat/completions"
PATHS = (CHAT, *(d.path for d in DIALECTS.values() if "vllm" not in d.path))
OLLAMAS = ("/api/chat", "/api/generate")
TEXTS = ("/v1/completions", "/completion", "/api/generate")
WITH_CALLS = tuple(path for path in PATHS if path not in TEXTS)
JSON = "application/json; charset=utf-8"
"""As llama.cpp and Ollama call it."""


def whole_script(asked: Asked) -> Reply | None:
    """Speak as ever, but fail midway where that is asked for."""
    if b"error midway" in asked.body:
        frame = b'data: {"error":{"message":"out of memory","code":503}}\n\n'
        return Reply(iter([chunk({"reasoning_content": "Hm"}), frame]), headers=SSE)
    if b"refused at once" in asked.body:
        return Reply(b'{"error":{"message":"no"}}', 400)
    for dialect in DIALECTS.values():
        if dialect.path == asked.path:
            events = dialect.stream(_words(), ())
            kind = dict(dialect.kind)
            break
    else:
        events, kind = (chunk({"reasoning_content": w}) for w in _words()), SSE
    if b"hangs up" in asked.body:
        return Reply(_hanging_up(events), headers=kind)
    if b"endless" in asked.body:
        return Reply(events, headers=kind)
    return script(asked)


def _words() -> Iterator[str]:
    for number in range(400):
        time.sleep(0.05)
        yield hashlib.sha256(str(number).encode()).hexdigest() + " "


def _hanging_up(events: Iterator[bytes]) -> Iterator[bytes]:
    yield next(events)
    raise Hangup


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    with scripted(whole_script) as state:
        yield state


class Proxies:
    """One before llama.cpp and one before Ollama, by what is asked."""

    def __init__(self, llama: Proxy, ollama: Proxy) -> None:
        self.llama, self.ollama = llama, ollama

    def __getitem__(self, path: str) -> Proxy:
        return self.ollama if path in OLLAMAS else self.llama


@pytest.fixture(scope="module")
def proxies(
    engine: Scripted, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxies]:
    options = ("--set", "guard_budget=low:40,default:0")
    ollama = (*options, "--set", "guard_engine=ollama")
    with (
        mitmdump(engine.url, tmp_path_factory.mktemp("llama"), *options) as one,
        mitmdump(engine.url, tmp_path_factory.mktemp("ollama"), *ollama) as other,
    ):
        yield Proxies(one, other)


@pytest.fixture(scope="module")
def proxy(proxies: Proxies) -> Proxy:
    return proxies.llama


def body(path: str, case: str) -> dict[str, Any]:
    for dialect in DIALECTS.values():
        if dialect.path == path:
            told = {**dialect.body(case), "stream": False}
            told.pop("stream_options", None)
            return told
    messages = [{"role": "user", "content": case}]
    return {"model": "m", "messages": messages, "max_tokens": 5000}


def post(proxy: Proxy | Proxies, path: str, case: str, **more: Any) -> httpx.Response:
    url = (proxy[path] if isinstance(proxy, Proxies) else proxy).url
    return httpx.post(url + path, json={**body(path, case), **more}, timeout=30)


def read(path: str, response: httpx.Response) -> Got:
    assert response.status_code == 200
    assert response.headers["content-type"] == JSON
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
    elif path in OLLAMAS:
        said = told.get("message") or {"content": told.get("response"), **told}
        got.content, got.reasoning = said["content"], said.get("thinking", "")
        got.finish, got.output_tokens = told["done_reason"], told["eval_count"]
        calls = [call["function"] for call in said.get("tool_calls", ())]
        got.calls = [(c["name"], json.dumps(c["arguments"])) for c in calls]
    elif path in TEXTS:
        (choice,) = told.get("choices") or [{**told, "text": told.get("content")}]
        got.reasoning, _, got.content = choice["text"].partition("\n</think>\n\n")
        got.reasoning = got.reasoning.removeprefix("<think>\n")
        got.finish = choice.get("finish_reason") or choice["stop_type"]
        usage = told.get("usage") or {"completion_tokens": told.get("tokens_predicted")}
        got.output_tokens = usage["completion_tokens"]
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


ENDED = ("stop", "end_turn", "completed", "eos")
CUT = ("length", "max_tokens", "incomplete", "limit")
LOW = {dialect.path: dialect.low for dialect in DIALECTS.values()}


@pytest.mark.parametrize("path", PATHS)
def test_a_healthy_answer_is_one_body(
    proxies: Proxies, engine: Scripted, path: str
) -> None:
    got = read(path, post(proxies, path, "healthy"))
    assert engine.asked[-1].json["stream"] is True
    assert (got.reasoning, got.content) == ("".join(OPENING), "".join(ANSWER))
    assert got.finish in ENDED


@pytest.mark.parametrize("path", PATHS)
def test_a_spent_budget_is_handed_off_in_one_body(proxies: Proxies, path: str) -> None:
    low = LOW.get(path, {"reasoning_effort": "low"})
    got = read(path, post(proxies, path, "loop", **low))
    assert got.content == "".join(ANSWER)
    assert 100 < len(got.reasoning) < 300
    assert "budget 40 for effort low" in proxies[path].log


@pytest.mark.parametrize("path", PATHS)
def test_a_loop_is_handed_off_in_one_body(proxies: Proxies, path: str) -> None:
    got = read(path, post(proxies, path, "loop"))
    assert got.content == "".join(ANSWER)
    assert "".join([*OPENING, *LOOP]).startswith(got.reasoning)
    assert len(got.reasoning) < len("".join(LOOP)) / 2
    assert got.finish in ENDED
    assert got.output_tokens
    assert got.output_tokens > 100


@pytest.mark.parametrize("path", WITH_CALLS)
def test_a_tool_call_of_phase_2_is_in_the_body(proxies: Proxies, path: str) -> None:
    function = {"name": "look"}
    tools = [{"type": "function", "function": function}] if path in OLLAMAS else []
    got = read(path, post(proxies, path, "calls", tools=tools))
    assert got.calls == [LOOK]


def test_ollamas_client_reads_a_body(proxies: Proxies) -> None:
    client = ollama.Client(host=proxies.ollama.url)
    messages = [{"role": "user", "content": "loop"}]
    chat = client.chat("m", messages, stream=False)
    assert chat.message.content == "".join(ANSWER)
    assert len(chat.message.thinking or "") > 100
    assert (chat.done, chat.done_reason) == (True, "stop")
    generated = client.generate("m", "loop", stream=False)
    assert generated.response == "".join(ANSWER)


def test_openais_client_reads_a_body(proxy: Proxy) -> None:
    client = openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="none", max_retries=0)
    (choice,) = client.completions.create(model="m", prompt="loop").choices
    assert choice.text.endswith("\n</think>\n\n" + "".join(ANSWER))
    assert choice.finish_reason == "stop"


def test_half_a_tool_call_of_a_chat_is_cut(proxy: Proxy) -> None:
    assert read(CHAT, post(proxy, CHAT, "dies-calling")).finish == "length"


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
def test_half_a_tool_call_is_an_error(proxy: Proxy, path: str) -> None:
    response = post(proxy, path, "dies-calling")
    assert response.status_code == 500
    assert response.json()["error"]["message"]


@pytest.mark.parametrize("path", PATHS)
def test_a_failing_phase_2_is_a_cut_body(proxies: Proxies, path: str) -> None:
    got = read(path, post(proxies, path, "dies"))
    assert got.content == "It is"
    assert got.finish in CUT


def test_an_error_inside_the_stream_has_its_status(proxy: Proxy) -> None:
    response = post(proxy, CHAT, "error midway")
    assert response.status_code == 503
    assert response.json()["error"]["message"] == "out of memory"


@pytest.mark.parametrize("path", PATHS)
def test_a_refusal_passes_as_it_is(proxies: Proxies, path: str) -> None:
    response = post(proxies, path, "refused at once")
    assert (response.status_code, response.text) == (
        400,
        '{"error":{"message":"no"}}',
    )


@pytest.mark.parametrize("path", PATHS)
def test_an_engine_that_hangs_up_is_a_bad_gateway(proxies: Proxies, path: str) -> None:
    assert post(proxies, path, "hangs up").status_code == 502


@pytest.mark.parametrize(
    ("path", "case", "cut"),
    [
        *((path, "endless", 1) for path in (CHAT, "/completion", "/api/chat")),
        *((path, "slow", 2) for path in (CHAT, "/v1/messages", "/api/generate")),
    ],
)
def test_a_client_that_leaves_stops_the_engine(
    proxies: Proxies, engine: Scripted, path: str, case: str, cut: int
) -> None:
    before = len(engine.cut)
    url = proxies[path].url + path
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(url, json=body(path, case), timeout=2)
    engine.wait_cut(before + cut)


def test_the_connection_is_reused(proxy: Proxy) -> None:
    with httpx.Client(timeout=30) as client:
        for case in ("loop", "healthy", "loop"):
            response = client.post(proxy.url + CHAT, json=body(CHAT, case))
            assert read(CHAT, response).content == "".join(ANSWER)


def test_the_saved_flow_has_the_body_of_the_client(
    tmp_path: Path, engine: Scripted
) -> None:
    with mitmdump(engine.url, tmp_path) as proxy:
        answer = post(proxy, CHAT, "loop").content
        time.sleep(0.3)
        flows = [f for f in proxy.stop() if f.request.path == CHAT]
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
    ("path", "more"),
    [
        pytest.param(CHAT, {"logprobs": True}, id="logprobs"),
        pytest.param(CHAT, {"n": 2}, id="several choices"),
        pytest.param(CHAT, {"stop": ["END"]}, id="stop words"),
        pytest.param(CHAT, {"max_tokens": 20}, id="too short to run away"),
        pytest.param(
            CHAT,
            {"messages": [{"role": "assistant", "content": "So"}]},
            id="a prefilled message",
        ),
        pytest.param("/completion", {"return_tokens": True}, id="tokens"),
        pytest.param("/completion", {"response_fields": ["content"]}, id="fields"),
        pytest.param("/v1/completions", {"prompt": ["a", "b"]}, id="several prompts"),
        pytest.param("/v1/responses", {"previous_response_id": "r"}, id="held"),
        pytest.param("/api/chat", {"logprobs": True}, id="logprobs of Ollama"),
    ],
)
def test_what_cannot_be_rebuilt_is_not_touched(
    proxies: Proxies, engine: Scripted, path: str, more: dict[str, Any]
) -> None:
    sent = {**body(path, "healthy"), **more}
    httpx.post(proxies[path].url + path, json=sent, timeout=30)
    assert engine.asked[-1].json == sent


def test_engines_whose_bodies_are_not_rebuilt_are_not_touched(
    tmp_path: Path, engine: Scripted
) -> None:
    with mitmdump(engine.url, tmp_path, "--set", "guard_engine=vllm") as proxy:
        for path in PATHS:
            post(proxy, path, "healthy")
            assert engine.asked[-1].json == body(path, "healthy")
