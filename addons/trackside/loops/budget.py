"""How many reasoning tokens each effort level may spend."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT = "low:4096,medium:12288,high:24576,max:49152,default:24576"
"""Finished healthy traces: median 4.5k tokens, p90 11.1k, p99 18.7k."""

LEVELS = ("low", "medium", "high", "max", "default")

# Names that engines and agents use for a level between or beside ours. Upwards where
# there is a choice: a limit that is too high costs less than a good answer cut short.
_ALIASES = {"minimal": "low", "xhigh": "max"}


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits per effort level, in tokens; 0 means no limit."""

    limits: dict[str, int]

    def limit(self, effort: str | None) -> int | None:
        """Return the limit in tokens, or None for no limit.

        "minimal" counts as low and "xhigh" as max. A level that has no limit of its
        own, an unknown one, "none" and None get the limit of "default", if any.

        Example:
            >>> parse("high:9000,default:5000").limit("high")
            9000
            >>> parse("high:9000,default:5000").limit("medium")
            5000
        """
        level = (effort or "default").strip().lower()
        level = _ALIASES.get(level, level)
        return self.limits.get(level, self.limits.get("default", 0)) or None


def parse(spec: str) -> Budgets:
    """Read "low:4096,…,default:24576".

    Raises:
        ValueError: an item is not LEVEL:TOKENS, names no level or names one twice.
    """
    limits: dict[str, int] = {}
    for item in filter(None, (part.strip() for part in spec.split(","))):
        level, colon, tokens = (part.strip() for part in item.partition(":"))
        if not colon or not (tokens.isascii() and tokens.isdecimal()):
            raise ValueError(f"budget: got {item!r}, want LEVEL:TOKENS like high:24576")
        if level not in LEVELS:
            known = ", ".join(LEVELS)
            raise ValueError(f"budget: no level {level!r}, want one of {known}")
        if level in limits:
            raise ValueError(f"budget: level {level!r} is given twice")
        limits[level] = int(tokens)
    return Budgets(limits)
