"""Every dialect through every fate of a turn, against a scripted engine."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from cases import ANSWER
from dialects import DIALECTS, LOOK, Dialect, post, script
from mitm import Proxy, mitmdump
from scripted import LOOP, OPENING, Scripted, scripted

PHASE2_TOKENS = 3


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    with scripted(script) as state:
        yield state


@pytest.fixture(scope="module")
def proxy(
    engine: Scripted, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    budget = ("--set", "guard_budget=low:40,default:0")
    with mitmdump(engine.url, tmp_path_factory.mktemp("dialects"), *budget) as running:
        yield running


@pytest.fixture(scope="module", params=["cut", "observe"])
def other(
    request: pytest.FixtureRequest,
    engine: Scripted,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, Proxy]]:
    """A proxy that does not hand off."""
    option = ("--set", f"guard_action={request.param}")
    with mitmdump(engine.url, tmp_path_factory.mktemp("other"), *option) as running:
        yield request.param, running


with_calls = pytest.mark.parametrize(
    "dialect",
    [pytest.param(d, id=name) for name, d in DIALECTS.items() if d.calls],
)
in_parts = pytest.mark.parametrize(
    "dialect",
    [pytest.param(d, id=name) for name, d in DIALECTS.items() if d.in_parts],
)


@pytest.fixture(params=DIALECTS.values(), ids=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return request.param


def test_a_healthy_stream_keeps_every_byte(
    proxy: Proxy, engine: Scripted, dialect: Dialect
) -> None:
    direct = post(engine.url, dialect, "healthy")
    got = post(proxy, dialect, "healthy")
    assert got.content == direct.content
    assert got.headers["content-type"] == direct.headers["content-type"]
    assert dialect.read(got).content == "".join(ANSWER)


def test_what_is_not_known_keeps_every_byte(
    proxy: Proxy, engine: Scripted, dialect: Dialect
) -> None:
    direct = post(engine.url, dialect, "healthy odd")
    assert post(proxy, dialect, "healthy odd").content == direct.content


def test_a_loop_is_handed_off_as_one_response(
    proxy: Proxy, engine: Scripted, dialect: Dialect
) -> None:
    got = dialect.read(post(proxy, dialect, "loop"))
    assert got.content == "".join(ANSWER)
    assert "".join([*OPENING, *LOOP]).startswith(got.reasoning)
    assert len(OPENING) < len(got.reasoning) < len("".join(LOOP)) / 2
    assert got.finish in ("stop", "end_turn", "completed")
    phase2 = engine.asked[-1].json
    spent = int(proxy.log.rpartition(" reasoning tokens")[0].split()[-1])
    assert got.output_tokens == spent + PHASE2_TOKENS
    assert dialect.limit(phase2) == 5000 - spent


def test_a_key_of_anthropics_opens_the_chat_endpoint_too(
    proxy: Proxy, engine: Scripted
) -> None:
    body = DIALECTS["messages"].body("loop")
    headers = {"x-api-key": "secret"}
    httpx.post(f"{proxy.url}/v1/messages?beta=true", json=body, headers=headers)
    phase2 = engine.asked[-1]
    assert phase2.path == "/v1/chat/completions"
    assert phase2.headers["authorization"] == "Bearer secret"


def test_a_spent_budget_is_handed_off(proxy: Proxy, dialect: Dialect) -> None:
    got = dialect.read(post(proxy, dialect, "loop", **dialect.low))
    assert got.content == "".join(ANSWER)
    assert 100 < len(got.reasoning) < 300
    assert "budget 40 for effort low" in proxy.log


def test_other_actions(
    other: tuple[str, Proxy], engine: Scripted, dialect: Dialect
) -> None:
    action, proxy = other
    response = post(proxy, dialect, "loop")
    got = dialect.read(response)
    assert got.content == ""
    if action == "observe":
        assert response.content == post(engine.url, dialect, "loop").content
    else:
        assert got.finish in ("length", "max_tokens", "incomplete")
        assert len(got.reasoning) < len("".join(LOOP)) / 2


@with_calls
def test_a_tool_call_of_phase_2_is_the_clients(proxy: Proxy, dialect: Dialect) -> None:
    got = dialect.read(post(proxy, dialect, "calls"))
    assert got.calls == [LOOK]
    assert got.finish in ("tool_calls", "tool_use", "completed", "stop")


@in_parts
def test_a_broken_tool_call_is_never_taken_for_whole(
    proxy: Proxy, dialect: Dialect
) -> None:
    got = dialect.read(post(proxy, dialect, "dies-calling"))
    assert got.error
    assert got.finish in (None, "failed")


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
    proxy: Proxy, dialect: Dialect, case: str, said: str
) -> None:
    tools = {"tools": [{"name": "f", "type": "function", "input_schema": {}}]}
    got = dialect.read(post(proxy, dialect, case, **tools))
    assert got.content == said
    assert got.finish in ("length", "max_tokens", "incomplete")
    assert got.error is None


@pytest.mark.parametrize(
    ("case", "after", "cut"),
    [
        pytest.param("loop", b"colours", 1, id="phase 1"),
        pytest.param("slow", b"blue.", 2, id="phase 2"),
    ],
)
def test_a_client_that_leaves_stops_the_engine(
    proxy: Proxy, engine: Scripted, dialect: Dialect, case: str, after: bytes, cut: int
) -> None:
    before = len(engine.cut)
    url, seen = proxy.url + dialect.path, b""
    with httpx.stream("POST", url, json=dialect.body(case), timeout=30) as response:
        for part in response.iter_raw():
            seen += part
            if after in seen:
                break
    assert after in seen
    engine.wait_cut(before + cut)
