"""What each engine is told on a trip, and what it may do with that.

The scripts answer in the shapes that were captured of vLLM and mlx-lm, and for the
others in those their sources give.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from cases import ANSWER, body, events, finishes, text_completion, texts
from dialects import DIALECTS
from mitm import mitmdump
from scripted import (
    LOOP,
    OPENING,
    SSE,
    Asked,
    Reply,
    Script,
    Scripted,
    chunk,
    scripted,
    stream,
    usage,
)

PROMPT = list(range(100, 130))
ENDING = list(range(500, 540))
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
BEFORE = """The jacket hangs by the door, its lining torn where somebody caught a nail
on a windy evening. Rain has soaked the garden since Tuesday, yet nobody moved those
chairs inside. My uncle paints boats for fishermen along this coast; he mixes pigment
with linseed oil, then waits nine days before a second coat. What matters here is if
sunlight, salt or plain age turned that old cloth into what we see now. """
THOUGHTS = [*OPENING, *(f"{word} " for word in BEFORE.split()), *LOOP]


def talk(
    key: str, reasoning: list[str], content: list[str], prompt: int, **more: Any
) -> Iterator[bytes]:
    """Yield an answer that tells its counts on every chunk, as vLLM can."""
    said = [(key, text) for text in reasoning] + [("content", t) for t in content]
    told = {"usage": usage(prompt, 0)}
    yield chunk({"role": "assistant", "content": ""}, **told, **more)
    for done, (name, text) in enumerate(said, 1):
        time.sleep(0.001)
        yield chunk({name: text}, usage=usage(prompt, done), **more)
    yield chunk({}, finish_reason="stop", usage=usage(prompt, len(said)), **more)
    tail = {"choices": [], "usage": usage(prompt, len(said)), **more}
    yield b"data: " + json.dumps(tail).encode() + b"\n\ndata: [DONE]\n\n"


def streaming(*args: Any, **more: Any) -> Reply:
    return Reply(talk(*args, **more), headers=SSE)


def models(owner: str) -> Reply:
    told = {"data": [{"id": "m", "owned_by": owner}]}
    return Reply(json.dumps(told).encode())


def vllm(asked: Asked) -> Reply | None:
    """Honour token ids, unless the case says that it is an old one."""
    if asked.path == "/v1/models":
        return models("vllm")
    if asked.path == "/tokenize":
        if b"bare" in asked.body:
            return None
        tokens = PROMPT if "messages" in asked.json else ENDING
        return Reply(json.dumps({"tokens": tokens, "max_model_len": 4096}).encode())
    if asked.path == "/detokenize":
        return Reply(b'{"prompt":"<|im_start|>assistant\\n<think>\\n"}')
    if asked.path == "/v1/completions":
        return Reply(text_completion(), headers=SSE)
    if not asked.path.endswith("/chat/completions"):
        return None
    case = asked.json["messages"][0]["content"]
    if not asked.continues:
        return streaming("reasoning", THOUGHTS, [], len(PROMPT))
    if case == "old":  # its template drops the reasoning, so it thinks again
        return streaming("reasoning", THOUGHTS, [], len(PROMPT) - 1)
    ids = asked.json.get("kv_transfer_params", {}).get("prompt_token_ids", PROMPT)
    read = len(ids) if "kv_transfer_params" in asked.json else len(PROMPT) + 70
    return streaming("reasoning", [], ANSWER, read, id="chatcmpl-2")


class Sglang:
    """Remembers what was aborted, and how many streams had been closed by then."""

    def __init__(self) -> None:
        self.state: Scripted | None = None
        self.aborted: list[tuple[str, int]] = []

    def __call__(self, asked: Asked) -> Reply | None:
        if asked.path == "/v1/models":
            return models("sglang")
        if asked.path == "/v1/tokenize" and b"older" not in asked.body:
            return Reply(json.dumps({"tokens": PROMPT}).encode())
        if asked.path == "/v1/detokenize":
            return Reply(b'{"text":"assistant\\n"}')
        if asked.path == "/abort_request":
            assert self.state
            self.aborted.append((asked.json["rid"], len(self.state.cut)))
            return Reply(b"", 200)
        if not asked.path.endswith("/chat/completions"):
            return None
        slow = ANSWER * (500 if asked.json["messages"][0]["content"] == "slow" else 1)
        if asked.continues:
            return streaming("reasoning_content", [], slow, 99, id="phase-2")
        return streaming("reasoning_content", THOUGHTS, [], 30, id="phase-1")


def mlx_lm(asked: Asked) -> Reply | None:
    if asked.path == "/v1/completions":
        return Reply(text_completion(), headers=SSE)
    if not asked.path.endswith("/chat/completions"):
        return None
    is_off = b'"enable_thinking":false' in asked.body
    if is_off and asked.json["messages"][0]["content"] != "stubborn":
        return Reply(stream(content=ANSWER, usage=usage(31, 3, 28)), headers=SSE)
    thoughts = stream(THOUGHTS, field="reasoning", gap_s=0.001)  # its counts come last
    return Reply(thoughts, headers=SSE)


def omlx(asked: Asked) -> Reply | None:
    if asked.path == "/v1/models":
        return models("omlx")
    if not asked.path.endswith("/chat/completions"):
        return None
    if asked.continues and asked.json["messages"][0]["content"] != "stubborn":
        return streaming("reasoning_content", [], ANSWER, 30)
    return streaming("reasoning_content", THOUGHTS, [], 30)


def simple(key: str, probe: str, told: bytes) -> Script:
    """Return an engine that goes on with a message, and tells what it is if asked."""

    def script(asked: Asked) -> Reply | None:
        if asked.path == probe:
            return Reply(told)
        if not asked.path.endswith("/chat/completions"):
            return None
        said = ([], ANSWER) if asked.continues else (THOUGHTS, [])
        return streaming(key, *said, 30)

    return script


def refusing(script: Script) -> Script:
    """Return an engine that may refuse phase 2, each in its own way."""

    def refuse(asked: Asked) -> Reply | None:
        goes_on = asked.path.endswith("/chat/completions") and (
            asked.continues or b'"enable_thinking":false' in asked.body
        )
        if goes_on and asked.json["messages"][0]["content"] == "refused":
            is_mlx_lm = script is mlx_lm  # its errors are a plain string
            told = '{"error": "no"}' if is_mlx_lm else '{"error":{"message":"no"}}'
            return Reply(told.encode(), 404 if is_mlx_lm else 400)
        return script(asked)

    return refuse


class Engines:
    """All of them behind one proxy, each at its own address."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.sglang = Sglang()
        lmstudio = simple("reasoning_content", "/api/v0/models", b'{"data":[]}')
        ollama = simple("reasoning", "/api/version", b'{"version":"0.33.0"}')
        scripts: dict[str, tuple[Script, str]] = {
            "vllm": (vllm, "uvicorn"),
            "sglang": (self.sglang, "uvicorn"),
            "mlx-lm": (mlx_lm, "BaseHTTP/0.6 Python/3.12.1"),
            "omlx": (omlx, "uvicorn"),
            "lmstudio": (lmstudio, ""),
            "ollama": (ollama, ""),
            "other": (simple("reasoning_content", "", b""), "nginx"),
        }
        self.at = {
            name: stack.enter_context(scripted(refusing(script), server=server))
            for name, (script, server) in scripts.items()
        }
        self.sglang.state = self.at["sglang"]
        self.proxy = stack.enter_context(mitmdump("", folder, mode="regular"))
        for name in self.at:  # the first request finds out what it is
            self.get(name, "first")

    def post(self, name: str, case: str, **more: Any) -> httpx.Response:
        url = f"{self.at[name].url}/v1/chat/completions"
        with self.client() as client:
            return client.post(url, json=body(case, **more))

    def get(self, name: str, case: str, **more: Any) -> list[Any]:
        """Return the chunks of an answer."""
        return events(self.post(name, case, **more))

    def client(self) -> httpx.Client:
        return httpx.Client(proxy=self.proxy.url, timeout=30)

    def last(self, name: str) -> Asked:
        return self.at[name].asked[-1]


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    with ExitStack() as stack:
        yield Engines(stack, tmp_path_factory.mktemp("engines"))


def answered(chunks: list[Any]) -> bool:
    return texts(chunks, "content") == "".join(ANSWER) and finishes(chunks) == ["stop"]


def test_vllm_goes_on_from_the_very_tokens(engines: Engines) -> None:
    assert answered(engines.get("vllm", "exact", tools=TOOLS))
    phase2 = engines.last("vllm").json
    assert phase2["kv_transfer_params"] == {"prompt_token_ids": PROMPT + ENDING}
    assert phase2["tools"] == TOOLS
    assert "strategy continue (exact)" in engines.proxy.log


def test_phase_1_is_not_touched_for_that(engines: Engines) -> None:
    engines.get("vllm", "untouched")
    asked = engines.at["vllm"].chats
    phase1 = next(a for a in asked if b"untouched" in a.body)
    assert phase1.json.keys() == {"model", "stream", "messages", "stream_options"}


def test_a_vllm_that_shows_no_tokens_continues_the_message(engines: Engines) -> None:
    assert answered(engines.get("vllm", "bare"))
    phase2 = engines.last("vllm").json
    assert "kv_transfer_params" not in phase2
    assert phase2["messages"][-1]["reasoning"].startswith("".join(OPENING))


def test_reasoning_that_an_old_vllm_drops_goes_by_text(engines: Engines) -> None:
    before = len(engines.at["vllm"].cut)
    chunks = engines.get("vllm", "old")
    assert answered(chunks)
    assert engines.last("vllm").path == "/v1/completions"
    assert engines.last("vllm").json["prompt"].endswith("\n</think>\n\n")
    reasoning = texts(chunks, "reasoning")
    assert "".join(THOUGHTS).startswith(reasoning)  # none of what was thought again
    engines.at["vllm"].wait_cut(before + 3)  # phase 1, and two that were given up


def test_with_tools_an_answer_without_the_reasoning_is_taken(engines: Engines) -> None:
    chunks = engines.get("vllm", "old", tools=TOOLS)
    assert finishes(chunks) == ["length"]  # it thought again, and looped again
    phase2 = engines.last("vllm")
    assert phase2.path.endswith("/chat/completions")
    assert "kv_transfer_params" not in phase2.json


def test_sglang_is_told_to_stop_before_its_connection_is_closed(
    engines: Engines,
) -> None:
    engine, sglang = engines.at["sglang"], engines.sglang
    before = len(engine.cut)
    sglang.aborted.clear()
    assert answered(engines.get("sglang", "loop"))
    engine.wait_cut(before + 1)
    assert sglang.aborted == [("phase-1", before)]
    content = engines.last("sglang").json["messages"][-1]["content"]
    assert content.startswith("<think>\n" + "".join(OPENING))
    assert content.endswith("\n</think>\n\n")


def test_an_older_sglang_that_shows_no_tokens_is_gone_on_with(engines: Engines) -> None:
    assert answered(engines.get("sglang", "older"))
    content = engines.last("sglang").json["messages"][-1]["content"]
    assert content.startswith("".join(OPENING))


@pytest.mark.parametrize(
    ("case", "after", "told"),
    [
        pytest.param("loop", b"colours", ["phase-1"], id="phase 1"),
        pytest.param("slow", b"blue.", ["phase-1", "phase-2"], id="phase 2"),
    ],
)
def test_sglang_is_told_when_its_client_leaves(
    engines: Engines, case: str, after: bytes, told: list[str]
) -> None:
    engine, sglang = engines.at["sglang"], engines.sglang
    before = len(engine.cut)
    sglang.aborted.clear()
    url, seen = f"{engine.url}/v1/chat/completions", b""
    with (
        engines.client() as client,
        client.stream("POST", url, json=body(case)) as response,
    ):
        for part in response.iter_raw():
            seen += part
            if after in seen:
                break
    engine.wait_cut(before + len(told))
    assert sglang.aborted == [(rid, before + at) for at, rid in enumerate(told)]


def test_an_engine_that_ended_is_not_told_to(engines: Engines) -> None:
    engines.sglang.aborted.clear()
    engines.get("sglang", "loop")
    assert [rid for rid, _ in engines.sglang.aborted] == ["phase-1"]


def test_mlx_lm_answers_without_having_thought(engines: Engines) -> None:
    options = {"stream_options": {"include_usage": True}}
    chunks = engines.get("mlx-lm", "loop", **options)
    assert answered(chunks)
    assert chunks[-1]["usage"]["prompt_tokens"] == 31
    assert not engines.last("mlx-lm").continues
    assert "strategy continue (afresh)" in engines.proxy.log


@pytest.mark.parametrize("name", ["mlx-lm", "omlx"])
def test_an_engine_that_thinks_all_the_same_ends_the_turn(
    engines: Engines, name: str
) -> None:
    before = len(engines.at[name].cut)
    chunks = engines.get(name, "stubborn")
    assert finishes(chunks) == ["length"]
    assert texts(chunks, "content") == ""
    key = "reasoning" if name == "mlx-lm" else "reasoning_content"
    assert "".join(THOUGHTS).startswith(texts(chunks, key))
    engines.at[name].wait_cut(before + 2)
    engines.proxy.wait_for("the engine thinks again.*ended length by guard")


def test_omlx_continues_its_partial_message(engines: Engines) -> None:
    assert answered(engines.get("omlx", "loop"))
    assert engines.last("omlx").json["messages"][-1]["partial"] is True


@pytest.mark.parametrize(
    ("name", "key", "start"),
    [
        pytest.param("ollama", "reasoning", "", id="ollama's /v1"),
        pytest.param("other", "content", "<think>\n", id="not recognised"),
    ],
)
def test_the_message_is_continued(
    engines: Engines, name: str, key: str, start: str
) -> None:
    assert answered(engines.get(name, "loop"))
    message = engines.at[name].chats[-1].json["messages"][-1]
    assert message["role"] == "assistant"
    assert message[key].startswith(start + "".join(OPENING))


@pytest.mark.parametrize("name", ["sglang", "mlx-lm", "omlx", "ollama", "other"])
def test_a_refused_phase_2_ends_the_turn(engines: Engines, name: str) -> None:
    chunks = engines.get(name, "refused")
    assert finishes(chunks) == ["length"]
    assert texts(chunks, "content") == ""
    asked = [chat for chat in engines.at[name].chats if b"refused" in chat.body]
    assert len(asked) == 2  # it was asked, and said no


def test_lm_studio_offers_nothing_so_the_turn_ends(engines: Engines) -> None:
    before = len(engines.at["lmstudio"].chats)
    assert finishes(engines.get("lmstudio", "loop")) == ["length"]
    assert len(engines.at["lmstudio"].chats) == before + 1


def test_mlx_lm_goes_on_with_a_clients_own_prompt(engines: Engines) -> None:
    """Text completions need no template: prompt and reasoning are the client's."""
    prompt = "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n<think>\n"

    def looping(asked: Asked) -> Reply | None:
        if asked.path != "/v1/completions":
            return None
        if asked.json["prompt"] != prompt:
            return Reply(text_completion(), headers=SSE)
        parts = [{"text": text, "index": 0} for text in THOUGHTS]
        datas = [json.dumps({"choices": [part]}).encode() for part in parts]
        return Reply((b"data: " + d + b"\n\n" for d in datas), headers=SSE)

    with scripted(looping, server="BaseHTTP/0.6") as engine, engines.client() as client:
        asked = {"model": "m", "prompt": prompt, "stream": True}
        response = client.post(f"{engine.url}/v1/completions", json=asked)
        phase2 = engine.asked[-1].json["prompt"]
    chunks = events(response)
    said = "".join(c["choices"][0]["text"] for c in chunks if c["choices"])
    assert said.endswith("</think>\n\n" + "".join(ANSWER))
    assert phase2.startswith(prompt + "".join(OPENING))
    assert phase2.endswith("\n</think>\n\n")


def test_deepseeks_prefix_goes_to_its_beta(tmp_path: Path) -> None:
    """Told by the host, so the scripted one plays the proxy on the way there."""
    messages = DIALECTS["messages, vLLM"]

    def deepseek(asked: Asked) -> Reply | None:
        if asked.path.endswith("/anthropic/v1/messages"):
            return Reply(messages.stream(THOUGHTS, ()), headers=SSE)
        if not asked.path.endswith("/chat/completions"):
            return None
        if asked.continues:
            return streaming("reasoning_content", [], ANSWER, 99)
        return streaming("reasoning_content", THOUGHTS, [], 30)

    with (
        scripted(deepseek, server="openresty") as engine,
        mitmdump("", tmp_path, mode=f"upstream:{engine.url}") as proxy,
        httpx.Client(proxy=proxy.url, timeout=30) as client,
    ):
        url = "http://api.deepseek.com/chat/completions"
        chunks = events(client.post(url, json=body("loop")))
        url = "http://api.deepseek.com/anthropic/v1/messages"
        key = {"x-api-key": "secret"}
        told = client.post(url, json=messages.body("loop"), headers=key)
        phase1, *phases2 = engine.chats
    assert answered(chunks)
    got = messages.read(told)
    assert (got.content, got.finish) == ("".join(ANSWER), "end_turn")
    assert "".join(THOUGHTS).startswith(got.reasoning)
    assert got.output_tokens == 5000 - phases2[1].json["max_tokens"] + len(ANSWER)
    assert phase1.path.endswith("api.deepseek.com/chat/completions")
    for phase2 in phases2:
        assert phase2.path.endswith("api.deepseek.com/beta/chat/completions")
        message = phase2.json["messages"][-1]
        assert (message["prefix"], message["content"]) == (True, "")
        assert message["reasoning_content"].startswith("".join(OPENING))
    assert [a.headers.get("authorization") for a in phases2] == [None, "Bearer secret"]
