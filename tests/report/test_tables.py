"""The figures of reports, against turns whose figures are known."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import report
from ledger.story import Story, broken_at
from trackside.ledger.facts import Guarded
from trackside.ledger.store import Store
from trackside.ledger.turn import turn_record
from trackside.report.columns import TABLES
from trackside.report.line import turn_line
from trackside.report.numbers import percentile
from trackside.report.page import MOST_THREADS, MOST_TURNS, page
from trackside.report.plot import thread_plot
from trackside.report.render import group_tables
from trackside.report.summary import Summary
from trackside.report.tables import tables

type Record = dict[str, Any]


def by_agent(record: Record, agent: str, **more: Any) -> Record:
    return {**record, "agent": agent, "session": f"s-{agent}", **more}


@pytest.fixture
def records() -> list[Record]:
    """A thread that hits, one that breaks each turn, and odd ends."""
    story = Story()
    found = []
    for _ in range(5):
        good = story.turn("a1", story.thread("a1").tokens if found else 0)
        found.append(by_agent(turn_record(good), "good"))
    for number in range(5):
        size = story.thread("b1", "t").tokens
        row = broken_at(100, "volatile_stamp", "clock") if number else None
        bad = story.turn("b1", 100 if number else 0, broken=row, ttft_s=70.0)
        found.append(by_agent(turn_record(bad), "bad"))
    assert size
    left = story.turn("b1", None, end=("client", "reasoning"), told=False)
    found.append(by_agent(turn_record(left), "bad"))
    trip = story.turn(
        "a1",
        story.thread("a1").tokens,
        end=("guard", "complete"),
        guard=Guarded(1, "x", tripped=True, reason="cycles", spent_tokens=400),
        max_tokens=4050,
    )
    found.append(by_agent(turn_record(trip), "good"))
    phase2 = story.turn("p", 0, guard=Guarded(2, trip.facts.flow))
    found.append(by_agent(turn_record(phase2), "good"))
    return found


def rows(records: list[Record], by: str) -> dict[str, Any]:
    told = tables(records, by)
    return {row["name"]: row for row in [*told["groups"], told["total"]]}


def test_figures_of_agents(records: list[Record]) -> None:
    figures = rows(records, "agent")
    good, bad, total = figures["good"], figures["bad"], figures["all"]
    assert (good["turns"], bad["turns"], total["turns"]) == (6, 6, 12)
    assert good["context_max"] == 1000 + 100 + 5 * 200
    assert bad["ttft_p50_s"] == 70.0
    assert bad["long_wait_share"] == pytest.approx(5 / 6)
    assert good["long_wait_share"] == 0
    assert good["in_flight_avg"] == pytest.approx(1.0)
    assert good["hit_rate"] > 0.7 > 0.3 > bad["hit_rate"]
    assert bad["lost"]["harness"]["turns"] == 4
    assert bad["lost"]["harness"]["tokens"] == sum(
        1100 + 200 * n - 100 for n in range(4)
    )
    assert bad["lost"]["harness"]["s"] > 0
    assert good["lost"]["harness"]["tokens"] == 0
    assert bad["ended"] == {"client": {"reasoning": 1}}
    assert good["guard"] == {"trips": 1, "saved_tokens": 4000, "unpriced": 0}
    assert good["cost_factor"] == pytest.approx(1.0)
    assert bad["cost_factor"] > 3


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("agent", {"good", "bad", "all"}),
        ("session", {"s-good", "s-bad", "all"}),
        ("model", {"m", "all"}),
        ("thread", {"good a1", "bad b1", "all"}),
    ],
)
def test_groups(records: list[Record], by: str, names: set[str]) -> None:
    assert set(rows(records, by)) == names


def test_the_line_of_a_turn(records: list[Record]) -> None:
    record = {**records[4], "output_tokens_per_s": 31.2, "ttft_s": 0.21}
    assert turn_line(record, colour=False) == (
        "good a1 #5  1900 ctx  +50 tok  ttft 0.21 s  hit 89.5 %  31 tok/s"
    )
    assert turn_line(record, colour=True).startswith("\x1b[32mgood a1")
    broken = turn_line(records[9], colour=False)
    assert "harness, volatile_stamp (clock), proven" in broken
    left = turn_line(records[10], colour=False)
    assert "ended by client, reasoning" in left
    assert "~" in left  # nobody told the context


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        *((reason, False) for reason in ("stop", "end_turn", "tool_use", "completed")),
        *((reason, False) for reason in ("eos", "tool_calls", None)),
        *((reason, True) for reason in ("length", "max_tokens", "repetition")),
    ],
)
def test_only_odd_reasons_to_end_are_said(
    records: list[Record], reason: str | None, said: bool
) -> None:
    end = {**records[1]["end"], "finish_reason": reason}
    line = turn_line({**records[1], "end": end}, colour=False)
    assert line.endswith(str(reason)) is said


def test_a_summary_comes_once_it_is_due(records: list[Record]) -> None:
    summary = Summary()
    said = [summary.add(record, 300) for record in records]
    assert said[:8] == [None] * 8
    lines = [line for line in said if line]
    assert lines
    assert "tokens lost to harness" in lines[0]
    assert all(Summary().add(record, 0) is None for record in records)


def test_the_page_is_whole_and_escapes_what_clients_say(records: list[Record]) -> None:
    records = [{**r, "agent": "<script>alert(1)</script>"} for r in records]
    text = page(tables(records, "agent"), records)
    assert text.endswith("</html>\n")
    assert "<script>" not in text
    assert text.count("<svg") == text.count("</svg>") == 3 - 1
    assert "http" not in text  # needs nothing from anywhere


def untold(record: Record) -> Record:
    """Return the turn as if its engine had told nothing, and nobody had timed it."""
    return {
        **record,
        "ttft_s": None,
        "usage": dict.fromkeys(record["usage"]),
        "cache": {**record["cache"], "cached_tokens": None, "source": None},
        "verdict": {**record["verdict"], "lost_s": None},
    }


def test_what_nobody_told_is_not_shown_as_zero(records: list[Record]) -> None:
    total = rows([untold(r) for r in records], "agent")["all"]
    for name in ("ttft_p50_s", "ttft_total_s", "long_wait_share", "hit_rate"):
        assert total[name] is None
    assert total["prefilled_per_turn"] is None
    assert total["estimated"] == total["turns"]
    lost = total["lost"]["harness"]
    assert (lost["s"], lost["unpriced"]) == (None, lost["turns"])
    written = {name: write(total) for _, columns in TABLES for name, write in columns}
    assert written["ctx max"].startswith("~")
    assert written["harness"].endswith(" / -")
    assert {written[name] for name in ("ttft p50", "ttft total", "hit rate")} == {"-"}


def test_a_figure_known_in_part_is_at_least_that(records: list[Record]) -> None:
    half = [untold(r) if n == 8 else r for n, r in enumerate(records)]
    total = rows(half, "agent")["all"]
    written = {name: write(total) for _, columns in TABLES for name, write in columns}
    assert "/ ≥" in written["harness"]


def test_the_picture_draws_what_is_unknown_as_unknown(records: list[Record]) -> None:
    told, unknown = (
        thread_plot(records[:2]),
        thread_plot(list(map(untold, records[:2]))),
    )
    assert (told.count("<circle"), told.count('class="hollow"')) == (2, 0)
    assert (unknown.count("<circle"), unknown.count('class="hollow"')) == (0, 2)
    assert "not timed" in unknown


def test_the_tables_fit_a_narrow_terminal(records: list[Record]) -> None:
    console = Console(width=80, file=StringIO(), record=True)
    for table in group_tables(tables(records, "agent")):
        console.print(table)
    shown = console.export_text()
    assert "…" not in shown
    for figure in ("× best", "ttft total", "guard trips / saved", "70 s", "client 1"):
        assert figure in shown


def test_the_page_says_what_it_leaves_out(records: list[Record]) -> None:
    many = [{**records[1], "thread": f"t{n}"} for n in range(MOST_THREADS + 7)]
    text = page(tables(many, "agent"), many)
    assert text.count("<svg") == MOST_THREADS
    assert "7 shorter threads are not shown" in text
    long = [records[1]] * (MOST_TURNS + 5)
    assert f"{MOST_TURNS + 5} turns, the last {MOST_TURNS} of them" in page(
        tables(long, "agent"), long
    )


def test_percentiles_of_one_and_of_none() -> None:
    assert percentile([3.0], 99) == 3.0
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


@pytest.fixture
def ledger(tmp_path: Path, records: list[Record]) -> Path:
    store = Store(str(tmp_path / "turns.sqlite"), say=pytest.fail)
    for record in records:
        store.put(record)
    store.close()
    return tmp_path / "turns.sqlite"


def test_the_command_reports_a_ledger(
    ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html = tmp_path / "out.html"
    assert report.main([str(ledger), "--json", "--html", str(html)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in told["groups"]] == ["bad", "good"]
    assert told["total"]["turns"] == 12
    assert html.read_text().startswith("<!doctype html>")


def test_the_command_compares_two_agents(
    ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.main([str(ledger), "--compare", "good", "bad"]) == 0
    shown = capsys.readouterr().out
    assert "side by side" in shown
    assert report.main([str(ledger), "--compare", "good", "worse"]) == 2
    assert "no agent 'worse', there is bad, good" in capsys.readouterr().err


def test_turns_in_two_files_count_once(
    ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.main([str(ledger), str(ledger), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["turns"] == 12


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "no turn in it"), (b"\0\1\2", "no mitmproxy capture"), (None, "No such")],
    ids=["empty", "garbage", "absent"],
)
def test_unusable_input_is_said_in_a_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    says: str,
) -> None:
    path = tmp_path / "x"
    if content is not None:
        path.write_bytes(content)
    assert report.main([str(path)]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
