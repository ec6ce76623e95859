"""What the tests of the engines do over and over."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from engine import Engine

CHAT = "/v1/chat/completions"


def ask(engine: Engine, messages: Any, max_tokens: int, **more: Any) -> Any:
    """Ask in one piece; return the choice and the usage."""
    body = {"messages": messages, "temperature": 0, "max_tokens": max_tokens, **more}
    answer = httpx.post(engine.url + CHAT, json=body, timeout=60).json()
    return answer["choices"][0], answer["usage"]


def streamed(engine: Engine, messages: Any, max_tokens: int) -> Iterator[Any]:
    """Ask for a stream and yield its chunks; leaves when it is closed."""
    body = {"messages": messages, "max_tokens": max_tokens, "stream": True}
    with httpx.stream("POST", engine.url + CHAT, json=body, timeout=60) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))


def wait_until(true: Callable[[], bool], limit_s: float = 20) -> None:
    """Wait for something to become true; fail when it does not."""
    end_s = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < end_s, "waited too long"
        time.sleep(0.02)
