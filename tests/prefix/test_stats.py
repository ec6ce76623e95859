from __future__ import annotations

from typing import Any

from prefix.conversations import answered, conversation
from prefix.test_diffing import Line
from trackside.prefix.stats import statistics, statistics_line


def stamped(turns: int) -> list[dict[str, Any]]:
    """Return the records of a thread whose clock ticks every second turn."""
    line, talk = Line(), conversation("chat")
    records = []
    for turn in range(turns):
        talk.system = f"Be brief.\nTime: 12:{turn // 2:02}"
        records.append(line.send(talk))
        talk = answered(talk)
    return records


def test_figures_of_a_thread_with_a_clock_in_its_head() -> None:
    (figures,) = statistics(stamped(9), "thread").values()
    assert (figures.turns, figures.compared, figures.append_only) == (9, 8, 4)
    assert figures.append_only_share == 0.5
    assert figures.head_hashes == 5
    assert figures.causes == {"volatile_stamp/clock": 4}
    assert figures.stamp == "clock changes in 4 of 8 turns, by the minute"
    assert figures.cadence_s == 10.0
    assert figures.pinned_path == "messages[0]"
    assert figures.pinned_floor is not None
    assert figures.added_bytes is not None
    assert figures.added_bytes > 100


def test_an_agent_is_all_its_threads() -> None:
    records = stamped(3) + stamped(3)
    (figures,) = statistics(records, "agent").values()
    assert figures.turns == 6
    assert [*statistics(records, "agent")] == ["agent"]


def test_tools_that_flap_and_requests_that_are_sent_again_are_counted() -> None:
    line, talk = Line(), conversation("chat")
    records = [line.send(talk, ended=False), line.send(talk)]
    tools = talk.tools
    for kept in (tools[:2], tools):
        talk = answered(talk)
        talk.tools = kept
        records.append(line.send(talk))
    (figures,) = statistics(records, "thread").values()
    assert (figures.resends, figures.tool_flaps) == (1, 1)
    assert figures.causes == {"tools_changed/removed": 1, "tools_changed/flap": 1}


def test_figures_of_a_thread_of_one_turn() -> None:
    (figures,) = statistics(stamped(1), "thread").values()
    assert figures.append_only_share is None
    assert figures.cadence_s is None


def test_bodies_that_could_not_be_read_have_no_figures() -> None:
    assert statistics([{"v": 1, "problem": "not JSON"}], "thread") == {}


def test_figures_are_told_in_one_line() -> None:
    (figures,) = statistics(stamped(9), "thread").values()
    assert statistics_line("thread a1", figures) == (
        f"thread a1: 9 turns, 50 % append-only, 5 heads, {figures.added_bytes:+,.0f} B "
        f"a turn, one every 10.0 s, {figures.lost_bytes:,} B lost; "
        "volatile_stamp/clock x4; clock changes in 4 of 8 turns, by the minute; "
        f"pinned at byte {figures.pinned_floor:,}, messages[0]"
    )


def test_figures_of_more_threads_than_are_kept_stay_bounded() -> None:
    (record,) = stamped(1)
    records = [{**record, "thread": f"a{n}"} for n in range(1030)]
    assert [*statistics(records, "thread")] == [f"a{n}" for n in range(6, 1030)]
