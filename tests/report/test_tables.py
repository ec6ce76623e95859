"""The figures of reports, against turns whose figures are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import report
from ledger.story import Story, broken_at
from trackside.ledger.facts import Guarded
from trackside.ledger.store import Store
from trackside.ledger.turn import turn_record
from trackside.report.line import turn_line
from trackside.report.numbers import percentile
from trackside.report.page import page
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
