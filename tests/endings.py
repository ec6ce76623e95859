"""An engine that lets its answers end in every way there is, in each dialect."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import cases
from dialects import DIALECTS, LOOK, Dialect
from got import Got
from own_dialects import NDJSON, ollama_calls
from scripted import SSE, Asked, Hangup, Reply, chunk, stream, usage

THOUGHTS = ("Let me see. ", "A riddle. ")
WORDS = ("It is ", "blue. ")
MARK = "ending"
FAILED = {"error": {"message": "a secret: out of memory", "code": "oom"}}


@dataclass(frozen=True)
class Kind:
    """What a dialect says besides what `Dialect` has."""

    last: bytes
    """Stands in its last event alone."""
    reason: str
    """Why a whole answer ended."""
    whole: Mapping[str, Any]
    """An answer that is not streamed."""
    calls: Callable[[], Iterable[bytes]] | None = None
    """Events of a call that is under way, or just told."""
    failure: bytes = b'data: {"error":{"message":"a secret","code":"oom"}}\n\n'
    code: str = "oom"
    """What the failure is known by; never its words."""


def _event(kind: str, **more: Any) -> bytes:
    data = json.dumps({"type": kind, **more})
    return f"event: {kind}\ndata: {data}\n\n".encode()


def _chat_calls() -> Iterator[bytes]:
    call = {"index": 0, "id": "c1", "type": "function"}
    yield chunk({"role": "assistant", "content": None})
    yield chunk({"tool_calls": [{**call, "function": {"name": LOOK[0]}}]})
    yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": LOOK[1]}}]})


def _message_calls() -> Iterator[bytes]:
    message = {"id": "msg_1", "role": "assistant", "usage": {"input_tokens": 5}}
    yield _event("message_start", message=message)
    block = {"type": "tool_use", "id": "c1", "name": LOOK[0], "input": {}}
    yield _event("content_block_start", index=0, content_block=block)
    delta = {"type": "input_json_delta", "partial_json": LOOK[1]}
    yield _event("content_block_delta", index=0, delta=delta)


def _response_calls() -> Iterator[bytes]:
    item = {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": LOOK[0]}
    at = {"output_index": 0, "item_id": "fc_1"}
    yield _event("response.output_item.added", output_index=0, item=item)
    yield _event("response.function_call_arguments.delta", delta=LOOK[1], **at)


def _choice(**said: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": "stop", **said}]}


_OUTPUT = [
    {"type": "reasoning", "id": "rs_1", "content": [{"type": "t", "text": "Hm"}]},
    {"type": "message", "id": "m_1", "content": [{"type": "t", "text": "Blue."}]},
]
_OLLAMA = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 3}

KINDS: dict[str, Kind] = {
    "chat": Kind(
        last=b"[DONE]",
        reason="stop",
        whole={**_choice(message={"content": "Blue."}), "usage": usage(9, 3)},
        calls=_chat_calls,
    ),
    "completions": Kind(
        last=b"[DONE]",
        reason="stop",
        whole={**_choice(text="Blue."), "usage": usage(9, 3)},
    ),
    "llama_completion": Kind(
        last=b'"stop": true',
        reason="eos",
        whole={
            **{"content": "Blue.", "stop": True, "stop_type": "eos"},
            **{"tokens_evaluated": 9, "tokens_predicted": 3},
        },
    ),
    "messages": Kind(
        last=b"event: message_stop",
        reason="end_turn",
        whole={
            **{"type": "message", "stop_reason": "end_turn", "model": "m"},
            "content": [{"type": "text", "text": "Blue."}],
            "usage": {"input_tokens": 9, "output_tokens": 3},
        },
        calls=_message_calls,
        failure=_event("error", error={"type": "oom", "message": "a secret"}),
    ),
    "responses": Kind(
        last=b"event: response.completed",
        reason="completed",
        whole={
            **{"object": "response", "status": "completed", "output": _OUTPUT},
            "usage": {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12},
        },
        calls=_response_calls,
        failure=_event("error", code="oom", message="a secret"),
    ),
    "ollama_chat": Kind(
        last=b'"done": true',
        reason="stop",
        whole={**_OLLAMA, "message": {"role": "assistant", "content": "Blue."}},
        calls=lambda: list(ollama_calls(*LOOK))[:1],
        failure=b'{"error":"a secret"}\n',
        code="error",
    ),
    "ollama_generate": Kind(
        last=b'"done": true',
        reason="stop",
        whole={**_OLLAMA, "response": "Blue."},
        failure=b'{"error":"a secret"}\n',
        code="error",
    ),
}

CHAT = Dialect(
    path="/v1/chat/completions",
    body=cases.body,
    stream=lambda thoughts, words: stream(thoughts, words, usage=usage(9, 8, 1)),
    read=lambda _: Got(),
)
ALL: dict[str, Dialect] = {
    "chat": CHAT,
    **{name: dialect for name, dialect in DIALECTS.items() if name in KINDS},
}


def script(asked: Asked) -> Reply | None:
    """Answer so that it ends as the prompt says: "ending NAME"."""
    for name, dialect in ALL.items():
        if asked.method == "POST" and asked.path == dialect.path:
            return _answer(name, dialect, asked)
    return None


_REFUSED: set[bytes] = set()


def _answer(name: str, dialect: Dialect, asked: Asked) -> Reply:
    found = re.search(rb"ending ([\w ]+)", asked.body)
    ending = found[1].decode() if found else ""
    is_refused = ending == "retried" and asked.body not in _REFUSED
    _REFUSED.add(asked.body)
    if is_refused or ending.endswith("status"):
        return Reply(json.dumps(FAILED).encode(), 503)
    if not asked.json.get("stream", dialect.kind == NDJSON):
        told = json.dumps(KINDS[name].whole).encode()
        if ending == "whole":
            return Reply(told)
        headers = {"Content-Type": "application/json"}
        return Reply(_unsaid(told, ending), headers=headers)
    events = _events(name, dialect, ending)
    return Reply(events, headers=dict(NDJSON if dialect.kind == NDJSON else SSE))


def _unsaid(told: bytes, ending: str) -> Iterator[bytes]:
    yield told[:9]
    if ending == "whole dies":
        raise Hangup
    yield from _stall(b"")


def _events(name: str, dialect: Dialect, ending: str) -> Iterator[bytes]:
    kind, life = KINDS[name], b"\n" if dialect.kind == NDJSON else b": keep-alive\n\n"
    whole = list(dialect.stream(THOUGHTS, WORDS))
    verb, _, where = ending.removeprefix("whole ").partition(" ")
    if where == "silent" or verb in ("left", "resent"):
        yield from _stall(b"")
    elif ending == "whole dies":
        raise Hangup
    elif where in ("in reasoning", "in content"):
        last = b"riddle" if where == "in reasoning" else b"blue"
        yield from whole[: 1 + next(n for n, e in enumerate(whole) if last in e)]
    elif where == "in a call" and kind.calls:
        yield from kind.calls()
    elif where != "at once":
        yield from whole
        if ending == "stays open":
            time.sleep(1.0)  # longer than a turn is settled late
        return
    if verb == "leaves":
        yield from _stall(life)
    elif verb == "fails":
        yield kind.failure
    elif verb == "dies":
        raise Hangup


def _stall(life: bytes) -> Iterator[bytes]:
    """Yield signs of life, or nothing, for longer than any client waits."""
    for _ in range(50 if life else 20):
        time.sleep(0.05)
        yield life
