"""Dialects in which phase 2 goes on as well: text completions and Ollama's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpx

from got import Got

NDJSON = {"Content-Type": "application/x-ndjson"}


def _sse(data: Any) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _tagged(reasoning: Iterable[str], content: Iterable[str]) -> Iterator[str]:
    first = True
    for text in reasoning:
        yield f"<think>\n{text}" if first else text
        first = False
    if not first:
        content = ["\n</think>\n\n", *content]
    yield from content


def _untag(got: Got, text: str) -> None:
    if text.startswith("<think>\n"):
        text = text.removeprefix("<think>\n")
        got.reasoning, _, text = text.partition("\n</think>\n\n")
    got.content = text


# Text completions


def text_body(limit: str) -> Callable[[str], dict[str, Any]]:
    """Return what makes the body of a case."""
    usage = {"include_usage": True}
    return lambda case: {
        "prompt": case,
        "stream": True,
        limit: 5000,
        "stream_options": usage,
    }


def completions_stream(
    reasoning: Iterable[str], content: Iterable[str], tokens: int = 9
) -> Iterator[bytes]:
    """Yield events as llama.cpp does."""
    head = {"id": "cmpl-1", "created": 17, "model": "m", "object": "text_completion"}
    choice = {"index": 0, "logprobs": None}
    for text in _tagged(reasoning, content):
        yield _sse(
            {**head, "choices": [{**choice, "text": text, "finish_reason": None}]}
        )
    counts = {"prompt_tokens": 9, "completion_tokens": tokens, "total_tokens": 9}
    last = {**choice, "text": "", "finish_reason": "stop"}
    yield _sse({**head, "choices": [last], "usage": counts})
    yield b"data: [DONE]\n\n"


def read_completions(response: httpx.Response) -> Got:
    """Read a stream in which nothing may follow the finish."""
    got, text = Got(), ""
    *datas, done = response.text.split("\n\n")[:-1]
    assert done == "data: [DONE]"
    for data in datas:
        event = json.loads(data.removeprefix("data: "))
        assert got.finish is None
        assert event["id"] == "cmpl-1"
        text += event["choices"][0]["text"]
        got.finish = event["choices"][0]["finish_reason"]
        got.output_tokens = (event.get("usage") or {}).get("completion_tokens")
    _untag(got, text)
    return got


def native_stream(
    reasoning: Iterable[str], content: Iterable[str], tokens: int = 9
) -> Iterator[bytes]:
    """Yield frames of llama.cpp's own completion."""
    head = {"index": 0, "id_slot": -1, "tokens_evaluated": 9}
    for text in _tagged(reasoning, content):
        yield _sse({**head, "content": text, "tokens": [1], "stop": False})
    told = {"tokens_predicted": tokens, "stop_type": "eos", "model": "m"}
    yield _sse({**head, **told, "content": "", "tokens": [], "stop": True})


def read_native(response: httpx.Response) -> Got:
    """Read frames, of which the last one alone stops."""
    got, text = Got(), ""
    for data in response.text.split("\n\n")[:-1]:
        frame = json.loads(data.removeprefix("data: "))
        assert got.finish is None
        text += frame["content"]
        if frame["stop"]:
            got.finish = {"eos": "stop", "limit": "length"}[frame["stop_type"]]
            got.output_tokens = frame["tokens_predicted"]
    assert got.finish
    _untag(got, text)
    return got


# Ollama


def _ollama(case: str) -> dict[str, Any]:
    return {"model": "m", "options": {"num_predict": 5000, "seed": 1}}


def ollama_chat_body(case: str) -> dict[str, Any]:
    """Return a chat that streams, as it does unless told not to."""
    return {**_ollama(case), "messages": [{"role": "user", "content": case}]}


def ollama_generate_body(case: str) -> dict[str, Any]:
    """Return the same as one prompt."""
    return {**_ollama(case), "prompt": case, "keep_alive": "5m", "system": case}


def ollama_stream(
    reasoning: Iterable[str], content: Iterable[str], tokens: int = 9, *, chat: bool
) -> Iterator[bytes]:
    """Yield lines of `/api/chat` or `/api/generate`."""
    head = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}

    def line(text: str = "", thinking: str = "", **more: Any) -> bytes:
        thought = {"thinking": thinking} if thinking else {}
        said: Any = {"response": text, **thought}
        if chat:
            said = {"message": {"role": "assistant", "content": text, **thought}}
        return json.dumps({**head, **said, "done": False, **more}).encode() + b"\n"

    for text in reasoning:
        yield line(thinking=text)
    for text in content:
        yield line(text)
    counts = {"prompt_eval_count": 9, "eval_count": tokens, "eval_duration": 5}
    yield line(done=True, done_reason="stop", total_duration=7, **counts)


def ollama_calls(name: str, arguments: str) -> Iterator[bytes]:
    """Yield a tool call, whole as Ollama tells it."""
    call = {"function": {"name": name, "arguments": json.loads(arguments)}}
    said = {"role": "assistant", "content": "", "tool_calls": [call]}
    head = {"model": "m", "created_at": "2026-01-01T00:00:01Z", "done": False}
    yield json.dumps({**head, "message": said}).encode() + b"\n"
    last = {"done": True, "done_reason": "stop", "eval_count": 3}
    empty = {"role": "assistant", "content": ""}
    yield json.dumps({**head, "message": empty, **last}).encode() + b"\n"


def read_ollama(response: httpx.Response) -> Got:
    """Read lines, of which the last one alone is done."""
    got = Got()
    for text in response.text.splitlines():
        line = json.loads(text)
        assert got.finish is None
        if "error" in line:
            got.error = line["error"]
            break
        assert line["model"] == "m"
        assert line["created_at"]
        said = line.get("message") or {"content": line.get("response"), **line}
        got.content += said["content"]
        got.reasoning += said.get("thinking", "")
        for call in said.get("tool_calls", ()):
            function = call["function"]
            arguments = json.dumps(function["arguments"])
            got.calls.append((function["name"], arguments))
        if line["done"]:
            got.finish, got.output_tokens = line["done_reason"], line["eval_count"]
    assert got.finish or got.error
    return got
