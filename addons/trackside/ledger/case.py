"""One turn that lost cached tokens, with all that may explain it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from trackside.ledger.calibration import Calibration
from trackside.ledger.facts import Facts
from trackside.ledger.outline import Unit

type Confidence = Literal["possible", "likely", "proven"]
type State = Literal["hit", "partial", "miss", "cold", "unknown"]

RANK: Mapping[str, int] = {"possible": 1, "likely": 2, "proven": 3}
GONE_SHARE = 0.05
GROWN = 1.25
"""A crowd that is larger than any before by this is another crowd, not the same."""


class Guess(msgspec.Struct, frozen=True):
    """One cause that fits."""

    cause: str
    confidence: Confidence
    because: str  # the evidence, as the end of a sentence
    sub: str = ""
    by: str | None = None  # the thread that did it


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """A turn as later ones look back on it."""

    facts: Facts
    thread: str | None
    previous: str | None  # flow of the turn it goes on from
    is_extension: bool  # goes on from it and rewrites nothing
    gap_s: float | None  # since the previous turn ended
    prompt: int | None  # tokens, told or estimated
    cached: int | None
    expected: int | None
    is_told: bool  # the engine itself told `cached`
    state: State
    cause: str = ""  # of the verdict
    adds_user: bool = False  # goes on with words of a person, not only tool results
    calls_tools: bool = False  # goes on behind a tool call of the model
    crowd_tokens: int = 0  # prompts of other threads since the previous turn ended


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """What causes are judged by. Tokens everywhere but where a unit is named."""

    facts: Facts
    diff: Mapping[str, Any]
    previous: Past
    prompt: int
    expected: int  # could have been reused by the bytes
    cached: int
    tol: int
    block: int
    gap_s: float
    levels: Sequence[int]  # prompts of the turns before the previous one
    between: Sequence[Past]  # others at the upstream since the previous turn ended
    recent: Sequence[Past]  # turns of this model at this upstream, the newest last
    upstream: Sequence[Past]  # turns of any model there, the newest last
    model: Calibration
    fresh: Sequence[Unit]  # what the prompt has behind the previous one
    tokens_at: Mapping[str, int]  # of `boundary`, `leading_system`

    @property
    def is_append_only(self) -> bool:
        """Nothing on the harness side breaks the prefix."""
        return bool(self.diff.get("append_only"))

    @property
    def is_gone(self) -> bool:
        """Next to nothing was reused."""
        return self.cached <= max(self.block, GONE_SHARE * self.expected)

    @property
    def floor(self) -> int:
        """What the previous turn itself found in the cache, or should have found."""
        found = self.previous.cached
        return (self.previous.expected or 0) if found is None else found

    @property
    def is_without_previous(self) -> bool:
        """As much was reused as if the previous turn, or more of them, had not been."""
        levels = (self.floor, *self.levels)
        return any(abs(self.cached - level) <= self.tol for level in levels)

    @property
    def waited_s(self) -> float:
        """Seconds before the engine began to read the prompt, queues left out."""
        told, ttft_s = self.facts.clocks.prefill_s, self.facts.ttft_s
        if self.facts.clocks.load_s is not None:
            return self.facts.clocks.load_s
        if told is None or ttft_s is None or self.facts.in_flight:
            return 0.0
        return max(ttft_s - told - (self.facts.clocks.queue_s or 0.0), 0.0)

    @property
    def crowd_tokens(self) -> int:
        """Prompts of other threads since the previous turn ended."""
        return sum(prompts_of(self.between).values())

    @property
    def survived_tokens(self) -> int:
        """The largest such crowd behind which a turn still hit."""
        hits = (p.crowd_tokens for p in self.extensions() if p.state == "hit")
        return max(hits, default=0)

    def extensions(self) -> list[Past]:
        """Return earlier turns of the model that only went on and were told cached."""
        return [p for p in self.recent if p.is_extension and p.is_told]


def prompts_of(pasts: Iterable[Past]) -> dict[str, int]:
    """Return the tokens of the largest prompt of each thread."""
    largest: dict[str, int] = {}
    for past in pasts:
        who = past.thread or past.facts.flow
        largest[who] = max(largest.get(who, 0), past.prompt or 0)
    return largest


def is_gone(past: Past) -> bool:
    """Tell whether a turn that should have hit found next to nothing."""
    if past.cached is None or not past.expected:
        return False
    return past.cached <= GONE_SHARE * past.expected
