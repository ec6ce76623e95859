"""The ledger's tables on a terminal."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from trackside.report.columns import COLUMNS

_WHERE = 10
"""Columns that go into the first of the two tables."""


def group_tables(told: Mapping[str, Any]) -> list[Table]:
    """Return the figures as tables: how long and how large, then what was lost.

    Parameters:
        told: what `tables.tables` returned.
    """
    rows = [*told["groups"], told["total"]]
    parts = (
        (f"turns by {told['by']}", COLUMNS[:_WHERE]),
        ("refills (tokens / seconds), ends and costs", COLUMNS[_WHERE:]),
    )
    found = []
    for title, columns in parts:
        shown = [
            (name, write)
            for name, write in columns
            if any(write(row) != "-" for row in rows)
        ]
        table = Table(title=title, title_justify="left")
        table.add_column(told["by"], overflow="fold")
        for name, _ in shown:
            table.add_column(name, justify="right")
        for row in rows:
            is_total = row is told["total"]
            table.add_row(
                row["name"],
                *(write(row) for _, write in shown),
                style="bold" if is_total else None,
                end_section=row is rows[-2] if len(rows) > 1 else False,
            )
        found.append(table)
    return found


def comparison(one: Mapping[str, Any], two: Mapping[str, Any]) -> Table:
    """Return two groups side by side, a figure a row.

    Parameters:
        one: a row of `tables.tables`' groups.
        two: another one.
    """
    table = Table(title="side by side", title_justify="left")
    table.add_column("")
    for row in (one, two):
        table.add_column(row["name"], justify="right", overflow="fold")
    for name, write in COLUMNS:
        mine, theirs = write(one), write(two)
        if (mine, theirs) != ("-", "-"):
            table.add_row(name, mine, theirs)
    return table
