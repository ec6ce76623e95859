"""The ledger as one HTML file that needs nothing else."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from trackside.report.columns import tables_shown
from trackside.report.line import FAULTS
from trackside.report.plot import COLOURS, thread_plot
from trackside.report.tables import KEYS, agent_turns

MOST_THREADS = 40
MOST_TURNS = 400
OPEN_FAULTS = 5
"""More are folded away until a person asks."""

_KEY = {"none": "nobody's"}
_TEXT = " class=text"

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --paper: #fdfdfc; --rule: #dcdfe3 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6e9; --paper: #16181b; --rule: #363a40 } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem;
  padding: 0 1rem; color: var(--ink); background: var(--paper) }
h1, h3 { overflow-wrap: anywhere }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: 600; padding: .8rem 0 .2rem }
th, td { padding: .3rem .6rem; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--rule); white-space: nowrap }
th:first-child, td:first-child { text-align: left; padding-left: 0; white-space: normal;
  overflow-wrap: anywhere; min-width: 7rem; max-width: 22rem }
td.text { white-space: normal; min-width: 12rem }
tr:last-child { font-weight: 600 }
figure { margin: 0 } figcaption { font-size: .85rem; opacity: .75 }
svg { width: 100%; height: auto; display: block }
circle { fill: var(--ink); stroke: var(--paper) }
.kept { fill: var(--paper); fill-opacity: .6 }
.hollow { fill: none; stroke-dasharray: 3 2 }
li { overflow-wrap: anywhere }
li span { display: inline-block; width: .8em; height: .8em; margin-right: .4em }
ul.key { list-style: none; padding: 0 }
ul.key li { display: inline-block; margin-right: 1em }
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
        *_tables(told),
        "<h2>Threads</h2><ul class=key>",
        *(
            f"<li><span style='background:{colour}'></span>"
            f"{_KEY.get(fault, fault)}</li>"
            for fault, colour in COLOURS.items()
        ),
        "</ul><p>Bars are contexts, their faint part came from the cache; the cache of"
        " a hollow one is unknown. Dots are times to the first token.</p>",
    ]
    for name, rows in longest[:MOST_THREADS]:
        shown = rows[-MOST_TURNS:]
        of = f", the last {len(shown)} of them" if len(shown) < len(rows) else ""
        parts.append(f"<h3>{escape(name)}: {len(rows)} turns{of}</h3>")
        parts.append(thread_plot(shown))
        parts += _faults([row for row in shown if row["verdict"]["fault"] in FAULTS])
    if more := len(longest[MOST_THREADS:]):
        parts.append(f"<p>{more} shorter threads are not shown.</p>")
    return "\n".join([*parts, "</html>\n"])


def _faults(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return []
    lines = "".join(
        f"<li>{'' if row['index'] is None else f'#{row["index"]}: '}"
        f"{escape(row['verdict']['text'])}</li>"
        for row in rows
    )
    is_open = " open" if len(rows) <= OPEN_FAULTS else ""
    return [
        f"<details{is_open}><summary>{len(rows)} refills</summary>"
        f"<ul>{lines}</ul></details>"
    ]


def _tables(told: Mapping[str, Any]) -> list[str]:
    rows = [*told["groups"], told["total"]]
    found = []
    for title, columns in tables_shown(rows):
        heads = "".join(f"<th>{escape(name)}</th>" for name, _ in columns)
        lines = [
            f"<div class=wide><table><caption>{escape(title)}</caption>"
            f"<tr><th>{escape(told['by'])}</th>{heads}</tr>"
        ]
        for row in rows:
            cells = "".join(
                f"<td{_TEXT if name == 'left unfinished' else ''}>"
                f"{escape(write(row))}</td>"
                for name, write in columns
            )
            lines.append(f"<tr><td>{escape(row['name'])}</td>{cells}</tr>")
        found += [*lines, "</table></div>"]
    return found
