from typing import Any

import pytest

from asking import ask, streamed, wait_until
from engine import Engine
from prompts import HEALTHY, LOOPING


def test_it_reasons_and_its_cache_knows_the_prompt_again(engine: Engine) -> None:
    messages = LOOPING[0].messages
    first, _ = ask(engine, messages, max_tokens=24)
    assert first["message"]["reasoning_content"].strip()
    assert first["message"]["content"] == ""
    _, usage = ask(engine, messages, max_tokens=1)
    cached_tokens = usage["prompt_tokens_details"]["cached_tokens"]
    assert cached_tokens >= usage["prompt_tokens"] - 1


def test_a_closed_reasoning_is_continued_from_the_cache(engine: Engine) -> None:
    messages = list(LOOPING[1].messages)
    choice, _ = ask(engine, messages, max_tokens=64)
    reasoning = choice["message"]["reasoning_content"]
    messages += [{"role": "assistant", "reasoning_content": reasoning, "content": ""}]
    more = {"continue_final_message": "content", "add_generation_prompt": False}
    choice, usage = ask(engine, messages, max_tokens=8, **more)
    assert choice["message"]["content"].strip()
    cached_tokens = usage["prompt_tokens_details"]["cached_tokens"]
    assert cached_tokens >= 0.9 * usage["prompt_tokens"]


@pytest.mark.parametrize("prompt", HEALTHY[:2], ids=lambda prompt: prompt.name)
def test_a_healthy_prompt_ends_its_reasoning_by_itself(
    engine: Engine, prompt: Any
) -> None:
    choice, _ = ask(engine, prompt.messages, max_tokens=200)
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["reasoning_content"].strip()
    assert choice["message"]["content"].strip()


def test_a_looping_prompt_loops(engine: Engine) -> None:
    (prompt,) = (prompt for prompt in LOOPING if prompt.name == "parts-of-a-bicycle")
    choice, _ = ask(engine, prompt.messages, max_tokens=96)
    assert choice["finish_reason"] == "length"
    reasoning = choice["message"]["reasoning_content"]
    assert reasoning.count(reasoning[-16:]) >= 8


def test_the_slot_is_idle_soon_after_a_client_leaves(engine: Engine) -> None:
    stream = streamed(engine, LOOPING[0].messages, max_tokens=4000)
    for _ in range(5):
        next(stream)
    assert engine.busy_slots() == 1
    stream.close()
    wait_until(lambda: engine.busy_slots() == 0)
