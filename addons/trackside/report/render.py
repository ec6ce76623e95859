"""The ledger's tables on a terminal."""

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from trackside.report.columns import tables_shown


def group_tables(told: Mapping[str, Any]) -> list[Table]:
    """Return the figures as tables, each narrow enough for 80 columns.

    Parameters:
        told: what `tables.tables` returned.
    """
    rows = [*told["groups"], told["total"]]
    found = []
    for title, columns in tables_shown(rows):
        table = _table(title)
        table.add_column(told["by"], overflow="fold", min_width=8)
        for name, _ in columns:
            is_text = name == "left unfinished"
            table.add_column(name, justify="right", no_wrap=not is_text)
        for row in rows:
            is_total = row is told["total"]
            table.add_row(
                row["name"],
                *(write(row) for _, write in columns),
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
    table = _table("side by side")
    table.add_column("")
    for row in (one, two):
        table.add_column(row["name"], justify="right", overflow="fold")
    for title, columns in tables_shown((one, two)):
        table.add_section()
        for name, write in columns:
            said = f"lost: {name}" if title.startswith("lost") else name
            table.add_row(said, write(one), write(two))
    return table


def _table(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        box=SIMPLE,
        pad_edge=False,
        collapse_padding=True,
    )
