"""All three addons together: every dialect is accounted, streamed, looping or left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from dialects import DIALECTS, Dialect, script
from mitm import Proxy, mitmdump
from scripted import Scripted, scripted
from trackside.proxy.capture import HTTPFlow

CASES = ("healthy", "loop")
UNDIFFED = ("llama_completion",)  # llama.cpp's own route: agents do not use it


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    with scripted(script) as state:
        yield state


@pytest.fixture(scope="module")
def flows(
    engine: Scripted, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The records of each dialect and case, phase 2 and a client that left included."""
    folder = tmp_path_factory.mktemp("suite")
    with mitmdump(engine.url, folder, script="suite.py") as proxy:
        proxy.wait_for("guard: on")
        for name, dialect in DIALECTS.items():
            for case in CASES:
                url, body = f"{proxy.url}{dialect.path}", dialect.body(case)
                httpx.post(url, json=body, timeout=30, **tagged(name, case))
            leave(proxy, name, dialect)
        time.sleep(1.5)
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for flow in proxy.stop():
            if case := flow.request.headers.get("x-case"):
                name = flow.request.headers["x-dialect"]
                found.setdefault((name, case), []).append(records(flow))
    return found


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
    assert turn["api"] == name
    assert ("diff" in told) is (name not in UNDIFFED)
    assert turn["end"]["stage"] == "complete"
    assert turn["end"]["by"] == "engine"
    assert turn["ttft_s"] is not None
    assert turn["usage"]["completion"]
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
