"""The columns of the ledger's tables: a heading, and how a figure is written.

"-" is a figure that nobody told or that there is none of, never a zero; "~" stands
before what was estimated or inferred in part, "≥" before what is known in part.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trackside.ledger.sentence import percent
from trackside.report.line import FAULTS, tokens

type Figures = Mapping[str, Any]


def seconds(value: float | None) -> str:
    """Return a duration, short.

    Example:
        >>> seconds(0.213), seconds(75.0), seconds(7300), seconds(None)
        ('0.21 s', '75 s', '2.0 h', '-')
    """
    if value is None:
        return "-"
    if value < 10:
        return f"{value:.2f} s"
    return f"{value:.0f} s" if value < 3600 else f"{value / 3600:.1f} h"


def _tokens(value: float | None) -> str:
    return "-" if value is None else tokens(round(value))


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)


def _context(name: str) -> Callable[[Figures], str]:
    def write(row: Figures) -> str:
        about = "~" if row["estimated"] and row[name] is not None else ""
        return about + _tokens(row[name])

    return write


def _hit_rate(row: Figures) -> str:
    about = "~" if row["inferred"] and row["hit_rate"] is not None else ""
    return about + _share(row["hit_rate"])


def _lost(fault: str) -> Callable[[Figures], str]:
    def write(row: Figures) -> str:
        lost = row["lost"][fault]
        if not lost["tokens"]:
            return "-"
        at_least = "≥" if lost["unpriced"] and lost["s"] is not None else ""
        return f"{tokens(lost['tokens'])} / {at_least}{seconds(lost['s'])}"

    return write


def _left(row: Figures) -> str:
    """Write who ended turns, and where: "client 2 (content 1, reasoning 1)"."""
    words = []
    for by, stages in sorted(row["ended"].items()):
        where = ", ".join(
            f"{stage.replace('_', ' ')} {count}" for stage, count in stages.items()
        )
        words.append(f"{by} {sum(stages.values())} ({where})")
    return "; ".join(words) or "-"


def _resends(row: Figures) -> str:
    told = row["resends"]
    return f"{told['turns']} / {seconds(told['burnt_s'])}" if told["turns"] else "-"


def _guard(row: Figures) -> str:
    told = row["guard"]
    if not told["trips"]:
        return "-"
    at_least = "≥" if told["unpriced"] else ""
    return f"{told['trips']} / {at_least}{tokens(told['saved_tokens'])}"


def _factor(row: Figures) -> str:
    factor = row["cost_factor"]
    return "-" if factor is None else f"{factor:.1f}×"


type Column = tuple[str, Callable[[Figures], str]]

TABLES: tuple[tuple[str, tuple[Column, ...]], ...] = (
    (
        "turns",
        (
            ("turns", lambda row: str(row["turns"])),
            ("ctx avg", _context("context_avg")),
            ("ctx max", _context("context_max")),
            ("at once", lambda row: f"{row['in_flight_avg']:.1f}"),
            ("hit rate", _hit_rate),
            ("prefill/turn", lambda row: _tokens(row["prefilled_per_turn"])),
            ("× best", _factor),
        ),
    ),
    (
        "time to the first token",
        (
            ("ttft p50", lambda row: seconds(row["ttft_p50_s"])),
            ("ttft p95", lambda row: seconds(row["ttft_p95_s"])),
            ("ttft max", lambda row: seconds(row["ttft_max_s"])),
            ("ttft total", lambda row: seconds(row["ttft_total_s"])),
            ("> 60 s", lambda row: _share(row["long_wait_share"])),
        ),
    ),
    (
        "lost to refills, tokens / time",
        (*((fault, _lost(fault)) for fault in FAULTS), ("nobody's", _lost("none"))),
    ),
    (
        "ends",
        (
            ("left unfinished", _left),
            ("resends", _resends),
            ("guard trips / saved", _guard),
        ),
    ),
)
"""Title and columns of each table; of each column, heading and writer."""


def tables_shown(rows: Sequence[Figures]) -> list[tuple[str, list[Column]]]:
    """Return the tables, without the columns in which no row has a figure."""
    shown = []
    for title, columns in TABLES:
        told = [c for c in columns if any(c[1](row) != "-" for row in rows)]
        if told:
            shown.append((title, told))
    return shown
