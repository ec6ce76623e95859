"""All three addons together: every dialect is accounted, streamed, looping or left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from cases import body as chat_body
from dialects import DIALECTS, Dialect, script
from mitm import Proxy, mitmdump
from own_dialects import NDJSON
from scripted import SSE, Asked, Reply, Scripted, scripted
from trackside.proxy.capture import HTTPFlow
from trackside.wire import dialect_of

CASES = ("healthy", "loop")
WHOLE = ("messages", "responses", "completions", "llama_completion")
"""Dialects whose whole answers llama.cpp is asked to stream."""
CHAT = "/v1/chat/completions"
HEALTHY = {"role": "user", "content": "healthy"}
UNDIFFED = ("llama_completion",)  # llama.cpp's own route: agents do not use it


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    with scripted(script_or_odd) as state:
        yield state


ODD = {
    "/generate": (SSE, b'data: {"text":"a"}\n\n'),
    "/v2/talk": (NDJSON, b'{"a":1}\n'),
}
"""Paths that nobody knows: an engine's own, and one of the future."""


def script_or_odd(asked: Asked) -> Reply | None:
    if asked.path in ODD:
        headers, event = ODD[asked.path]
        return Reply(iter([event, event]), headers=dict(headers))
    return script(asked)


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
FORM = {"name": "f", "schema": {"type": "object"}}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
AS_IT_IS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "several choices": (CHAT, {"n": 2}, True),
    "held by the server": ("/v1/responses", {"previous_response_id": "r"}, True),
    "several prompts": ("/v1/completions", {"prompt": ["healthy", "b"]}, True),
    "images": (
        CHAT,
        {"messages": [HEALTHY, {"role": "user", "content": [IMAGE]}]},
        False,
    ),
    "logprobs": (CHAT, {"logprobs": True, "top_logprobs": 2}, False),
    "a JSON schema": (
        CHAT,
        {"response_format": {"type": "json_schema", "json_schema": FORM}},
        False,
    ),
    "parallel calls": (CHAT, {"tools": TOOLS, "parallel_tool_calls": True}, False),
}
"""Path, members, and whether the engine must get the request as it was sent."""


@pytest.fixture(scope="module")
def ran(engine: Scripted, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("suite")
    with mitmdump(engine.url, folder, script="suite.py") as proxy:
        proxy.wait_for("guard: on")
        for name, dialect in DIALECTS.items():
            for case in CASES:
                url, body = f"{proxy.url}{dialect.path}", dialect.body(case)
                httpx.post(url, json=body, timeout=30, **tagged(name, case))
            if name in WHOLE:
                body = {**dialect.body("healthy"), "stream": False}
                httpx.post(url, json=body, timeout=30, **tagged(name, "whole"))
            leave(proxy, name, dialect)
        kept = {name: ask(engine, proxy, name) for name in AS_IT_IS}
        for path in ODD:
            body = {"text": "Hm", "stream": True}
            httpx.post(proxy.url + path, json=body, **tagged(path, "odd"))
        httpx.post(proxy.url + "/embed", json={"text": "Hm"}, **tagged("-", "no turn"))
        time.sleep(1.5)
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for flow in proxy.stop():
            if case := flow.request.headers.get("x-case"):
                name = flow.request.headers["x-dialect"]
                found.setdefault((name, case), []).append(records(flow))
    return Ran(found, kept)


@pytest.fixture(scope="module")
def flows(ran: Ran) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The records of each dialect and case, phase 2 and a client that left included."""
    return ran.flows


@dataclass(frozen=True)
class Ran:
    """What was told of every flow, and what went through of some."""

    flows: dict[tuple[str, str], list[dict[str, Any]]]
    kept: dict[str, tuple[Any, Any, bytes, bytes]]


def ask(engine: Scripted, proxy: Proxy, name: str) -> tuple[Any, Any, bytes, bytes]:
    """Return what was sent, what came, and the answers without a proxy and with it."""
    path, more, _ = AS_IT_IS[name]
    bodies = {d.path: d.body for d in DIALECTS.values()}
    body = {**bodies.get(path, chat_body)("healthy"), **more}
    direct = httpx.post(engine.url + path, json=body, timeout=30)
    got = httpx.post(proxy.url + path, json=body, timeout=30, **tagged(name, "kept"))
    return body, engine.asked[-1].json, direct.content, got.content


def tagged(name: str, case: str) -> dict[str, Any]:
    return {"headers": {"x-dialect": name, "x-case": case}}


def records(flow: HTTPFlow) -> dict[str, Any]:
    return {key.removeprefix("trackside."): told for key, told in flow.metadata.items()}


def leave(proxy: Proxy, name: str, dialect: Dialect) -> None:
    """Close after the first bytes of reasoning."""
    url, body = f"{proxy.url}{dialect.path}", dialect.body("loop")
    with httpx.stream(
        "POST", url, json=body, timeout=30, **tagged(name, "left")
    ) as response:
        seen = b""
        for part in response.iter_raw():
            seen += part
            if b"colours" in seen:
                return


every = pytest.mark.parametrize("name", DIALECTS)


@every
def test_a_healthy_turn_is_accounted_once(name: str, flows: Any) -> None:
    (told,) = flows[name, "healthy"]
    turn = told["turn"]
    assert turn["api"] == dialect_of(DIALECTS[name].path)
    assert ("diff" in told) is (name not in UNDIFFED)
    assert turn["end"]["stage"] == "complete"
    assert turn["end"]["by"] == "engine"
    assert turn["ttft_s"] is not None
    assert turn["usage"]["completion"]
    assert told["guard"]["tripped"] is False


@pytest.mark.parametrize("name", WHOLE)
def test_a_turn_that_is_not_streamed_is_watched_and_timed(
    name: str, flows: Any
) -> None:
    (told,) = flows[name, "whole"]
    assert told["turn"]["ttft_s"] is not None
    assert told["turn"]["end"]["stage"] == "complete"
    assert told["turn"]["usage"]["completion"]
    assert told["guard"]["tripped"] is False


@every
def test_a_looping_turn_and_its_phase_2_are_told_apart(name: str, flows: Any) -> None:
    told = flows[name, "loop"]
    phase2 = [one for one in told if "phase1" in one["guard"]]
    (client,) = [one for one in told if "phase1" not in one["guard"]]
    assert len(phase2) == 1
    assert client["guard"]["tripped"] is True
    assert client["turn"]["end"]["stage"] == "complete"
    assert ("diff" in client) is (name not in UNDIFFED)
    assert "diff" not in phase2[0]
    assert phase2[0]["turn"]["end"]["stage"] == "complete"


@every
def test_a_client_that_leaves_in_the_reasoning_is_told(name: str, flows: Any) -> None:
    turn = flows[name, "left"][0]["turn"]
    assert (turn["end"]["by"], turn["end"]["stage"]) == ("client", "reasoning")


@pytest.mark.parametrize("name", AS_IT_IS)
def test_what_the_guard_cannot_act_on_passes_and_is_timed(name: str, ran: Ran) -> None:
    sent, came, direct, got = ran.kept[name]
    assert got == direct
    if AS_IT_IS[name][2]:
        assert came == sent
    assert {key: came[key] for key in sent} == sent
    (told,) = ran.flows[name, "kept"]
    assert told["turn"]["ttft_s"] is not None
    assert told["turn"]["end"]["stage"] == "complete"


@pytest.mark.parametrize("path", ODD)
def test_a_stream_on_an_unknown_path_is_timed(path: str, ran: Ran) -> None:
    (told,) = ran.flows[path, "odd"]
    turn = told["turn"]
    assert turn["api"] == "other"
    assert turn["ttfb_s"] is not None
    assert turn["ttft_s"] is None
    assert turn["duration_s"] >= turn["ttfb_s"]
    assert (turn["end"]["by"], turn["end"]["stage"]) == ("engine", "complete")
    assert turn["verdict"]["fault"] == "none"


def test_what_asks_for_no_stream_on_an_unknown_path_is_no_turn(ran: Ran) -> None:
    assert ran.flows["-", "no turn"] == [{}]
