"""What every way of continuing a turn is given and gives."""

from __future__ import annotations

from collections.abc import Generator
from typing import Literal, Protocol

import msgspec

from trackside.handoff.body import Members
from trackside.wire.edit import JSON, add_members

type Engine = Literal[
    "vllm",
    "sglang",
    "llama.cpp",
    "ollama",
    "lmstudio",
    "mlx-lm",
    "omlx",
    "openai",
    "deepseek",
]

THINK = ("<think>\n", "\n</think>\n\n")
"""The tags most reasoning templates use, with the line breaks around them."""


LABELS_BY_PROMPT: frozenset[Engine] = frozenset(
    ("llama.cpp", "omlx", "mlx-lm", "deepseek")
)
"""Engines that see from the prompt if the block is closed. Older versions of others
call all of phase 2 reasoning."""


GUESSES_PROMPT: frozenset[tuple[Engine, str]] = frozenset({("ollama", "messages")})
"""Engines and dialects that count a prompt only at the end, and guess it before."""


def reasoning_key(engine: Engine) -> str:
    """Return the member of a chat message that this engine reads reasoning from."""
    return "reasoning" if engine in ("vllm", "ollama") else "reasoning_content"


class Turn(msgspec.Struct, frozen=True):
    """Phase 1 as a strategy sees it."""

    engine: Engine
    members: Members
    """The client's request body, by top-level member."""
    kept: str
    """The reasoning that is handed on, closing sentence included; never empty."""
    spent_tokens: int
    """What phase 1 generated; comes off the answer's token limit."""
    prompt_tokens: int | None = None
    """Phase 1's prompt by the engine's count; None if it did not tell."""
    has_tools: bool = False
    dialect: str = "chat"
    """What `members` is: chat also where it was made of another dialect's request."""


class Call(msgspec.Struct, frozen=True):
    """One request to the engine phase 1 ran on."""

    path: str
    body: bytes
    reads: str = "chat"
    """The dialect of the answer."""
    least_prompt_tokens: int = 0
    """With fewer by the engine's count, the reasoning is not in the prompt it read."""
    may_reason: bool = True
    """False: an answer that begins with reasoning shows that it was not heeded."""


type Calls = Generator[Call, bytes, Call]
"""Helper calls whose JSON answers are sent in, and at the end phase 2's own call.

A helper call that fails is thrown in, as a WireError or an OSError.
"""


class Strategy(Protocol):
    """One way to get the answer after the reasoning was stopped."""

    def fits(self, turn: Turn) -> bool:
        """Tell whether this engine offers it for this request."""
        ...

    def calls(self, turn: Turn) -> Calls:
        """Make phase 2's call.

        Raises:
            WireError: a helper call failed, or its answer is not what was asked for.
            OSError: a helper call found nobody.
        """
        ...


LIMITS = ("max_tokens", "max_completion_tokens", "n_predict")


def limited(members: Members, spent_tokens: int) -> Members:
    """Return the members with what phase 1 spent taken off every token limit.

    A limit that is spent already becomes 1: the engine then ends the turn itself.

    Example:
        >>> limited({"max_tokens": b"100"}, 30)
        {'max_tokens': b'70'}
    """
    out = dict(members)
    if "options" in out:  # Ollama's
        options = msgspec.json.decode(out["options"])
        limit = options.get("num_predict") if isinstance(options, dict) else None
        if type(limit) is int and limit > 0:
            options["num_predict"] = max(1, limit - spent_tokens)
            out["options"] = msgspec.json.encode(options)
    for key in LIMITS:
        if key in out and out[key].isdigit():
            out[key] = b"%d" % max(1, int(out[key]) - spent_tokens)
    return out


def streamed(members: Members, *, running_usage: bool = False) -> Members:
    """Return the members with a stream that tells its usage at the end.

    Parameters:
        running_usage: have it told on every chunk as well, as vLLM and SGLang can.
    """
    told = members.get("stream_options", b"{}")
    options = told if told.startswith(b"{") else b"{}"
    wishes: dict[str, JSON] = {"include_usage": True}
    if running_usage:
        wishes["continuous_usage_stats"] = True
    return {
        **members,
        "stream": b"true",
        "stream_options": add_members(options, wishes),
    }
