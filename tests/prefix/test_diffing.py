"""From request to record, one after the other."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from prefix.conversations import Conversation, Step, answered, conversation, read_tool
from trackside.prefix.arrival import Arrival
from trackside.prefix.dialects import DIALECTS
from trackside.prefix.diffing import Differ, Outcome
from trackside.prefix.hints import Hints
from trackside.prefix.record import has_break, problem_record
from trackside.prefix.sentence import log_line, verdict


@dataclass
class Line:
    """Diffs conversations in order."""

    differ: Differ = field(default_factory=lambda: Differ(1 << 30))
    count: int = 0
    dialect: str = "chat"
    key: str = "k"

    def outcome(self, talk: Conversation | bytes) -> Outcome:
        self.count += 1
        arrival = Arrival(
            flow=f"f{self.count}",
            raw=talk if isinstance(talk, bytes) else talk.body(),
            dialect=DIALECTS[self.dialect],
            key=self.key,
            hints=Hints(agent="agent"),
            arrived_s=10.0 * self.count,
        )
        return self.differ.diff_quickly(arrival) or self.differ.diff(arrival)

    def send(
        self,
        talk: Conversation | bytes,
        *,
        ended: bool = True,
        response: str = "",
        **end: Any,
    ) -> dict[str, Any]:
        record = self.outcome(talk).record
        self.differ.answered(f"f{self.count}", response)
        if ended:
            told = {"has_failed": False, "is_abandoned": False, **end}
            self.differ.finish(f"f{self.count}", 10.0 * self.count + 1, **told)
        return record


def test_the_record_of_an_append_tells_both_views() -> None:
    line, talk = Line(), conversation("chat")
    first = line.send(talk)
    record = line.send(answered(talk))
    before, after = talk.body(), answered(talk).body()
    expected = next(
        n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b
    )
    assert record["raw"] == {
        "first_divergent_byte": expected,
        "previous_bytes": len(before),
        "bytes": len(after),
    }
    assert record["effective"]["shared_bytes"] == first["effective"]["bytes"]
    assert record["effective"]["previous_bytes"] == first["effective"]["bytes"]
    assert record["messages"] == {"shared": 11, "appended": 2, "previous": 11}
    assert (record["reuse_ratio"], record["append_only"]) == (1.0, True)
    assert (record["thread"], record["turn"], record["role"]) == ("a1", 2, "main")
    assert (record["previous"], record["gap_s"]) == ("f1", 10.0)
    assert record["head_hash"] == first["head_hash"]
    assert (record["breaks"], record["divergence"], record["notes"]) == ([], None, [])


def test_records_are_plain_values() -> None:
    line, talk = Line(Differ(1 << 30, excerpts=True)), conversation("chat")
    line.send(talk)
    later = answered(talk)
    later.system += "x"
    record = line.send(later)
    assert json.loads(json.dumps(record)) == record


def test_the_first_request_has_nothing_to_break() -> None:
    record = Line().send(conversation("chat"))
    assert (record["role"], record["previous"], record["sibling"]) == (
        "first",
        None,
        None,
    )
    assert record["append_only"]
    assert not has_break(record)
    assert log_line(record).startswith("thread a1 #1 ")


def reorder(talk: Conversation) -> Conversation:
    later = answered(talk)
    later.tools.reverse()
    return later


@pytest.mark.parametrize(
    ("where", "edit"),
    [
        pytest.param("head", lambda talk: talk.tools.reverse(), id="head"),
        pytest.param(
            "history", lambda talk: setattr(talk.steps[0], "text", "Go."), id="history"
        ),
        pytest.param(
            "tail",
            lambda talk: setattr(talk.steps[-2].calls[0], "result", "oh"),
            id="tail",
        ),
    ],
)
def test_a_break_is_in_head_history_or_tail(where: str, edit: Any) -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    later = answered(talk)
    edit(later)
    record = line.send(later)
    assert record["divergence"] == where
    assert has_break(record)


def test_lost_tokens_go_by_the_engines_own_count() -> None:
    line, talk = Line(), conversation("chat")
    record = line.send(talk, prompt_tokens=200)
    size = record["effective"]["bytes"]
    row = line.send(reorder(talk))["breaks"][0]
    assert row["lost_tokens"] == round(row["lost_bytes"] * 200 / size)


def test_a_resend_is_counted_and_costs_no_prefix() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk, ended=False)
    record = line.send(talk)
    assert [row["cause"] for row in record["breaks"]] == ["resend"]
    assert (record["append_only"], record["reuse_ratio"]) == (True, 1.0)
    assert "resend" in log_line(record)


def test_reasoning_that_is_not_sent_back_is_in_the_line() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk, has_reasoned=True)
    silent = answered(talk)
    silent.steps[-1].reasoning = ""
    assert "reasoning not sent back" in log_line(line.send(silent))


def test_text_that_is_no_utf8_is_told() -> None:
    raw = b'{"messages":[{"role":"user","content":"\xff"}]}'
    assert Line().send(raw)["notes"] == ["unreadable_text"]


def test_another_task_is_priced_and_nobodys_fault() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    task = copy.deepcopy(talk)
    task.steps = [Step("user", "Write a changelog.")]
    record = line.send(task)
    (row,) = record["breaks"]
    assert (row["cause"], row["side"]) == ("session_border", "none")
    effective = record["effective"]
    assert row["lost_bytes"] == effective["bytes"] - effective["shared_bytes"]
    assert record["sibling"] == "f1"
    assert record["append_only"]
    assert "another task under the same head" in log_line(record)


def test_breaks_beyond_the_sixty_fourth_are_not_listed_but_told() -> None:
    line = Line()
    told = [
        {"role": role, "content": f"{n} " + "word " * n}
        for n in range(80)
        for role in ("user", "assistant")
    ]
    bodies = [
        json.dumps(
            {"messages": [{**row, "content": row["content"] + end} for row in told]}
        )
        for end in ("", "!")
    ]
    line.send(bodies[0].encode())
    record = line.send(bodies[1].encode())
    assert len(record["breaks"]) == 64
    assert "more_breaks" in record["notes"]


def test_memory_is_bounded_and_what_is_dropped_is_told() -> None:
    talk = conversation("chat")
    size = len(talk.body())
    line = Line(Differ(6 * size))
    dropped: list[str] = []
    for number in range(12):
        task = copy.deepcopy(talk)
        task.system = f"{number} " * 200
        task.tools = [read_tool(f"tool{number}", f"{number} " * 99)]
        task.steps[0].text = f"Question {number}: " + f"word{number} " * 300
        task.steps[1].text = f"Answer {number}. " * 30
        dropped += line.outcome(task).dropped
        assert line.differ.kept_bytes <= 6 * size
    assert dropped[:2] == ["a1", "a2"]
    assert len(dropped) < 12


def test_a_body_that_does_not_fit_is_still_placed() -> None:
    line, talk = Line(Differ(1)), conversation("chat")
    line.send(talk)
    record = line.send(answered(talk))
    assert (record["previous"], record["role"]) == ("f1", "main")
    assert record["notes"] == ["previous_body_given_up"]


def test_what_is_unusable_says_what_it_is() -> None:
    record = problem_record("chat", "JSON truncated after 9 bytes", 9)
    assert log_line(record) == "not compared: JSON truncated after 9 bytes"
    assert not has_break(record)


def test_log_lines_read_as_documented() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    later = answered(talk)
    grown = line.send(later)
    added = grown["effective"]["bytes"] - grown["effective"]["previous_bytes"]
    assert log_line(grown) == (
        f"thread a1 #2 +{added:,} B 2 messages, 100 % reused, append-only"
    )
    broken = line.send(reorder(later))
    lost = broken["breaks"][0]["lost_tokens"]
    assert log_line(broken).endswith(
        f", 0.9 % reused: tools_reordered at tools[0], ~{lost:,} tokens lost"
    )


def test_the_verdict_is_a_sentence() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    record = line.send(answered(talk))
    assert verdict(record) == "B = A + 2 messages, the first 11 byte-identical."
    broken = verdict(line.send(reorder(answered(talk))))
    assert broken.startswith("B breaks the prefix of A at tools[0]: tools_reordered")
    assert broken.endswith("Sort the tools by name before each request.")
