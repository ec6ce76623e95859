"""The official Node clients as strict parsers of what the guard makes of a turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from cases import ANSWER
from dialects import LOOK, script
from mitm import Proxy, mitmdump
from node_clients import NodeGot, ask, install
from scripted import LOOP, OPENING, SSE, Asked, Reply, Scripted, chunk, scripted

THOUGHT = "".join([*OPENING, *LOOP])
PHASE2_TOKENS = 3
DONE = ("stop", "end_turn", "completed")
CUT = ("length", "max_tokens", "incomplete")
CALLED = ("tool_calls", "tool-calls", "tool_use", "completed")
EFFORT = {"reasoning_effort": "low"}
CLOSED = "\n</think>\n\n"

ASKED = (
    *("healthy", "loop", "low", "calls", "dies", "dies-calling"),
    *("refused-tools", "broken", "cut"),
)
LIMIT_STEP = 10_000
"""Each question has a token limit of its own, by which its phase 2 is known."""


@dataclass(frozen=True)
class Way:
    """A client, the dialect it speaks, and what it takes to ask for little effort."""

    client: str
    dialect: str
    is_streamed: bool
    low: dict[str, Any] = field(hash=False)

    @property
    def name(self) -> str:
        """What the client's script calls it."""
        return f"{self.dialect} {'streamed' if self.is_streamed else 'whole'}"

    @property
    def tools(self) -> dict[str, Any]:
        """A tool to offer, without which a refused phase 2 goes on as a completion."""
        if self.client == "ai" or self.dialect == "completions":
            return {}
        tool: dict[str, Any] = {"name": "look", "type": "function", "parameters": {}}
        if self.dialect == "messages":
            tool = {"name": "look", "input_schema": {"type": "object"}}
        if self.dialect == "chat":
            tool = {"type": "function", "function": {"name": "look"}}
        return {"tools": [tool]}


def ways() -> Iterator[Way]:
    local = {"local": {"reasoningEffort": "low"}}
    openai = {"openai": {"reasoningEffort": "low", "forceReasoning": True}}
    for client, dialect, low in (
        ("openai", "chat", EFFORT),
        ("openai", "responses", {"reasoning": {"effort": "low"}}),
        ("openai", "completions", EFFORT),
        ("anthropic", "messages", {"output_config": {"effort": "low"}}),
        ("ai", "chat", {"providerOptions": local}),
        ("ai", "responses", {"providerOptions": openai}),
        ("ai", "completions", {"providerOptions": {"local": EFFORT}}),
        ("ai", "messages", {"providerOptions": {"anthropic": {"effort": "low"}}}),
    ):
        for is_streamed in (True, False):
            yield Way(client, dialect, is_streamed, low)


WAYS = tuple(ways())
WATCHED = [w for w in WAYS if w.is_streamed or w.dialect != "completions"]
"""A completion that is not streamed is not watched."""
WITH_CALLS = [w for w in WAYS if w.dialect != "completions"]


def the(ways: list[Way] | tuple[Way, ...]) -> Any:
    names = [f"{way.client} {way.name}" for way in ways]
    return pytest.mark.parametrize("way", ways, ids=names)


def node_script(asked: Asked) -> Reply | None:
    """Speak as ever; break off with an error, or answer whole, where that is asked."""
    if asked.path == "/v1/completions" and not asked.json.get("stream"):
        choice = {"index": 0, "text": "".join(ANSWER), "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        told = {"id": "cmpl-1", "created": 17, "model": "m", "choices": [choice]}
        kind = {"Content-Type": "application/json"}
        return Reply(json.dumps({**told, "usage": usage}).encode(), headers=kind)
    if b"broken" in asked.body:
        return Reply(broken(asked.path), headers=SSE)
    return script(asked)


def broken(path: str) -> Iterator[bytes]:
    """Yield a beginning, and the error with which its dialect breaks it off."""
    error = {"message": "out of memory", "type": "api_error", "code": "server_error"}
    if path.endswith("/messages"):
        yield event("error", error=error)
    elif path.endswith("/responses"):
        told = {"id": "resp_1", "object": "response", "created_at": 17, "output": []}
        told["model"] = "m"
        yield event("response.created", response={**told, "status": "in_progress"})
        told |= {"status": "failed", "error": error}
        yield event("response.failed", response=told)
    else:
        if path.endswith("/chat/completions"):
            yield chunk({"role": "assistant", "reasoning_content": "Hm"})
        yield b"data: " + json.dumps({"error": error}).encode() + b"\n\n"


def event(kind: str, **data: Any) -> bytes:
    told = json.dumps({"type": kind, "sequence_number": 0, **data})
    return f"event: {kind}\ndata: {told}\n\n".encode()


@dataclass(frozen=True)
class Turn:
    """What a client got, and what phase 1 had cost by its request for phase 2."""

    got: NodeGot
    spent: int | None


type Ask = Callable[[Way], dict[str, Turn]]


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Return all the turns of a client, which plays them side by side."""
    install()
    budget = ("--set", "guard_budget=low:40,default:0")
    with (
        scripted(node_script) as engine,
        mitmdump(engine.url, tmp_path_factory.mktemp("node"), *budget) as proxy,
        mitmdump(
            engine.url,
            tmp_path_factory.mktemp("node-cut"),
            *("--set", "guard_action=cut"),
        ) as cutting,
    ):

        @cache
        def client_turns(client: str) -> dict[Way, dict[str, Turn]]:
            own = [way for way in WAYS if way.client == client]
            return play(client, own, engine, proxy, cutting)

        yield lambda way: client_turns(way.client)[way]


def play(
    client: str, own: list[Way], engine: Scripted, proxy: Proxy, cutting: Proxy
) -> dict[Way, dict[str, Turn]]:
    questions, keys = [], [(way, case) for way in own for case in ASKED]
    first = 10 + len(engine.asked)
    for number, (way, case) in enumerate(keys, first):
        more = way.low if case == "low" else {}
        questions.append(
            {
                "way": way.name,
                "url": (cutting if case == "cut" else proxy).url,
                "text": "loop" if case in ("low", "cut") else case,
                "limit": LIMIT_STEP * number,
                "more": {**more, **(way.tools if case == "refused-tools" else {})},
            }
        )
    got = ask(client, questions)
    spent: dict[int, int] = {}
    for asked in engine.asked:
        limit = asked.json.get("max_tokens", 0) if asked.body else 0
        if limit % LIMIT_STEP:
            number = limit // LIMIT_STEP + 1
            spent[number] = number * LIMIT_STEP - limit
    turns: dict[Way, dict[str, Turn]] = {way: {} for way in own}
    for number, ((way, case), one) in enumerate(zip(keys, got, strict=True), first):
        turns[way][case] = Turn(one, spent.get(number))
    return turns


def answer(way: Way, got: NodeGot) -> str:
    """Return what is said after the reasoning."""
    if way.dialect != "completions":
        return got.content
    return got.content.rpartition(CLOSED)[2]


def reasoning(way: Way, got: NodeGot) -> str:
    if way.dialect != "completions":
        return got.reasoning
    return got.content.partition(CLOSED)[0].removeprefix("<think>\n")


def is_told(way: Way) -> bool:
    """Does the client hand the reasoning on? The AI SDK reads summaries alone."""
    return (way.client, way.dialect) != ("ai", "responses")


@the(WAYS)
def test_a_healthy_turn_is_read(turns: Ask, way: Way) -> None:
    got = turns(way)["healthy"].got
    assert got.error is None
    assert answer(way, got) == "".join(ANSWER)
    assert got.finish in DONE
    assert got.output_tokens in (8, 9)


@the(WATCHED)
@pytest.mark.parametrize("case", ["loop", "low"])
def test_a_turn_handed_off_is_read_like_a_healthy_one(
    turns: Ask, way: Way, case: str
) -> None:
    turn, healthy = turns(way)[case], turns(way)["healthy"].got
    got = turn.got
    assert got.error is None
    assert got.order == healthy.order
    assert answer(way, got) == "".join(ANSWER)
    assert got.finish == healthy.finish
    assert turn.spent
    assert got.output_tokens == turn.spent + PHASE2_TOKENS
    if is_told(way):
        thought = reasoning(way, got)
        assert THOUGHT.startswith(thought.removesuffix(CLOSED))
        assert len("".join(OPENING)) < len(thought) < len(THOUGHT) / 2
        assert case == "loop" or len(thought) < 300


@the(WITH_CALLS)
def test_a_tool_call_of_phase_2_is_read(turns: Ask, way: Way) -> None:
    got = turns(way)["calls"].got
    assert got.error is None
    ((name, arguments),) = got.calls
    assert (name, json.loads(arguments)) == (LOOK[0], json.loads(LOOK[1]))
    assert got.finish in CALLED
    assert got.content == ""


@the(WATCHED)
@pytest.mark.parametrize(
    ("case", "said"),
    [
        pytest.param("dies", "It is", id="dies midway"),
        pytest.param("refused-tools", "", id="refused"),
        pytest.param("cut", "", id="never asked for"),
    ],
)
def test_a_turn_that_is_cut_is_read(turns: Ask, way: Way, case: str, said: str) -> None:
    got = turns(way)[case].got
    assert got.error is None
    assert answer(way, got) == said
    assert got.finish in CUT
    assert not is_told(way) or len(reasoning(way, got)) < len(THOUGHT) / 2


@the([way for way in WITH_CALLS if way.dialect == "chat"])
def test_half_a_tool_call_of_a_chat_is_cut(turns: Ask, way: Way) -> None:
    got = turns(way)["dies-calling"].got
    assert got.finish in CUT
    for _, arguments in got.calls:
        with pytest.raises(json.JSONDecodeError):
            json.loads(arguments)


@the([way for way in WITH_CALLS if way.dialect != "chat"])
def test_half_a_tool_call_is_raised(turns: Ask, way: Way) -> None:
    assert turns(way)["dies-calling"].got.error


@the(WATCHED)
def test_an_error_of_the_engine_is_raised(turns: Ask, way: Way) -> None:
    assert "out of memory" in (turns(way)["broken"].got.error or "")
