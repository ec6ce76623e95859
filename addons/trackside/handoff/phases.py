"""What phase 1 leaves to phase 2."""

from __future__ import annotations

import msgspec

from trackside.handoff.usage import Counts
from trackside.wire.pieces import Start


class Phase1(msgspec.Struct, frozen=True):
    """What the client has had of its response, and what it asked for."""

    start: Start
    kept: str
    kept_tokens: int
    counts: Counts
    timings: dict[str, float] | None = None
    wants_usage: bool = False
    wants_running_usage: bool = False  # usage on every chunk
    closes_inline: str = ""  # owed to a client that gets think tags in content
    trusts_labels: bool = True  # the engine's parser knows that the block is closed

    def alone(self) -> Phase1:
        """Return it for a phase 2 that was handed nothing on."""
        return msgspec.structs.replace(self, kept="", kept_tokens=0)

    def counted(self, phase2: Counts) -> Counts:
        """Return the counts; a prompt it did not live to tell is phase 2's, less R."""
        if self.counts.prompt is not None or phase2.prompt is None:
            return self.counts
        prompt = max(0, phase2.prompt - self.kept_tokens)
        return msgspec.structs.replace(self.counts, prompt=prompt)
