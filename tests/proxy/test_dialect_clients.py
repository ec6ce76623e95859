"""The official clients as strict parsers of what the guard makes of a turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import ollama
import openai
import pytest

from cases import ANSWER
from dialects import LOOK, script
from mitm import Proxy, mitmdump
from scripted import scripted


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with (
        scripted(script) as engine,
        mitmdump(engine.url, tmp_path_factory.mktemp("clients")) as running,
    ):
        yield running


def ask_anthropic(proxy: Proxy, case: str) -> Any:
    client = anthropic.Anthropic(base_url=proxy.url, api_key="none", max_retries=0)
    messages: Any = [{"role": "user", "content": case}]
    with client.messages.stream(
        model="m", max_tokens=5000, messages=messages
    ) as stream:
        return stream.get_final_message()


def ask_responses(proxy: Proxy, case: str) -> Any:
    client = openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="none", max_retries=0)
    with client.responses.stream(model="m", input=case) as stream:
        return stream.get_final_response()


def test_anthropic_reads_an_answer(proxy: Proxy) -> None:
    message = ask_anthropic(proxy, "loop")
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert message.content[0].signature == ""
    assert message.content[1].text == "".join(ANSWER)
    assert message.stop_reason == "end_turn"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (5, 4)
    assert message.usage.output_tokens > 100


def test_anthropic_reads_a_tool_call(proxy: Proxy) -> None:
    tool = ask_anthropic(proxy, "calls").content[1]
    assert (tool.type, tool.name, tool.input) == ("tool_use", "look", {"at": "sky"})


def test_anthropic_raises_on_half_a_tool_call(proxy: Proxy) -> None:
    with pytest.raises(anthropic.APIStatusError):
        ask_anthropic(proxy, "dies-calling")


def test_anthropic_reads_a_turn_that_was_cut(proxy: Proxy) -> None:
    message = ask_anthropic(proxy, "dies")
    assert message.content[1].text == "It is"
    assert message.stop_reason == "max_tokens"


def test_ollama_reads_a_chat(proxy: Proxy) -> None:
    messages = [{"role": "user", "content": "loop"}]
    options = {"num_predict": 5000}
    client = ollama.Client(host=proxy.url)
    *parts, last = client.chat("m", messages, stream=True, options=options)
    assert "".join(part.message.content for part in parts) == "".join(ANSWER)
    assert len("".join(part.message.thinking or "" for part in parts)) > 100
    assert (last.done, last.done_reason) == (True, "stop")
    assert last.eval_count
    assert last.eval_count > 100


def test_ollama_reads_what_is_generated(proxy: Proxy) -> None:
    client = ollama.Client(host=proxy.url)
    *parts, last = client.generate("m", "loop", stream=True)
    assert "".join(part.response for part in parts) == "".join(ANSWER)
    assert (last.done, last.done_reason) == (True, "stop")


def test_ollama_reads_a_tool_call(proxy: Proxy) -> None:
    messages = [{"role": "user", "content": "calls"}]
    parts = list(ollama.Client(host=proxy.url).chat("m", messages, stream=True))
    (call,) = [call for part in parts for call in part.message.tool_calls or ()]
    assert call.function.name == "look"
    assert call.function.arguments == {"at": "sky"}


def test_openai_reads_a_text_completion(proxy: Proxy) -> None:
    client = openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="none", max_retries=0)
    chunks = list(client.completions.create(model="m", prompt="loop", stream=True))
    text = "".join(chunk.choices[0].text for chunk in chunks)
    assert text.endswith("\n</think>\n\n" + "".join(ANSWER))
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_openai_reads_a_response(proxy: Proxy) -> None:
    response = ask_responses(proxy, "loop")
    assert [item.type for item in response.output] == ["reasoning", "message"]
    assert response.output_text == "".join(ANSWER)
    assert response.status == "completed"
    assert response.usage.input_tokens_details.cached_tokens == 0
    assert response.usage.output_tokens > 100


def test_openai_reads_a_tool_call_of_a_response(proxy: Proxy) -> None:
    call = ask_responses(proxy, "calls").output[1]
    assert (call.type, call.name, call.arguments) == ("function_call", *LOOK)


def test_openai_raises_on_half_a_tool_call(proxy: Proxy) -> None:
    with pytest.raises(RuntimeError):
        ask_responses(proxy, "dies-calling")


def test_openai_reads_a_response_that_was_cut(proxy: Proxy) -> None:
    response = ask_responses(proxy, "dies")
    assert (response.output_text, response.status) == ("It is", "incomplete")
