"""The turns that the scripted engine plays, by the name in their first message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx

from mitm import Proxy
from scripted import LOOP, OPENING, SSE, Asked, Hangup, Reply, chunk, stream, usage

ANSWER = ["It ", "is ", "blue."]


def script(asked: Asked) -> Reply | None:
    """Answer as the case named in the first message wants it."""
    if asked.path == "/props":
        return Reply(b'{"default_generation_settings":{}}')
    if asked.path == "/apply-template":
        return Reply(b'{"prompt":"<|im_start|>assistant\\n<think>\\n"}')
    if asked.path == "/v1/completions":
        return Reply(text_completion(), headers=SSE)
    if not asked.path.endswith("/chat/completions"):
        return None
    case = asked.json["messages"][0]["content"]
    if not asked.continues:
        return phase1(case)
    return phase2(case)


def phase1(case: str) -> Reply:
    if case == "tool-call":
        return Reply(tool_call(), headers=SSE)
    if case == "opener":
        return Reply(stream([*OPENING, "<tool_call>", *LOOP]), headers=SSE)
    if case == "healthy":
        return Reply(stream(OPENING, ANSWER, usage=usage(9, 8, 1)), headers=SSE)
    if case == "ends-with-the-loop":
        whole = b"".join(stream([*OPENING, "".join(LOOP)], ["42"]))
        return Reply(iter([whole]), headers=SSE)
    if case == "inline":
        return Reply(stream(content=["<think>\n", *OPENING, *LOOP]), headers=SSE)
    return Reply(stream([*OPENING, *LOOP], gap_s=0.001, finish="length"), headers=SSE)


def phase2(case: str) -> Reply:
    told = usage(70, 3, 64)
    match case:
        case "refused" | "refused-tools":
            return Reply(b'{"error":{"message":"cannot continue"}}', 400)
        case "no-stream":
            return Reply(b'{"choices":[]}', 200, {"Content-Type": "application/json"})
        case "error-frame":
            frame = b'data: {"error":{"message":"out of memory","code":500}}\n\n'
            return Reply(iter([frame]), headers=SSE)
        case "dies":
            return Reply(dying(), headers=SSE)
        case "slow":
            return Reply(stream(content=ANSWER * 500, gap_s=0.01), headers=SSE)
        case "labelled":
            return Reply(stream(ANSWER, usage=told), headers=SSE)
        case "loops-again":
            return Reply(stream([*OPENING, *LOOP], gap_s=0.001), headers=SSE)
    events = stream(content=ANSWER, usage=told, id="chatcmpl-2", created=1700000009)
    return Reply(events, headers=SSE)


def dying() -> Iterator[bytes]:
    yield chunk({"role": "assistant", "content": ""})
    yield chunk({"content": "It is"})
    raise Hangup


def tool_call() -> Iterator[bytes]:
    yield from list(stream(OPENING))[:-2]
    call = {"index": 0, "id": "c1", "type": "function"}
    yield chunk({"tool_calls": [{**call, "function": {"name": "f", "arguments": ""}}]})
    for text in LOOP:
        part = {"index": 0, "function": {"arguments": text}}
        yield chunk({"tool_calls": [part]})
    yield chunk({}, finish_reason="tool_calls")
    yield b"data: [DONE]\n\n"


def text_completion() -> Iterator[bytes]:
    for text in ANSWER:
        choice = {"text": text, "index": 0, "finish_reason": None}
        yield b"data: " + json.dumps({"id": "cmpl-1", "choices": [choice]}).encode()
        yield b"\n\n"
    last = {"text": "", "index": 0, "finish_reason": "stop"}
    yield (
        b"data: " + json.dumps({"choices": [last], "usage": usage(70, 3, 64)}).encode()
    )
    yield b"\n\ndata: [DONE]\n\n"


def body(case: str, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": case}
    return {"model": "m", "stream": True, "messages": [message], **more}


def post(proxy: Proxy, case: str, **more: Any) -> httpx.Response:
    url = f"{proxy.url}/v1/chat/completions"
    return httpx.post(url, json=body(case, **more), timeout=30)


def events(response: httpx.Response) -> list[Any]:
    """Return the data of every event, which must end with one terminator."""
    datas = [
        line.removeprefix("data: ")
        for line in response.text.split("\n")
        if line.startswith("data: ")
    ]
    assert datas[-1] == "[DONE]"
    assert datas.count("[DONE]") == 1
    return [json.loads(data) for data in datas[:-1]]


def texts(chunks: list[Any], key: str) -> str:
    found = [c["choices"][0]["delta"].get(key) for c in chunks if c["choices"]]
    return "".join(text for text in found if text)


def finishes(chunks: list[Any]) -> list[str]:
    found = [c["choices"][0]["finish_reason"] for c in chunks if c["choices"]]
    return [finish for finish in found if finish]
