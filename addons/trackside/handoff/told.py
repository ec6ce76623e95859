"""What the guard did, in a sentence, from its metadata."""

from typing import Any

ERROR_CHARS = 200
"""An engine may send the whole chat back inside an error."""


def sentence(record: dict[str, Any]) -> str:
    """Return one line with everything the guard did, for log and comment.

    Example:
        >>> sentence({"v": 1, "tripped": False, "reasoning_tokens": 12,
        ...           "tokens_source": "engine"})
        'no loop in 12 reasoning tokens (engine)'
    """
    if "phase1" in record:
        return f"phase 2 of flow {record['phase1']}"
    tokens = (
        f"{record['reasoning_tokens']} reasoning tokens ({record['tokens_source']})"
    )
    if not record["tripped"]:
        return _one_line(f"no loop in {tokens}{repeats(record)}")
    parts = [f"tripped by {record['reason']} in {record['channel']} at {tokens}"]
    if detail := record["detail"]:
        parts.append(
            f"{detail['copies']} copies from char {detail['start_char']}"
            f" to {detail['end_char']}"
        )
    effort = f" for effort {record['effort']}" if record["effort"] else ""
    limit = record["budget_tokens"]
    parts.append(f"budget {limit or 'none'}{effort}")
    handoff = record["handoff"]
    if handoff is None:
        parts.append(f"action {record['action']}: not acted on")
    else:
        way = handoff.get("way") or record["strategy"]
        by = "" if way == record["strategy"] else f" ({way})"
        parts.append(f"action {record['action']}, strategy {record['strategy']}{by}")
        parts += _handoff(handoff)
    merged = record["usage"]["merged"]
    told = ", ".join(f"{k} {v}" for k, v in merged.items() if v is not None)
    parts.append(f"usage {told or 'not told'}")
    end = record["end"]
    parts.append(f"ended {end['finish_reason']} by {end['by']}")
    return _one_line("; ".join(parts) + repeats(record))


def repeats(record: dict[str, Any]) -> str:
    """Return what the agent's turns repeat, as the end of a sentence; "" if nothing.

    Example:
        >>> repeats({"evidence": [{"detector": "toolcalls", "what": "call",
        ...                        "calls": ["ls"], "copies": 3, "turns": 3}]})
        '; the agent repeats itself: call ls, 3 copies in 3 turns'
    """
    for row in record.get("evidence", ()):
        if row["detector"] == "toolcalls":
            what = " ".join([row["what"], *row["calls"]])
            copies = f"{row['copies']} copies in {row['turns']} turns"
            return f"; the agent repeats itself: {what}, {copies}"
    return ""


def _handoff(handoff: dict[str, Any]) -> list[str]:
    parts = []
    if handoff["ttft_s"] is not None:
        parts.append(f"answer after {handoff['ttft_s']:.3f} s")
    if handoff["cached_tokens"] is not None:
        total = handoff["prompt_tokens"]
        of_total = "" if total is None else f" of {total}"
        parts.append(f"{handoff['cached_tokens']}{of_total} prompt tokens cached")
    if handoff["error"]:
        error = handoff["error"]
        cut = "…" if len(error) > ERROR_CHARS else ""
        parts.append(f"handoff error: {error[:ERROR_CHARS]}{cut}")
    return parts


def _one_line(text: str) -> str:
    """Take out what engines and clients may have put in to break a line or a screen."""
    printable = (char if char.isprintable() else " " for char in text)
    return " ".join("".join(printable).split())
