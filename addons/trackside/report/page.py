"""The ledger as one HTML file that needs nothing else."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from trackside.report.columns import COLUMNS
from trackside.report.line import FAULTS
from trackside.report.plot import COLOURS, thread_plot
from trackside.report.tables import KEYS, agent_turns

MOST_THREADS = 40
MOST_TURNS = 400

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem;
  padding: 0 1rem; color: #1c2024; background: #fdfdfc }
table { border-collapse: collapse; font-variant-numeric: tabular-nums;
  display: block; overflow-x: auto }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid #dcdfe3;
  white-space: nowrap }
th:first-child, td:first-child { text-align: left }
tr:last-child { font-weight: 600 }
svg { width: 100%; height: auto } svg text { font-size: 12px; fill: #555 }
li span { display: inline-block; width: .8em; height: .8em; margin-right: .4em }
ul.key { list-style: none; padding: 0 } ul.key li { display: inline; margin-right: 1em }
"""


def page(told: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> str:
    """Return the page.

    Parameters:
        told: what `tables.tables` returned.
        records: the `trackside.turn` records that it was made from.
    """
    turns = agent_turns(records)
    threads: dict[str, list[Mapping[str, Any]]] = {}
    for turn in turns:
        threads.setdefault(KEYS["thread"](turn), []).append(turn)
    longest = sorted(threads.items(), key=lambda item: -len(item[1]))
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width'>"
        f"<title>trackside: {len(turns)} turns</title><style>{_STYLE}</style>",
        f"<h1>{len(turns)} turns by {escape(told['by'])}</h1>",
        _table(told),
        "<h2>Threads</h2><ul class=key>",
        *(
            f"<li><span style='background:{colour}'></span>{fault}</li>"
            for fault, colour in COLOURS.items()
        ),
        "</ul><p>Bars are contexts, their pale part came from the cache;"
        " dots are times to the first token.</p>",
    ]
    for name, rows in longest[:MOST_THREADS]:
        parts.append(f"<h3>{escape(name)}: {len(rows)} turns</h3>")
        parts.append(thread_plot(rows[-MOST_TURNS:]))
        faults = [row for row in rows if row["verdict"]["fault"] in FAULTS]
        if faults:
            parts.append("<ul>")
            parts += [
                f"<li>#{row['index']}: {escape(row['verdict']['text'])}</li>"
                for row in faults[-MOST_TURNS:]
            ]
            parts.append("</ul>")
    return "\n".join([*parts, "</html>\n"])


def _table(told: Mapping[str, Any]) -> str:
    rows = [*told["groups"], told["total"]]
    shown = [
        (name, write)
        for name, write in COLUMNS
        if any(write(row) != "-" for row in rows)
    ]
    heads = "".join(f"<th>{escape(name)}</th>" for name, _ in shown)
    lines = [f"<table><tr><th>{escape(told['by'])}</th>{heads}</tr>"]
    for row in rows:
        cells = "".join(f"<td>{escape(write(row))}</td>" for _, write in shown)
        lines.append(f"<tr><td>{escape(row['name'])}</td>{cells}</tr>")
    return "\n".join([*lines, "</table>"])
