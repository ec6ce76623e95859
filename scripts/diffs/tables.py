"""What `scripts/diff.py` shows a person."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trackside.prefix.advice import advise
from trackside.prefix.sentence import cause_name, percent, verdict
from trackside.prefix.stats import Statistics, statistics

type Row = Mapping[str, Any]


def show_pair(console: Console, record: Row) -> None:
    """Print the verdict of a pair, its breaks, and their texts if they are told."""
    console.print(verdict(record), soft_wrap=True)
    raw, effective = record["raw"], record["effective"]
    where = raw["first_divergent_byte"]
    at = "identical" if where is None else f"first divergent byte {where:,}"
    console.print(
        f"raw: {at} of {raw['previous_bytes']:,} -> {raw['bytes']:,} bytes; "
        f"in the prompt: {effective['shared_bytes']:,} of "
        f"{effective['previous_bytes']:,} bytes reusable",
        soft_wrap=True,
        highlight=False,
    )
    if record["breaks"]:
        console.print(_breaks(record["breaks"]))
    _show_advice(console, [record])
    for row in record["breaks"]:
        if row.get("old") is not None or row.get("new") is not None:
            console.print(_side_by_side(row))


def _breaks(rows: Sequence[Row]) -> Table:
    table = Table(title="breaks, in the order they stand in the prompt")
    # Numbers first take what they need: a log of 80 columns must show them all.
    table.add_column("cause and path", overflow="fold")
    for name in ("prompt\nbyte", "raw\nbyte", "lost\nbytes", "~tokens", "gain"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        style = "dim" if row["side"] == "benign" else "bold"
        table.add_row(
            Text(f"{cause_name(row)}\n{row['path']}", style=style),
            f"{row['offset']:,}",
            f"{row['raw_offset']:,}",
            f"{row['lost_bytes']:,}",
            f"{row['lost_tokens']:,}",
            f"{row['gain_bytes']:,}",
        )
    return table


def _side_by_side(row: Row) -> Table:
    table = Table(title=Text(f"{cause_name(row)} at {row['path']}"), expand=True)
    table.add_column("A", ratio=1)
    table.add_column("B", ratio=1)
    table.add_row(Text(row.get("old") or ""), Text(row.get("new") or ""))
    return table


def show_capture(console: Console, rows: Sequence[Row]) -> None:
    """Print each request, then the figures of each thread and agent."""
    table = Table(title="requests, in order of arrival")
    for name in ("", "request", "thread", "role", "after"):
        table.add_column(name)
    for name in ("bytes", "reused"):
        table.add_column(name, justify="right")
    table.add_column("breaks", overflow="fold")
    for row in rows:
        table.add_row(*_request(row))
    console.print(table)
    told = [row for row in rows if "problem" not in row]
    for title, groups in (
        ("threads", statistics(told, "thread")),
        ("agents", statistics(told, "agent")),
    ):
        console.print(_statistics(title, groups))
    _show_advice(console, told)


def _show_advice(console: Console, rows: Sequence[Row]) -> None:
    seen = dict.fromkeys(
        (found["cause"], found["sub"]) for row in rows for found in row["breaks"]
    )
    for name, sub in seen:
        if advice := advise(name, sub):
            shown = cause_name({"cause": name, "sub": sub})
            console.print(Text(f"{shown}: {advice}"), soft_wrap=True)


def _request(row: Row) -> list[Text | str]:
    if "problem" in row:
        problem = Text(row["problem"], style="red")
        return [str(row["index"]), Text(row["name"]), "", "", "", "", "", problem]
    ratio, effective = row["reuse_ratio"], row["effective"]
    was = effective["previous_bytes"] if row["previous"] is not None else None
    size = effective["bytes"] - (was or 0)
    harness = [found for found in row["breaks"] if found["side"] != "benign"]
    shown = Text(", ".join(f"{cause_name(f)} at {f['path']}" for f in harness))
    return [
        str(row["index"]),
        Text(row["name"]),
        row["thread"],
        row["role"],
        "" if row["previous"] is None else str(row["previous"]),
        f"{size:+,}" if was is not None else f"{size:,}",
        "" if row["previous"] is None or ratio is None else percent(ratio),
        shown,
    ]


def _statistics(title: str, groups: Mapping[str, Statistics]) -> Table:
    table = Table(title=title)
    table.add_column("")
    for name in ("turns", "append-only", "heads", "lost bytes", "every s", "+bytes"):
        table.add_column(name, justify="right")
    table.add_column("habits", overflow="fold")
    for name, figures in groups.items():
        share = figures.append_only_share
        table.add_row(
            Text(name),
            str(figures.turns),
            "" if share is None else f"{share:.0%}",
            str(figures.head_hashes),
            f"{figures.lost_bytes:,}",
            "" if figures.cadence_s is None else f"{figures.cadence_s:.1f}",
            "" if figures.added_bytes is None else f"{figures.added_bytes:,.0f}",
            Text("; ".join(figures.habits)),
        )
    return table
