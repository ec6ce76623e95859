"""Writes sequences of turns as an engine and the diff would have told them."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import Any

from trackside.ledger.account import Counts, Stage
from trackside.ledger.book import Book
from trackside.ledger.clocks import Clocks
from trackside.ledger.facts import By, End, Facts, Guarded
from trackside.ledger.outline import read_outline
from trackside.ledger.turn import Judged

HEAD_TOKENS = 1000
BYTES_PER_TOKEN = 4
PREFILL_S_PER_TOKEN = 1e-3


def text(tokens: int, name: str) -> str:
    """Return a message body of so many tokens, at four bytes each."""
    return (name * (tokens * BYTES_PER_TOKEN))[: tokens * BYTES_PER_TOKEN]


@dataclass
class Line:
    """One thread as the story has told it so far."""

    name: str
    messages: list[dict[str, Any]]
    flow: str | None = None
    index: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of the prompt, by the story's own tokenizer."""
        said = sum(len(m["content"]) for m in self.messages)
        return said // BYTES_PER_TOKEN


@dataclass
class Story:
    """A book, a clock, and threads that take turns at one engine."""

    engine: str | None = "llama.cpp"
    book: Book = field(default_factory=Book)
    now: float = 1_700_000_000.0
    lines: dict[str, Line] = field(default_factory=dict)
    revised: list[Judged] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def thread(self, name: str, head: str = "s") -> Line:
        """Return a thread; threads with the same `head` share their system text."""
        if name not in self.lines:
            system = {"role": "system", "content": text(HEAD_TOKENS, head)}
            self.lines[name] = Line(name, [system])
        return self.lines[name]

    def turn(
        self,
        name: str,
        cached: int | None,
        *,
        gap_s: float = 3.0,
        adds: tuple[tuple[str, int], ...] = (("assistant", 100), ("user", 100)),
        calls_tools: bool = False,
        prompt: int | None = -1,
        broken: dict[str, Any] | None = None,
        wire: dict[str, Any] | None = None,
        role: str | None = None,
        model: str = "m",
        end: tuple[By, Stage] = ("engine", "complete"),
        status: int | None = 200,
        error: str | None = None,
        ttft_s: float | None = None,
        clocks: Clocks | None = None,
        in_flight: int = 0,
        completion: int | None = 50,
        head: str = "s",
        guard: Guarded | None = None,
        keep_alive_s: float | None = None,
        replica: str = "",
        request_bytes: int | None = None,
        max_tokens: int | None = None,
        told: bool = True,
        notes: tuple[str, ...] = (),
        upstream: str = "http://engine",
    ) -> Judged:
        """Let a thread take its next turn, `gap_s` after the last turn of anybody.

        Parameters:
            cached: what the engine tells of its cache.
            adds: role and tokens of the messages that the prompt goes on with.
            prompt: what the engine counts; -1 for the truth.
            broken: a row of `breaks` on the harness side.
            told: False for an engine that tells no counts at all.
        """
        line = self.thread(name, head)
        first = line.flow is None
        if first:
            adds = tuple(pair for pair in adds if pair[0] != "assistant")
        before = line.tokens
        for who, tokens in adds:
            message = {"role": who, "content": text(tokens, f"{name}{line.index}")}
            if who == "assistant" and calls_tools:
                message["tool_calls"] = []
            line.messages.append(message)
        line.index += 1
        self.now += gap_s
        flow = f"flow-{next(self._numbers)}"
        size = line.tokens
        body = json.dumps({"messages": line.messages}).encode()
        uncached = size - (cached or 0)
        if ttft_s is None:
            ttft_s = uncached * PREFILL_S_PER_TOKEN
        diff = {
            "v": 1,
            "thread": name,
            "turn": line.index,
            "role": role or ("first" if first else "main"),
            "previous": line.flow,
            "append_only": broken is None,
            "reuse_ratio": 1.0,
            "effective": {
                "bytes": size * BYTES_PER_TOKEN,
                "previous_bytes": None if first else before * BYTES_PER_TOKEN,
                "shared_bytes": None if first else before * BYTES_PER_TOKEN,
            },
            "breaks": [row for row in (broken, wire) if row],
            "notes": [*notes],
        }
        if broken:
            diff["effective"]["shared_bytes"] = broken["offset"]
        facts = Facts(
            flow=flow,
            upstream=upstream,
            api="chat",
            engine=self.engine,
            model=model,
            agent="agent",
            status=status,
            started_at=self.now,
            duration_s=ttft_s + 1.0,
            ttft_s=None if end[1] == "before_first_token" else ttft_s,
            in_flight=in_flight,
            request_bytes=request_bytes or size * BYTES_PER_TOKEN,
            digest=hash(body),
            outline=read_outline(body),
            usage=Counts(
                prompt=(size if prompt == -1 else prompt) if told else None,
                completion=completion if told else None,
                cached=cached if told else None,
            ),
            clocks=clocks or Clocks(),
            end=End(end[0], end[1], error=error),
            guard=guard,
            keep_alive_s=keep_alive_s,
            replica=replica,
            max_tokens=max_tokens,
        )
        self.book.begin(facts.upstream, flow, self.now, facts.digest)
        added = self.book.add(facts, diff)
        self.revised += added.revised
        self.now += facts.duration_s
        line.flow = flow
        return added.turn

    def healthy(self, name: str, turns: int = 3, **more: Any) -> Judged:
        """Let a thread take turns that all hit."""
        for _ in range(turns):
            line = self.lines.get(name)
            judged = self.turn(name, line.tokens if line else 0, **more)
        return judged


def broken_at(tokens: int, cause: str, sub: str = "") -> dict[str, Any]:
    """Return a harness break behind so many tokens."""
    offset = tokens * BYTES_PER_TOKEN
    return {
        "cause": cause,
        "sub": sub,
        "side": "harness",
        "path": "messages[1]",
        "offset": offset,
        "raw_offset": offset,
        "lost_bytes": 1,
    }
