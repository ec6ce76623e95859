"""Agents that work side by side without ids, and spoil their prompts in every way."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

WORDS = (
    *("alpha", "beta", "gamma", "delta", "river", "stone", "cloud", "paper"),
    *("engine", "window", "garden", "letter", "silver", "copper", "violet", "amber"),
    *("north", "south", "module", "parser", "socket", "buffer", "thread", "cache"),
)


@dataclass(frozen=True)
class Request:
    """A request and what is true of it."""

    worker: int
    body: bytes
    previous: int | None  # the request it continues
    kind: str  # main, retry, side, branch
    mutation: str
    has_failed: bool = False


def text(rng: random.Random, words: int) -> str:
    """Return some words; two calls never give the same long text."""
    return " ".join(
        f"{rng.choice(WORDS)}{rng.choice(('', '', '', rng.randrange(999)))}"
        for _ in range(words)
    )


def tool(name: str, rng: random.Random) -> dict[str, Any]:
    """Return one tool in OpenAI's shape."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": text(rng, 20),
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "n": {"type": "integer"}},
                "required": ["path"],
            },
        },
    }


@dataclass
class Worker:
    """One thread of turns."""

    number: int
    rng: random.Random
    system: str
    tools: list[dict[str, Any]]
    messages: list[dict[str, Any]]
    clock: int = 0
    last: int | None = None
    ends: list[tuple[int, int]] = field(default_factory=list)
    mutations: tuple[str, ...] = ()

    def turn(self) -> None:
        """Let the engine answer, with a call of one or two tools or in words."""
        rng = self.rng
        if rng.random() < 0.15:
            self.messages.append({"role": "assistant", "content": text(rng, 30) + " "})
            self.messages.append({"role": "user", "content": text(rng, 12)})
            return
        calls = [
            {
                "id": f"call_{rng.getrandbits(48):x}",
                "type": "function",
                "function": {
                    "name": "read",
                    "arguments": json.dumps({"path": text(rng, 3), "n": 1}),
                },
            }
            for _ in range(rng.choice((1, 1, 2)))
        ]
        answer = {"role": "assistant", "content": text(rng, 6) + " "}
        self.messages.append(
            {**answer, "reasoning_content": text(rng, 25), "tool_calls": calls}
        )
        self.messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": text(rng, 60)}
            for call in calls
        ]

    def body(self, system: str | None = None, **more: Any) -> bytes:
        """Return the request as it would be sent now."""
        head = {"role": "system", "content": system or self.system}
        told = {
            "model": "m",
            "messages": [head, *self.messages],
            "tools": self.tools,
            "stream": True,
            **more,
        }
        return json.dumps(told, separators=(",", ":")).encode()


def stamp_system(worker: Worker) -> None:
    """Put the time into the system text."""
    worker.clock += worker.rng.randrange(5, 90)
    base = worker.system.split("\nTime:")[0]
    minute, second = divmod(worker.clock, 60)
    worker.system = f"{base}\nTime: 2026-11-30 12:{minute % 60:02}:{second:02}"


def stamp_first(worker: Worker) -> None:
    """Put the time into the first message."""
    worker.clock += worker.rng.randrange(5, 90)
    first = worker.messages[0]
    base = first["content"].split("\nNow:")[0]
    minute, second = divmod(worker.clock, 60)
    first["content"] = f"{base}\nNow: 2026-11-30T12:{minute % 60:02}:{second:02}Z"


def reorder_tools(worker: Worker) -> None:
    """List the tools in another order."""
    worker.rng.shuffle(worker.tools)


def flap_tool(worker: Worker) -> None:
    """Lose a tool or get another."""
    if len(worker.tools) > 3 and worker.rng.random() < 0.5:
        worker.tools.pop(worker.rng.randrange(len(worker.tools)))
    else:
        name = f"late{worker.rng.randrange(1000)}"
        worker.tools.append(tool(name, worker.rng))


def _old(worker: Worker, role: str) -> list[dict[str, Any]]:
    return [m for m in worker.messages[:-2] if m["role"] == role]


def prune_results(worker: Worker) -> None:
    """Cut an old tool result short."""
    for message in _old(worker, "tool")[:3]:
        message["content"] = message["content"][:20] + " [... result pruned ...]"


def drop_reasoning(worker: Worker) -> None:
    """Forget the reasoning of old answers."""
    for message in _old(worker, "assistant"):
        message.pop("reasoning_content", None)


def trim(worker: Worker) -> None:
    """Trim old answers."""
    for message in _old(worker, "assistant"):
        message["content"] = message["content"].strip()


def space_arguments(worker: Worker) -> None:
    """Write the arguments of old calls anew."""
    for message in _old(worker, "assistant"):
        for call in message.get("tool_calls", ()):
            arguments = json.loads(call["function"]["arguments"])
            compact = json.dumps(arguments, separators=(",", ":"))
            call["function"]["arguments"] = compact


def renew_ids(worker: Worker) -> None:
    """Give every call another id."""
    for message in worker.messages:
        for call in message.get("tool_calls", ()):
            call["id"] = f"call_{worker.rng.getrandbits(48):x}"


def move_reminder(worker: Worker) -> None:
    """Take the reminder from where it was to the last message of a user."""
    block = "\n<system-reminder>Keep the list up to date.</system-reminder>"
    users = [m for m in worker.messages if m["role"] == "user"]
    for message in users:
        message["content"] = message["content"].replace(block, "")
    users[-1]["content"] += block


def swap_results(worker: Worker) -> None:
    """Put parallel tool results into another order."""
    for at in range(len(worker.messages) - 1):
        one, other = worker.messages[at : at + 2]
        if one["role"] == other["role"] == "tool":
            worker.messages[at : at + 2] = [other, one]
            return


def drop_window(worker: Worker) -> None:
    """Let the oldest turns go."""
    if len(worker.messages) > 14:
        del worker.messages[1:5]


def compact(worker: Worker) -> None:
    """Replace all but the last turns by a summary."""
    if len(worker.messages) > 16:
        summary = "<summary>" + text(worker.rng, 60) + "</summary>"
        keep = len(worker.messages) - 5
        while worker.messages[keep]["role"] != "assistant":
            keep -= 1
        worker.messages[:keep] = [{"role": "user", "content": summary}]


MUTATIONS: dict[str, Callable[[Worker], None]] = {
    mutation.__name__: mutation
    for mutation in (
        stamp_system,
        stamp_first,
        reorder_tools,
        flap_tool,
        prune_results,
        drop_reasoning,
        trim,
        space_arguments,
        renew_ids,
        move_reminder,
        swap_results,
        drop_window,
        compact,
    )
}


def workers(rng: random.Random) -> list[Worker]:
    """Return three workers; two of them share most of their first message."""
    system = text(rng, 120)
    tools = [tool(name, rng) for name in ("read", "write", "grep", "bash", "plan")]
    opener = text(rng, 40)
    return [
        Worker(
            number,
            random.Random(rng.getrandbits(32)),
            system,
            copy.deepcopy(tools),
            [{"role": "user", "content": f"{opener if number else ''} {text(rng, 5)}"}],
        )
        for number in range(3)
    ]


def interleaved(seed: int, steps: int) -> Iterator[Request]:
    """Yield the requests of three workers in a random order.

    Besides mutations there are side calls, requests sent again after an error, and
    branches from an earlier turn.
    """
    rng = random.Random(seed)
    crew = workers(rng)
    copies: dict[int, list[tuple[int, list[dict[str, Any]]]]] = {0: [], 1: [], 2: []}
    index = 0
    for _ in range(steps):
        worker = rng.choice(crew)
        kind, mutation, failed = "main", "", False
        dice = rng.random()
        if worker.last is not None and dice < 0.04:
            asked = f"{worker.messages[0]['content'][:80]} {text(rng, 4)}"
            side = [
                {"role": "system", "content": "Write a title."},
                {"role": "user", "content": asked},
            ]
            body = json.dumps({"model": "m", "messages": side}).encode()
            yield Request(worker.number, body, None, "side", "")
            index += 1
            continue
        if worker.last is not None:
            worker.turn()
            if dice > 0.55:
                mutation = rng.choice(list(MUTATIONS))
                MUTATIONS[mutation](worker)
        failed = rng.random() < 0.05
        body = worker.body()
        yield Request(worker.number, body, worker.last, kind, mutation, failed)
        worker.last = index
        copies[worker.number].append((index, copy.deepcopy(worker.messages)))
        index += 1
        if failed:
            yield Request(worker.number, body, worker.last, "retry", "")
            worker.last = index
            index += 1
