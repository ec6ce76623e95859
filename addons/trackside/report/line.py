"""One line per turn, for a person who glances at it."""

from collections.abc import Mapping
from typing import Any

from trackside.ledger.sentence import percent

FAULTS = ("harness", "engine", "template", "unexplained")
"""Verdicts that need a look."""

ORDINARY = (
    *(None, "stop", "tool_calls", "function_call"),  # OpenAI, Ollama
    *("end_turn", "tool_use", "stop_sequence"),  # Anthropic
    *("completed", "eos", "word"),  # OpenAI responses, llama.cpp
)
"""Reasons to end a turn that need no word."""

_COLOURS = {
    "healthy": "32",
    "harness": "33",
    "engine": "31",
    "template": "35",
    "unexplained": "36",
}


def turn_line(record: Mapping[str, Any], *, colour: bool) -> str:
    """Return the line of a turn, and its verdict if that is a fault.

    Parameters:
        record: a `trackside.turn` record.
        colour: for a terminal that takes ANSI colours.
    """
    usage, cache, verdict = record["usage"], record["cache"], record["verdict"]
    words = [" ".join(filter(None, _who(record)))]
    prompt = usage["prompt"]
    told = prompt is not None
    context = prompt if told else record["estimate"]["prompt_tokens"]
    words.append(f"{'' if told else '~'}{tokens(context)} ctx")
    if usage["completion"] is not None:
        words.append(f"+{tokens(usage['completion'])} tok")
    if record["ttft_s"] is not None:
        words.append(f"ttft {record['ttft_s']:.2f} s")
    words.append(_cache(cache, context))
    if record["output_tokens_per_s"]:
        words.append(f"{record['output_tokens_per_s']:.0f} tok/s")
    words += _end(record)
    line = "  ".join(word for word in words if word)
    if verdict["fault"] in FAULTS or verdict["cause"] == "resend":
        line += f"  [{verdict['text']}]"
    if not colour:
        return line
    return f"\x1b[{_COLOURS.get(verdict['fault'], '0')}m{line}\x1b[0m"


def tokens(count: int) -> str:
    """Return a number of tokens, short.

    Example:
        >>> tokens(512), tokens(48_213), tokens(1_300_000)
        ('512', '48.2k', '1.3M')
    """
    if count < 10_000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1e6:.1f}M"


def _who(record: Mapping[str, Any]) -> list[str]:
    guard = record["guard"] or {}
    index = record["index"]
    return [
        record["agent"] or record["model"],
        record["thread"] or "",
        f"#{index}" if index is not None else "",
        "phase 2" if guard.get("phase") == 2 else "",
    ]


def _cache(cache: Mapping[str, Any], context: int) -> str:
    cached = cache["cached_tokens"]
    if cached is None:
        return "cache unknown"
    by_clock = "~" if cache["source"] == "inferred" else ""
    return f"{cache['state']} {by_clock}{percent(cached / max(context, 1))}"


def _end(record: Mapping[str, Any]) -> list[str]:
    end, guard = record["end"], record["guard"] or {}
    words = []
    if record["in_flight"]:
        words.append(f"{record['in_flight']} in flight")
    if guard.get("tripped"):
        words.append(f"guard: {guard['reason']}")
    if end["by"] in ("client", "error"):
        why = f" ({end['error']})" if end["error"] else ""
        stage = end["stage"].replace("_", " ")
        words.append(f"ended by {end['by']}, {stage}{why}")
    elif end["finish_reason"] not in ORDINARY:
        words.append(end["finish_reason"])
    return words
