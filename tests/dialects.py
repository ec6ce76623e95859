"""What scripted engines say in each dialect, and strict readers of what clients get."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx

import cases
from cases import ANSWER
from got import Got
from mitm import Proxy
from own_dialects import (
    NDJSON,
    completions_stream,
    native_stream,
    ollama_calls,
    ollama_chat_body,
    ollama_generate_body,
    ollama_stream,
    read_completions,
    read_native,
    read_ollama,
    text_body,
)
from scripted import LOOP, OPENING, SSE, Asked, Hangup, Reply, chunk, usage

LOOK = ("look", '{"at": "sky"}')
"""The tool call of phase 2, and of some phases 1."""


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How to ask for a case, what the engine streams, and how it must be read."""

    path: str
    body: Callable[[str], dict[str, Any]]
    stream: Callable[..., Iterator[bytes]]
    """Of reasoning, content, and `tokens` to be told at the end."""
    read: Callable[[httpx.Response], Got]
    kind: Mapping[str, str] = field(default_factory=lambda: SSE)
    low: Mapping[str, Any] = field(default_factory=dict)
    """What asks for low effort."""
    continues: Callable[[Asked], bool] = lambda _: False
    """Tells phase 2, where it speaks the dialect itself."""
    limit: Callable[[Any], int] = lambda body: body["max_tokens"]
    """Reads the token limit of phase 2's request."""
    calls: bool = True
    """There are tool calls in it."""
    in_parts: bool = True
    """They come in parts, so that one can be broken off."""
    error: bytes = b""
    """An error inside a stream."""


def script(asked: Asked) -> Reply | None:
    """Answer phase 1 in the dialect of its path, and phase 2 as chat."""
    if b"_debug_render_only" in asked.body:
        prompt = f"{asked.json.get('prompt')}<think>\n"
        told = {"_debug_info": {"rendered_template": prompt}}
        return Reply(json.dumps(told).encode())
    for dialect in DIALECTS.values():
        if asked.path.partition("?")[0] == dialect.path:
            if asked.json.get("stream") is False:  # nobody could read on from that
                return Reply(b"{}", headers={"Content-Type": "application/json"})
            if dialect.continues(asked):
                return phase2(dialect, asked)
            return Reply(_phase1(dialect, asked), headers=dict(dialect.kind))
    if asked.path.endswith("/chat/completions"):
        case = asked.json["messages"][0]["content"]
        if asked.continues and case in ("calls", "dies-calling"):
            return Reply(_calling(case), headers=SSE)
    return cases.script(asked)


def _phase1(dialect: Dialect, asked: Asked) -> Iterator[bytes]:
    if b"healthy odd" in asked.body:
        return _odd(dialect)
    if b"healthy" in asked.body:
        return dialect.stream(OPENING, ANSWER)
    return _slowly(dialect.stream([*OPENING, *LOOP], ()))


def _odd(dialect: Dialect) -> Iterator[bytes]:
    """Yield what no dialect has today among what it has."""
    odd = [b'event: brand.new\r\ndata: {"type":"brand.new", "x":1}\r\n\r\n']
    odd += [b": a comment\n\n", b"data: {\n\n"]
    if dialect.kind == NDJSON:
        odd = [b'{"brand_new": 1}\r\n', b"\n", b"{\n"]
    for event in dialect.stream(OPENING, ANSWER):
        yield from odd
        yield event
    yield from odd


def phase2(dialect: Dialect, asked: Asked) -> Reply:
    """Go on in the dialect itself, as the case wants it."""
    events = dialect.stream((), ANSWER, tokens=3)
    if b'"calls"' in asked.body:
        return Reply(ollama_calls(*LOOK), headers=dict(dialect.kind))
    for case in ("refused", "no-stream", "error-frame", "dies", "slow", "loops-again"):
        if case.encode() in asked.body:
            break
    else:
        case = ""
    match case:
        case "refused":
            return Reply(b'{"error":"cannot continue"}', 400)
        case "no-stream":
            return Reply(b"{}", headers={"Content-Type": "application/json"})
        case "error-frame":
            events = iter([dialect.error])
        case "dies":
            events = _dying(dialect)
        case "slow":
            events = _slowly(dialect.stream((), ANSWER * 5000))
        case "loops-again":
            events = _slowly(dialect.stream([*OPENING, *LOOP], ()))
    return Reply(events, headers=dict(dialect.kind))


def _dying(dialect: Dialect) -> Iterator[bytes]:
    yield next(iter(dialect.stream((), ["It is", "never sent"])))
    raise Hangup


def _slowly(events: Iterator[bytes]) -> Iterator[bytes]:
    for event in events:
        time.sleep(0.001)
        yield event


def _calling(case: str) -> Iterator[bytes]:
    name, arguments = LOOK
    call = {"index": 0, "id": "c1", "type": "function"}
    yield chunk({"tool_calls": [{**call, "function": {"name": name}}]})
    for part in (arguments[:5], arguments[5:]):
        yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": part}}]})
        if case == "dies-calling":
            raise Hangup
    yield chunk({}, finish_reason="tool_calls")
    told = {"choices": [], "usage": usage(70, 3, 64)}
    yield b"data: " + json.dumps(told).encode() + b"\n\ndata: [DONE]\n\n"


def post(proxy: Proxy | str, dialect: Dialect, case: str, **more: Any) -> Any:
    """Ask for a case and return the response."""
    url = proxy if isinstance(proxy, str) else proxy.url
    body = {**dialect.body(case), **more}
    return httpx.post(url + dialect.path, json=body, timeout=30)


def named_events(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """Yield the data of events, each of which must be named by its type."""
    for event in response.text.split("\n\n")[:-1]:
        name, data = event.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        yield value


def _named(kind: str, **data: Any) -> bytes:
    text = json.dumps({"type": kind, **data}, separators=(",", ":"))
    return f"event: {kind}\ndata: {text}\n\n".encode()


# Anthropic messages


def _messages_body(case: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": case}]
    return {"model": "m", "max_tokens": 5000, "stream": True, "messages": messages}


def _messages_stream(
    reasoning: Iterable[str], content: Iterable[str], tokens: int = 9
) -> Iterator[bytes]:
    """Yield events as llama.cpp does."""
    told = {"cache_read_input_tokens": 4, "input_tokens": 5, "output_tokens": 0}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    yield _named("message_start", message={**message, "model": "x", "usage": told})
    blocks = (("thinking", reasoning), ("text", content))
    for index, (kind, texts) in enumerate(blocks):
        first = True
        for text in texts:
            if first:
                block = {"type": kind, kind: ""}
                yield _named("content_block_start", index=index, content_block=block)
            first = False
            delta = {"type": f"{kind}_delta", kind: text}
            yield _named("content_block_delta", index=index, delta=delta)
        if not first:
            if kind == "thinking":
                signed = {"type": "signature_delta", "signature": ""}
                yield _named("content_block_delta", index=index, delta=signed)
            yield _named("content_block_stop", index=index)
    yield _named(
        "message_delta",
        delta={"stop_reason": "end_turn"},
        usage={"output_tokens": tokens},
    )
    yield _named("message_stop")


def _vllm_messages_stream(
    reasoning: Iterable[str], content: Iterable[str], tokens: int = 9
) -> Iterator[bytes]:
    """Yield events as vLLM does: its indices come last, all counts at the end."""
    message = {"id": "chatcmpl-1", "type": "message", "role": "assistant"}
    told = {"input_tokens": 9, "output_tokens": 0}
    more = {"content": [], "stop_reason": None, "stop_sequence": None, "usage": told}
    yield _named("message_start", message={**message, "model": "x", **more})
    index = 0
    for kind, texts in (("thinking", reasoning), ("text", content)):
        at: dict[str, int] = {}
        for text in texts:
            if not at:
                at = {"index": index}
                block = {"type": kind, kind: ""}
                yield _named("content_block_start", content_block=block, **at)
            delta = {"type": f"{kind}_delta", kind: text}
            yield _named("content_block_delta", delta=delta, **at)
        if at:
            yield _named("content_block_stop", **at)
            index += 1
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 4}
    yield _named(
        "message_delta",
        delta={"stop_reason": "end_turn", "stop_sequence": None},
        usage={"input_tokens": 5, "output_tokens": tokens, **cached},
    )
    yield _named("message_stop")


def _read_messages(response: httpx.Response) -> Got:
    got, kinds, is_open = Got(), list[str](), False
    events = list(named_events(response))
    assert events[0]["type"] == "message_start"
    for at, event in enumerate(events[1:], 2):
        match event["type"]:
            case "content_block_start":
                assert (event["index"], is_open) == (len(kinds), False)
                kinds.append(event["content_block"]["type"])
                is_open = True
                if kinds[-1] == "tool_use":
                    got.calls.append((event["content_block"]["name"], ""))
            case "content_block_delta":
                assert (event["index"], is_open) == (len(kinds) - 1, True)
                _take_delta(got, event["delta"], kinds[-1])
            case "content_block_stop":
                assert (event["index"], is_open) == (len(kinds) - 1, True)
                is_open = False
            case "message_delta":
                assert not is_open
                assert got.finish is None
                got.finish = event["delta"]["stop_reason"]
                got.output_tokens = event["usage"]["output_tokens"]
            case "message_stop":
                assert at == len(events)
                assert got.finish
            case "error":
                assert at == len(events)
                got.error = event["error"]["message"]
    return got


def _take_delta(got: Got, delta: dict[str, Any], kind: str) -> None:
    match delta["type"]:
        case "thinking_delta":
            assert kind == "thinking"
            got.reasoning += delta["thinking"]
        case "text_delta":
            assert kind == "text"
            got.content += delta["text"]
        case "input_json_delta":
            assert kind == "tool_use"
            name, arguments = got.calls.pop()
            got.calls.append((name, arguments + delta["partial_json"]))


# OpenAI responses


def _responses_body(case: str) -> dict[str, Any]:
    return {"model": "m", "max_output_tokens": 5000, "stream": True, "input": case}


class _Numbered:
    """Makes events as vLLM does: each with its number."""

    def __init__(self) -> None:
        self.number = -1

    def __call__(self, kind: str, **data: Any) -> bytes:
        self.number += 1
        return _named(f"response.{kind}", **data, sequence_number=self.number)


def _responses_stream(
    reasoning: Iterable[str],
    content: Iterable[str],
    tokens: int = 9,
    *,
    thought: str = "content_part",
) -> Iterator[bytes]:
    """Yield events as vLLM does; `thought` is what it calls a part of reasoning."""
    event = _Numbered()
    told = {"id": "resp_1", "object": "response", "model": "m", "created_at": 17}
    yield event("created", response={**told, "status": "in_progress", "output": []})
    kinds = (
        ("rs_1", {"type": "reasoning", "summary": []}, "reasoning_text", reasoning),
        ("msg_1", {"type": "message", "role": "assistant"}, "output_text", content),
    )
    output: list[Any] = []
    for name, kind, part, texts in kinds:
        item = {"id": name, **kind, "content": []}
        more = {"annotations": []} if part == "output_text" else {}
        at = {"item_id": name, "output_index": len(output), "content_index": 0}
        text, parts = "", ""
        for piece in texts:
            if not text:
                where = {"output_index": len(output)}
                yield event("output_item.added", item=item, **where)
                new = {"type": part, "text": "", **more}
                parts = thought if kind["type"] == "reasoning" else "content_part"
                yield event(f"{parts}.added", part=new, **at)
            text += piece
            yield event(f"{part}.delta", delta=piece, **at)
        if text:
            whole = {"type": part, "text": text, **more}
            yield event(f"{part}.done", text=text, **at)
            yield event(f"{parts}.done", part=whole, **at)
            output.append({**item, "status": "completed", "content": [whole]})
            where = {"output_index": len(output) - 1}
            yield event("output_item.done", item=output[-1], **where)
    counts = {"input_tokens": 9, "output_tokens": tokens, "total_tokens": 18}
    yield event(
        "completed",
        response={**told, "status": "completed", "output": output, "usage": counts},
    )


def _read_responses(response: httpx.Response) -> Got:
    got, output = Got(), list[Any]()
    is_open = False
    events = list(named_events(response))
    numbers = [event["sequence_number"] for event in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(events)))
    for event in events:
        subject, _, verb = event["type"].removeprefix("response.").rpartition(".")
        if subject == "output_item" and verb == "added":
            assert (event["output_index"], is_open) == (len(output), False)
            output.append(event["item"])
            is_open = True
        elif subject:
            assert (event["output_index"], is_open) == (len(output) - 1, True)
            if subject == "output_item":
                output[-1], is_open = event["item"], False
            else:
                assert event["item_id"] == output[-1]["id"]
    assert not is_open
    last = events[-1]
    final = last["response"]
    assert (final["id"], final["model"]) == ("resp_1", "m")
    assert final["output"] == output
    _take_items(got, output)
    for kinds, text in (
        (("reasoning_text", "reasoning_summary_text"), got.reasoning),
        (("output_text",), got.content),
    ):
        names = [f"response.{kind}.delta" for kind in kinds]
        assert "".join(e["delta"] for e in events if e["type"] in names) == text
    got.finish = final["status"]
    assert last["type"] == f"response.{'failed' if final.get('error') else 'completed'}"
    got.error = (final.get("error") or {}).get("message")
    got.output_tokens = (final.get("usage") or {}).get("output_tokens")
    return got


def _take_items(got: Got, output: list[Any]) -> None:
    for item in output:
        match item["type"]:
            case "reasoning":
                (part,) = item.get("content") or item["summary"]
                got.reasoning += part["text"]
            case "message":
                got.content += item["content"][0]["text"]
            case "function_call":
                got.calls.append((item["name"], item["arguments"]))


DIALECTS: dict[str, Dialect] = {
    "messages": Dialect(
        path="/v1/messages",
        body=_messages_body,
        stream=_messages_stream,
        read=_read_messages,
        low={"output_config": {"effort": "low"}},
    ),
    "responses": Dialect(
        path="/v1/responses",
        body=_responses_body,
        stream=_responses_stream,
        read=_read_responses,
        low={"reasoning": {"effort": "low"}},
    ),
    "messages, vLLM": Dialect(
        path="/vllm/v1/messages",
        body=_messages_body,
        stream=_vllm_messages_stream,
        read=_read_messages,
        low={"thinking": {"type": "enabled"}, "output_config": {"effort": "low"}},
    ),
    "responses, newer vLLM": Dialect(
        path="/vllm/v1/responses",
        body=_responses_body,
        stream=partial(_responses_stream, thought="reasoning_part"),
        read=_read_responses,
        low={"reasoning": {"effort": "low"}},
    ),
    "completions": Dialect(
        path="/v1/completions",
        body=text_body("max_tokens"),
        stream=completions_stream,
        read=read_completions,
        low={"reasoning_effort": "low"},
        continues=lambda asked: "</think>" in asked.json["prompt"],
        calls=False,
        in_parts=False,
        error=b'data: {"error":{"message":"out of memory","code":500}}\n\n',
    ),
    "llama_completion": Dialect(
        path="/completion",
        body=text_body("n_predict"),
        stream=native_stream,
        read=read_native,
        low={"reasoning_effort": "low"},
        continues=lambda asked: "</think>" in asked.json["prompt"],
        limit=lambda body: body["n_predict"],
        calls=False,
        in_parts=False,
        error=b'data: {"error":{"message":"out of memory","code":500}}\n\n',
    ),
    "ollama_chat": Dialect(
        path="/api/chat",
        body=ollama_chat_body,
        stream=partial(ollama_stream, chat=True),
        read=read_ollama,
        kind=NDJSON,
        low={"think": "low"},
        continues=lambda asked: asked.json["messages"][-1]["role"] == "assistant",
        limit=lambda body: body["options"]["num_predict"],
        in_parts=False,
        error=b'{"error":"out of memory"}\n',
    ),
    "ollama_generate": Dialect(
        path="/api/generate",
        body=ollama_generate_body,
        stream=partial(ollama_stream, chat=False),
        read=read_ollama,
        kind=NDJSON,
        low={"think": "low"},
        continues=lambda asked: "</think>" in asked.json["prompt"],
        limit=lambda body: body["options"]["num_predict"],
        calls=False,
        in_parts=False,
        error=b'{"error":"out of memory"}\n',
    ),
}
