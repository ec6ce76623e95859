"""What a client made of a response."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Got:
    """Texts, calls and ending, whatever the dialect."""

    reasoning: str = ""
    content: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    finish: str | None = None
    output_tokens: int | None = None
    error: str | None = None
