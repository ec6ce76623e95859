"""Engines that serve more than chat, as far as a trip needs them.

Their streams have the shapes of SGLang 0.5.23 (serving_responses.py,
serving_completions.py, anthropic/serving.py), Ollama 0.33 (openai/responses.go,
anthropic/anthropic.go, middleware/openai.go) and oMLX's responses (omlx/server.py); the
rest of oMLX, LM Studio and what is not known speak as vLLM does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from cases import ANSWER
from dialects import DIALECTS
from own_dialects import completions_stream
from scripted import LOOP, OPENING, SSE, Asked, Reply, Scripted, stream, usage

type Stream = Callable[..., Iterator[bytes]]

PHASE2_TOKENS = 3
COUNTS = usage(70, PHASE2_TOKENS, 64)


def _event(number: int, kind: str, **data: Any) -> bytes:
    told = {"type": f"response.{kind}", "sequence_number": number, **data}
    return f"event: response.{kind}\ndata: {json.dumps(told)}\n\n".encode()


def summaries(
    reasoning: Iterable[str],
    content: Iterable[str],
    tokens: int = 9,
    *,
    first: int = 0,
    has_parts: bool = False,
) -> Iterator[bytes]:
    """Yield reasoning as the summary of an item.

    Parameters:
        first: number of the first event.
        has_parts: a part is announced before its text.
    """
    number = count(first)
    told = {"id": "resp_1", "object": "response", "model": "m", "created_at": 17}
    response = {**told, "status": "in_progress", "output": []}
    yield _event(next(number), "created", response=response)
    yield _event(next(number), "in_progress", response=response)
    item = {"id": "rs_1", "type": "reasoning", "summary": []}
    yield _event(next(number), "output_item.added", output_index=0, item=item)
    at = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    if has_parts:
        part = {"type": "summary_text", "text": ""}
        yield _event(next(number), "reasoning_summary_part.added", **at, part=part)
    for text in reasoning:
        yield _event(next(number), "reasoning_summary_text.delta", **at, delta=text)


def split_usage(
    reasoning: Iterable[str],
    content: Iterable[str],
    tokens: int = 9,
    *,
    before: Mapping[str, int] | None = None,
) -> Iterator[bytes]:
    """Yield a text completion whose counts come by themselves.

    Parameters:
        before: what is told instead of them with everything else.
    """
    *events, done = completions_stream(reasoning, content, tokens)
    for event in events:
        told = json.loads(event.removeprefix(b"data: "))
        counts = told.pop("usage", None)
        yield _data({**told, "usage": before})
        if counts:
            yield _data({**told, "usage": counts, "choices": []})
    yield done


def _data(told: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(told)}\n\n".encode()


_RESPONSES, _MESSAGES = DIALECTS["responses"], DIALECTS["messages, vLLM"]


@dataclass(frozen=True)
class Kind:
    """What an engine tells of itself, and how it goes on."""

    probe: str = ""
    told: Mapping[str, Any] = field(default_factory=dict)
    responses: Stream = _RESPONSES.stream
    completions: Stream = completions_stream


def _models(owner: str) -> dict[str, Any]:
    return {"data": [{"id": "m", "owned_by": owner}]}


KINDS: dict[str, Kind] = {
    "sglang": Kind("/v1/models", _models("sglang"), completions=split_usage),
    "ollama": Kind(
        "/api/version",
        {"version": "0.33.0"},
        responses=summaries,
        completions=partial(split_usage, before=usage(0, 0)),
    ),
    "omlx": Kind(
        "/v1/models",
        _models("omlx"),
        responses=partial(summaries, first=1, has_parts=True),
    ),
    "lmstudio": Kind("/api/v0/models", {"data": []}, completions=split_usage),
    "other": Kind(),
}


class Engine:
    """One of them, as a script; remembers what it was told to abort.

    Phase 2 is refused, with 400 or 404, if a request says "refused" or "vanished".
    """

    def __init__(self, name: str) -> None:
        self.kind = KINDS[name]
        self.state: Scripted | None = None
        self.aborted: list[tuple[str, int]] = []
        """Ids, and how many streams had been closed by then."""

    def __call__(self, asked: Asked) -> Reply | None:
        """See `scripted.Script`."""
        if asked.path == self.kind.probe:
            return Reply(json.dumps(self.kind.told).encode())
        if asked.path == "/abort_request":
            assert self.state
            self.aborted.append((asked.json["rid"], len(self.state.cut)))
            return Reply(b"")
        if asked.path == "/v1/tokenize":
            return Reply(b'{"tokens":[1,2,3]}')
        if asked.path == "/v1/detokenize":
            return Reply(b'{"text":"assistant\\n"}')
        if asked.path == "/v1/chat/completions":
            return _refusal(asked) or Reply(
                stream(content=ANSWER, usage=COUNTS, id="p2"), headers=SSE
            )
        if asked.path == "/v1/completions":
            return self._complete(asked)
        streams = {
            "/v1/responses": self.kind.responses,
            "/v1/messages": _MESSAGES.stream,
        }
        told = streams.get(asked.path)
        return told and _looping(told)

    def _complete(self, asked: Asked) -> Reply:
        told = self.kind.completions
        if "</think>" not in asked.json["prompt"]:
            return _looping(told)
        return _refusal(asked) or Reply(told((), ANSWER, PHASE2_TOKENS), headers=SSE)


def _looping(told: Stream) -> Reply:
    return Reply(_slowly(told([*OPENING, *LOOP], ())), headers=SSE)


def _slowly(events: Iterator[bytes]) -> Iterator[bytes]:
    for event in events:
        time.sleep(0.001)
        yield event


def _refusal(asked: Asked) -> Reply | None:
    if b"refused" in asked.body:
        return Reply(b'{"error":{"message":"no prefill","code":400}}', 400)
    if b"vanished" in asked.body:
        return Reply(b"404 page not found", 404, {"Content-Type": "text/plain"})
    return None
