"""A trip on each engine in each dialect it serves besides chat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anthropic
import httpx
import pytest

from cases import ANSWER
from dialects import DIALECTS, Dialect, named_events
from engine_dialects import KINDS, PHASE2_TOKENS, Engine
from mitm import mitmdump
from node_clients import ask, install
from scripted import LOOP, OPENING, SSE, Reply, Scripted, scripted

THOUGHT = "".join([*OPENING, *LOOP])
SPOKEN = {
    "responses": DIALECTS["responses"],
    "messages": DIALECTS["messages"],
    "completions": DIALECTS["completions"],
}
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
ENDED = ("length", "max_tokens", "incomplete")


class Engines:
    """All of them behind one proxy, each at its own address."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.scripts = {name: Engine(name) for name in KINDS}
        self.at: dict[str, Scripted] = {}
        for name, script in self.scripts.items():
            self.at[name] = stack.enter_context(scripted(script, server=""))
            script.state = self.at[name]
        self.proxy = stack.enter_context(mitmdump("", folder, mode="regular"))
        for name in self.at:  # the first request finds out what it is
            self.post(name, SPOKEN["messages"], "first")

    def post(self, name: str, dialect: Dialect, case: Any) -> httpx.Response:
        with httpx.Client(proxy=self.proxy.url, timeout=30) as client:
            return client.post(
                self.at[name].url + dialect.path, json=dialect.body(case)
            )

    @property
    def spent(self) -> int:
        """What the last phase 1 cost, as it was logged."""
        return int(self.proxy.log.rpartition(" reasoning tokens")[0].split()[-1])


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    with ExitStack() as stack:
        yield Engines(stack, tmp_path_factory.mktemp("engines"))


def literal(body: Any) -> str:
    """Return the reasoning of SGLang's message: the closed block, byte for byte."""
    assert body["continue_final_message"] is True
    return between(body["messages"][-1]["content"])


def with_space(body: Any) -> str:
    message = body["messages"][-1]
    assert message["content"] == " "
    return str(message["reasoning"])


def partial(body: Any) -> str:
    message = body["messages"][-1]
    assert (message["partial"], message["content"]) == (True, "")
    return str(message["reasoning_content"])


def prefilled(body: Any) -> str:
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (1, 0)
    return between(body["messages"][-1]["content"])


def behind_the_prompt(body: Any) -> str:
    return between(body["prompt"].removeprefix("loop"))


def between(text: str) -> str:
    opener, closer = "<think>\n", "\n</think>\n\n"
    assert (text[: len(opener)], text[-len(closer) :]) == (opener, closer)
    return text.removeprefix(opener).removesuffix(closer)


@pytest.mark.parametrize(
    ("name", "spoken", "path", "reasoning", "told"),
    [
        ("sglang", "responses", CHAT, literal, "resp_1"),
        ("sglang", "messages", CHAT, literal, None),
        ("sglang", "completions", TEXT, behind_the_prompt, "cmpl-1"),
        ("ollama", "responses", CHAT, with_space, None),
        ("ollama", "messages", CHAT, with_space, None),
        ("omlx", "responses", CHAT, partial, None),
        ("omlx", "messages", CHAT, partial, None),
        ("omlx", "completions", TEXT, behind_the_prompt, None),
        ("lmstudio", "completions", TEXT, behind_the_prompt, None),
        ("other", "responses", CHAT, prefilled, None),
        ("other", "messages", CHAT, prefilled, None),
        ("other", "completions", TEXT, behind_the_prompt, None),
    ],
)
def test_a_loop_is_handed_off_as_one_response(
    engines: Engines,
    name: str,
    spoken: str,
    path: str,
    reasoning: Callable[[Any], str],
    told: str | None,
) -> None:
    engine, dialect = engines.at[name], SPOKEN[spoken]
    closed, aborted = len(engine.cut), engines.scripts[name].aborted
    aborted.clear()
    got = dialect.read(engines.post(name, dialect, "loop"))
    phase2 = [asked for asked in engine.asked if asked.method == "POST"][-1]
    assert (got.content, got.error) == ("".join(ANSWER), None)
    assert got.finish in ("stop", "end_turn", "completed")
    assert got.output_tokens == engines.spent + PHASE2_TOKENS
    assert len("".join(OPENING)) < len(got.reasoning) < len(THOUGHT) / 2
    assert THOUGHT.startswith(got.reasoning)
    assert phase2.path == path
    assert phase2.json["max_tokens"] == 5000 - engines.spent
    assert reasoning(phase2.json).startswith("".join(OPENING))
    engine.wait_cut(closed + 1)
    assert aborted == ([(told, closed)] if told else [])  # before it was closed


def test_a_prompt_that_ollama_guessed_is_counted_by_phase_2(engines: Engines) -> None:
    told = list(named_events(engines.post("ollama", SPOKEN["messages"], "loop")))
    guess = told[0]["message"]["usage"]["input_tokens"]
    counted = told[-2]["usage"]["input_tokens"]
    kept_tokens = 70 - counted
    assert guess == 9
    assert 20 < kept_tokens < 50


@pytest.mark.parametrize(
    ("name", "spoken", "case", "told"),
    [
        pytest.param("lmstudio", "responses", "loop", None, id="LM Studio"),
        pytest.param("lmstudio", "messages", "loop", None, id="LM Studio's messages"),
        pytest.param("ollama", "completions", "loop", None, id="Ollama's text"),
        pytest.param("sglang", "completions", [1, 2], "cmpl-1", id="prompt of ids"),
    ],
)
def test_without_a_way_the_turn_ends(
    engines: Engines, name: str, spoken: str, case: Any, told: str | None
) -> None:
    engine, dialect = engines.at[name], SPOKEN[spoken]
    closed, script = len(engine.cut), engines.scripts[name]
    before = len(engine.asked)
    script.aborted.clear()
    got = dialect.read(engines.post(name, dialect, case))
    assert (got.content, got.error) == ("", None)
    assert got.finish in ENDED
    assert THOUGHT.startswith(got.reasoning)
    if spoken != "completions":  # no one told what the prompt had
        assert got.output_tokens == engines.spent
    engine.wait_cut(closed + 1)
    assert script.aborted == ([(told, closed)] if told else [])
    assert len(engine.asked) == before + 1 + len(script.aborted)
    assert "Traceback" not in engines.proxy.log


@pytest.mark.parametrize("spoken", SPOKEN)
@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("sglang", "refused"),
        ("ollama", "vanished"),
        ("omlx", "vanished"),
        ("other", "refused"),
    ],
)
def test_a_refused_phase_2_ends_the_turn(
    engines: Engines, name: str, spoken: str, case: str
) -> None:
    dialect = SPOKEN[spoken]
    got = dialect.read(engines.post(name, dialect, case))
    assert (got.content, got.error) == ("", None)
    assert got.finish in ENDED
    assert THOUGHT.startswith(got.reasoning)


@pytest.fixture(scope="module")
def unsigned(engines: Engines) -> Iterator[str]:
    """An engine that says what the guard made of thinking that nobody signs."""
    told = engines.post("ollama", SPOKEN["messages"], "loop").content
    assert b"signature" not in told
    with scripted(lambda _: Reply(told, headers=SSE)) as engine:
        yield engine.url


def test_thinking_without_a_signature_is_read_in_python(unsigned: str) -> None:
    client = anthropic.Anthropic(base_url=unsigned, api_key="none", max_retries=0)
    with client.messages.stream(model="m", max_tokens=9, messages=[]) as stream:
        message = stream.get_final_message()
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert message.model_dump()["content"][1]["text"] == "".join(ANSWER)
    assert message.stop_reason == "end_turn"


@pytest.mark.parametrize("client", ["anthropic", "ai"])
def test_thinking_without_a_signature_is_read_in_node(
    unsigned: str, client: str
) -> None:
    install()
    question = {"url": unsigned, "text": "loop", "limit": 9, "more": {}}
    (got,) = ask(client, [{"way": "messages streamed", **question}])
    assert got.error is None
    assert got.content == "".join(ANSWER)
    assert THOUGHT.startswith(got.reasoning)
    assert got.reasoning
