"""The play that an engine gives to an agent: write a file, read it, answer."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agents.speech import SPEECHES, Call, Turn
from engines.scripted import Asked, Reply

TASK = "Write the word blue into colour.txt, read it back, and say what it holds."
FILE, CONTENT = "colour.txt", "blue\n"
ANSWER = "colour.txt holds the word blue."
THOUGHTS = (
    ("The file is not there yet, ", "so I write it first."),
    ("It is written. ", "Reading it back shows whether that went well."),
    ("Both went well, ", "so only the report is left."),
)
LOOP = "So the answer must be blue, but wait, it could be green as well.\n"
PIECE_CHARS = 4
LOOP_TOKENS = 3000
"""Where the token limit ends a loop that nobody stops."""
GAP_S = 0.002
SSE = {"Content-Type": "text/event-stream"}

type Calls = Callable[[int, str], tuple[str, Mapping[str, Any]]]
"""Of the step (0 writes, 1 reads) and the working folder: tool and arguments."""


class Play:
    """Answers an agent as `engines.scripted.Script`.

    Parameters:
        calls: the agent's own tools for the two steps.
        folder: where it works.
        loops: the reasoning of the first step runs in a loop.
    """

    def __init__(self, calls: Calls, folder: str, *, loops: bool) -> None:
        self._calls, self._folder, self._loops = calls, folder, loops
        self.events = 0
        """Events sent so far, in all turns."""

    def __call__(self, asked: Asked) -> Reply | None:
        """Answer a request for a turn, and llama.cpp's probe."""
        path = asked.path.partition("?")[0]
        if path == "/props":
            return Reply(b'{"default_generation_settings":{}}')
        if path not in SPEECHES or asked.method != "POST":
            return None
        body = asked.json
        turn = self._turn(body, continues="messages" in body and asked.continues)
        events = SPEECHES[path](turn)
        return Reply(self._counted(events), headers=SSE)

    def _turn(self, body: Mapping[str, Any], *, continues: bool) -> Turn:
        if not body.get("tools"):
            return Turn("side", (), "Colour of a file")
        step = tool_results(body)
        if step == 0 and self._loops and not continues:
            pieces = looping(LOOP_TOKENS)
            return Turn("loop", pieces, "", is_cut=True, tokens=LOOP_TOKENS)
        reasoning = () if continues else THOUGHTS[min(step, 2)]
        if step > 1:
            return Turn(f"{step}", reasoning, ANSWER)
        name, arguments = self._calls(step, self._folder)
        call = Call(f"call_{step}", name, arguments)
        return Turn(f"{step}", reasoning, "", call)

    def _counted(self, events: Iterator[bytes]) -> Iterator[bytes]:
        for event in events:
            self.events += 1
            yield event


def tool_results(body: Mapping[str, Any]) -> int:
    """Return how many results of tools a request holds, in any dialect.

    Example:
        >>> tool_results({"messages": [{"role": "tool", "content": "ok"}]})
        1
    """
    items = body.get("messages") or body.get("input") or ()
    if not isinstance(items, list):
        return 0
    blocks = itertools.chain.from_iterable(
        item["content"] for item in items if isinstance(item.get("content"), list)
    )
    found = [item.get("role") == "tool" for item in items]
    found += [item.get("type") == "function_call_output" for item in items]
    found += [block.get("type") == "tool_result" for block in blocks]
    return sum(found)


def looping(pieces: int) -> Iterator[str]:
    """Yield so many pieces of a loop, at the pace of a quick engine."""
    yield from THOUGHTS[0]
    text = LOOP * (pieces * PIECE_CHARS // len(LOOP) + 1)
    for at in range(0, pieces * PIECE_CHARS, PIECE_CHARS):
        time.sleep(GAP_S)
        yield text[at : at + PIECE_CHARS]


def is_turn(asked: Asked) -> bool:
    """Tell a request for a turn from the guard's probes.

    Example:
        >>> is_turn(Asked("GET", "/props", {}, b""))
        False
    """
    return asked.method == "POST" and asked.path.partition("?")[0] in SPEECHES


def is_phase2(asked: Asked) -> bool:
    """Tell the guard's own request for the answer from those of the agent.

    Example:
        >>> said = b'{"messages": [{"role": "assistant", "content": "Hm"}]}'
        >>> is_phase2(Asked("POST", "/v1/chat/completions", {}, said))
        True
    """
    return asked.path.startswith("/v1/chat") and asked.continues
