"""A diff in words: the line of the log, and the verdict a person reads."""

from collections.abc import Mapping
from typing import Any

from trackside.prefix.advice import advise

_QUIET = ("first", "side")


def log_line(record: Mapping[str, Any]) -> str:
    """Return the one line that tells what a request did to its prefix."""
    if "problem" in record:
        return f"not compared: {record['problem']}"
    words = [f"thread {record['thread']} #{record['turn']}"]
    effective, messages = record["effective"], record["messages"]
    if record["previous"] is None:
        words.append(f"{effective['bytes']:,} B {_count(messages['appended'])}")
        words.append(_beginning(record))
        return _joined(words, record)
    added = effective["bytes"] - effective["previous_bytes"]
    words.append(f"{added:+,} B {_count(messages['appended'])}")
    words.append(_reuse(record))
    return _joined(words, record)


def _joined(words: list[str], record: Mapping[str, Any]) -> str:
    line = f"{words[0]} {words[1]}, {words[2]}"
    return ", ".join([line, *(note.replace("_", " ") for note in record["notes"])])


def _count(messages: int) -> str:
    return f"{messages} message{'' if messages == 1 else 's'}"


def _beginning(record: Mapping[str, Any]) -> str:
    border = _first(record, "session_border")
    if border:
        shared = record["effective"]["shared_bytes"]
        return f"another task under the same head, {shared:,} B shared"
    return "side call" if record["role"] == "side" else "first request"


def _reuse(record: Mapping[str, Any]) -> str:
    reused = percent(record["reuse_ratio"])
    role = record["role"]
    told = "" if role == "main" else f"{role}, "
    if _first(record, "resend"):
        told = "resend, "
    deciding = [row for row in record["breaks"] if row["side"] == "harness"]
    if not deciding:
        return f"{told}{reused} reused, append-only"
    worst = min(deciding, key=lambda row: (row["offset"], row["raw_offset"]))
    more = f" (+{len(deciding) - 1} more)" if len(deciding) > 1 else ""
    return (
        f"{told}{reused} reused: {cause_name(worst)} at {worst['path']}{more}, "
        f"~{_tokens(worst['lost_tokens'])} tokens lost"
    )


def _first(record: Mapping[str, Any], cause: str) -> Mapping[str, Any] | None:
    return next((row for row in record["breaks"] if row["cause"] == cause), None)


def percent(ratio: float | None) -> str:
    """Return a ratio in percent; 100 only where it is whole.

    Example:
        >>> percent(0.9996), percent(1.0)
        ('99.9 %', '100 %')
    """
    if ratio is None:
        return "unknown share"
    if ratio in (0.0, 1.0):
        return f"{ratio:.0%}".replace("%", " %")
    percent = min(int(ratio * 1000) / 10, 99.9)
    return f"{percent:g} %" if percent > 90 or percent < 1 else f"{percent:.0f} %"


def _tokens(count: int) -> str:
    return f"{count / 1000:.0f}k" if count >= 10_000 else f"{count:,}"


def cause_name(row: Mapping[str, Any]) -> str:
    """Return a break's cause with its sub.

    Example:
        >>> cause_name({"cause": "volatile_stamp", "sub": "clock"})
        'volatile_stamp/clock'
    """
    return f"{row['cause']}/{row['sub']}" if row["sub"] else str(row["cause"])


def verdict(record: Mapping[str, Any], *, names: tuple[str, str] = ("A", "B")) -> str:
    """Return in a sentence or two whether a request continues the one before.

    Parameters:
        record: of the later request.
        names: what to call the earlier and the later one.
    """
    earlier, later = names
    messages = record["messages"]
    harness = [row for row in record["breaks"] if row["side"] != "benign"]
    wire = sorted({row["sub"] for row in record["breaks"] if row["side"] == "benign"})
    alike = "byte-identical" if not wire else "the same in the prompt"
    on_wire = f" On the wire alone differ: {', '.join(wire)}." if wire else ""
    if not harness:
        if "step_back" in record["notes"]:
            back = messages["previous"] - messages["shared"]
            return f"{later} = {earlier} without its last {_count(back)}.{on_wire}"
        if "server_held_history" in record["notes"]:
            return (
                f"{later} goes on from a response that the engine holds, with "
                f"{_count(messages['appended'])} more, under the head of {earlier}."
                f"{on_wire}"
            )
        return (
            f"{later} = {earlier} + {_count(messages['appended'])}, "
            f"the first {messages['shared']} {alike}.{on_wire}"
        )
    first = harness[0]
    if first["cause"] == "session_border":
        return (
            f"{later} is another task under the head of {earlier}: "
            f"{record['effective']['shared_bytes']:,} bytes shared, "
            f"{record['effective']['bytes'] - record['effective']['shared_bytes']:,} "
            f"to prefill. {_sentence(advise('session_border'))}{on_wire}"
        )
    reused = percent(record["reuse_ratio"])
    advice = advise(first["cause"], first["sub"])
    return (
        f"{later} breaks the prefix of {earlier} at {first['path']}: "
        f"{cause_name(first)}; {reused} of {earlier} can be reused. "
        f"{_sentence(advice)}{on_wire}"
    )


def _sentence(advice: str) -> str:
    return f"{advice[:1].upper()}{advice[1:]}." if advice else ""
