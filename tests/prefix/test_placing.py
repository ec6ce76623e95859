"""Every request finds the one it goes on from, without ids."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from prefix.conversations import (
    Conversation,
    Step,
    answered,
    conversation,
    read_tool,
)
from prefix.workers import interleaved
from trackside.prefix.arrival import Arrival, Placement
from trackside.prefix.dialects import DIALECTS
from trackside.prefix.hints import Hints
from trackside.prefix.placing import Placer


@dataclass
class Line:
    """A proxy's view: requests come in one by one."""

    dialect: str = "chat"
    hints: Hints = field(default_factory=Hints)
    placer: Placer = field(default_factory=lambda: Placer(1 << 30))
    count: int = 0

    def send(
        self,
        talk: Conversation | bytes,
        *,
        ended: bool = True,
        failed: bool = False,
        abandoned: bool = False,
        **hints: str,
    ) -> Placement:
        """Place a request, and note how its turn ended."""
        self.count += 1
        arrival = Arrival(
            flow=str(self.count),
            raw=talk if isinstance(talk, bytes) else talk.body(),
            dialect=DIALECTS[self.dialect],
            key="k",
            hints=replace(self.hints, **hints),
            arrived_s=float(self.count),
        )
        placed = self.placer.place_quickly(arrival) or self.placer.place(arrival)
        placed.turn.ended_s = self.count + 0.5 if ended else None
        placed.turn.has_failed = failed
        placed.turn.is_abandoned = abandoned
        return placed


def previous(placed: Placement) -> str | None:
    return placed.previous.flow if placed.previous else None


def summarising(talk: Conversation) -> Conversation:
    """Return a call beside the turns: their text, another system, no tools."""
    told = "\n".join(
        f"[{step.role}] {step.text} {step.reasoning} "
        + " ".join(call.result for call in step.calls)
        for step in talk.steps
    )
    return Conversation("chat", "You sum conversations up.", [], [Step("user", told)])


def summed_up(talk: Conversation) -> Conversation:
    """Return what a harness goes on with after a summary, with nothing kept."""
    later = copy.deepcopy(talk)
    later.steps = [
        Step("user", "What did we do so far?"),
        Step("assistant", "Words were counted and count() was made fast."),
        Step("user", "Continue if you have next steps."),
    ]
    return later


def other_task(talk: Conversation, text: str) -> Conversation:
    later = copy.deepcopy(talk)
    later.steps = [Step("user", text)]
    return later


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages", "ollama_chat"])
def test_a_conversation_is_one_thread(dialect: str) -> None:
    line, talk = Line(dialect), conversation(dialect)
    placed = []
    for _ in range(4):
        placed.append(line.send(talk))
        talk = answered(talk)
    assert [previous(p) for p in placed] == [None, "1", "2", "3"]
    assert {p.thread.name for p in placed} == {"a1"}
    assert [p.role for p in placed] == ["first", "main", "main", "main"]


def test_requests_that_only_grow_are_placed_quickly() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    arrival = Arrival(
        "2", answered(talk).body(), DIALECTS["chat"], "k", Hints(), arrived_s=2.0
    )
    assert line.placer.place_quickly(arrival) is not None


def test_edited_requests_are_left_for_later() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    talk.steps[0].text = "Something else was asked for, and at some length too."
    raw = answered(talk).body()
    arrival = Arrival("2", raw, DIALECTS["chat"], "k", Hints(), arrived_s=2.0)
    assert line.placer.place_quickly(arrival) is None
    assert previous(line.send(raw)) == "1"


def test_three_workers_side_by_side_are_three_threads() -> None:
    right = total = 0
    for seed in range(1000, 1010):
        line = Line()
        for request in interleaved(seed, 60):
            placed = line.send(request.body, failed=request.has_failed)
            expected = None if request.previous is None else str(request.previous + 1)
            right += previous(placed) == expected
            total += 1
    assert total > 600
    assert right >= 0.995 * total


def test_a_retry_after_an_error_is_a_retry() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk, failed=True)
    again = line.send(talk)
    assert (again.role, previous(again), again.is_resend) == ("retry", "1", False)
    assert previous(line.send(answered(talk))) == "2"


@pytest.mark.parametrize(
    "end", [{"ended": False}, {"failed": True, "abandoned": True}], ids=str
)
def test_the_same_request_while_one_is_unfinished_is_a_resend(
    end: dict[str, Any],
) -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk, **end)
    again = line.send(talk)
    assert (again.role, again.is_resend) == ("retry", True)


def test_the_same_turns_with_other_ids_are_a_turn_and_no_retry() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    for step in talk.steps:
        for call in step.calls:
            call.id += "x"
    again = line.send(talk)
    assert (again.role, previous(again)) == ("main", "1")


def test_going_on_from_an_earlier_turn_is_a_branch() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    later = answered(talk)
    line.send(later)
    line.send(answered(later))
    fork = copy.deepcopy(later)
    fork.steps.append(Step("assistant", "No, I would rather ask first.", "Hm."))
    fork.steps.append(Step("user", "Then ask."))
    placed = line.send(fork)
    assert (placed.role, previous(placed)) == ("branch", "2")
    assert placed.thread.name != "a1"
    assert previous(line.send(answered(fork))) == "4"


def test_another_task_under_the_same_head_begins_a_thread() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    task = other_task(talk, "Write a changelog for the last release.")
    placed = line.send(task)
    assert (placed.role, previous(placed)) == ("first", None)
    assert placed.sibling is not None
    assert placed.sibling.flow == "1"
    assert previous(line.send(answered(task))) == "2"
    assert previous(line.send(answered(talk))) == "1"


def test_a_child_that_runs_beside_its_parent_is_a_thread_of_its_own() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    context = Step("user", "Current working directory: /home/me/project, as always.")
    one, other = (
        other_task(talk, f"Worker {name}: read {name}.py and report in two lines.")
        for name in ("alpha", "beta")
    )
    for child in (one, other):
        child.steps.append(copy.deepcopy(context))
        assert line.send(child, ended=False).role == "first"
    assert previous(line.send(answered(talk))) == "1"
    assert previous(line.send(answered(other))) == "3"
    assert previous(line.send(answered(one))) == "2"


def test_a_title_call_is_never_gone_on_from() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    title = Conversation("chat", "Write a title.", [], [Step("user", "Count words.")])
    placed = line.send(title)
    assert (placed.role, previous(placed)) == ("side", None)
    assert previous(line.send(answered(talk))) == "1"


def test_a_title_call_before_the_first_turn_is_known_by_what_it_asks_for() -> None:
    line = Line()
    title = Conversation("chat", "You are a title generator.", [], [])
    title.steps = [Step("user", "Count the words.")]
    assert line.send(title).role == "side"
    assert line.send(conversation("chat")).role == "first"


def test_a_conversation_about_titles_is_no_side_call_once_it_goes_on() -> None:
    line = Line()
    talk = Conversation("chat", "You find titles for books.", [], [])
    talk.steps = [Step("user", "A book on rivers, please.")]
    line.send(talk)
    talk.steps += [Step("assistant", "Water Roads."), Step("user", "Shorter.")]
    placed = line.send(talk)
    assert (placed.role, previous(placed)) == ("main", "1")
    talk.steps += [Step("assistant", "Roads."), Step("user", "Wetter.")]
    assert line.send(talk).role == "main"


def test_a_call_that_headers_call_a_side_call_is_one() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    placed = line.send(answered(talk), kind="side")
    assert (placed.role, previous(placed)) == ("side", "1")
    assert previous(line.send(answered(talk))) == "1"


def test_a_thread_survives_a_summary_that_keeps_nothing() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    side = line.send(summarising(talk))
    assert (side.role, previous(side)) == ("side", None)
    placed = line.send(summed_up(talk))
    assert (placed.role, previous(placed), placed.is_summed_up) == ("main", "1", True)


def test_a_thread_survives_a_summary_asked_for_within_its_turns() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    asked = answered(talk)
    asked.steps.append(Step("user", "Sum all of this up for another model. " * 4))
    line.send(asked)
    later = copy.deepcopy(talk)
    later.steps = [
        Step("user", "Another model began this; its summary follows below."),
        copy.deepcopy(talk.steps[0]),
        Step("user", "Summary: words counted, count() is to be made fast."),
    ]
    placed = line.send(later)
    assert (placed.role, previous(placed), placed.is_summed_up) == ("main", "2", True)


def test_a_resumed_session_goes_on_in_another_process() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk, session="one")
    later = answered(talk)
    for step in later.steps:
        step.reasoning = ""  # not kept on disk
    placed = line.send(later, session="two")
    assert (placed.role, previous(placed)) == ("main", "1")


def test_the_same_question_in_another_session_is_another_task() -> None:
    line, talk = Line(), conversation("chat")
    begun = other_task(talk, "Count the words.")
    line.send(begun, session="one")
    placed = line.send(begun, session="two")
    assert (placed.role, previous(placed)) == ("first", None)


def test_the_same_question_to_two_agents_is_two_threads() -> None:
    line, talk = Line(), conversation("chat")
    begun = other_task(talk, "Count the words.")
    stranger = copy.deepcopy(begun)
    stranger.system = "I answer in verse, and I have no interest in source code."
    stranger.tools = [read_tool("sing", "Sing.")]
    line.send(begun)
    placed = line.send(stranger)
    assert (placed.role, previous(placed)) == ("first", None)
    assert previous(line.send(answered(begun))) == "1"


def transient(talk: Conversation) -> Conversation:
    """Return a request with a message that always stands last and is never kept."""
    later = copy.deepcopy(talk)
    later.steps.append(Step("user", "<<<CONTEXT>>> two files are open <<<END>>>"))
    return later


def test_a_message_that_always_stands_last_does_not_end_the_thread() -> None:
    line, talk = Line(), conversation("chat")
    for count in range(4):
        placed = line.send(transient(talk))
        assert previous(placed) == (str(count) if count else None)
        assert not placed.is_summed_up
        talk = answered(talk)


def stamp(talk: Conversation, minute: int) -> None:
    talk.system = f"{talk.system}\nTime: 12:{minute:02}"


def edit_first(talk: Conversation, minute: int) -> None:
    talk.steps[0].text += f" It is 12:{minute:02} now."


def drop_window(talk: Conversation, _: int) -> None:
    del talk.steps[1]


@pytest.mark.parametrize("spoil", [stamp, edit_first, drop_window])
def test_a_spoiled_prompt_stays_in_its_thread(
    spoil: Callable[[Conversation, int], None],
) -> None:
    line, talk = Line(), conversation("chat")
    placed = []
    for minute in range(4):
        sent = copy.deepcopy(talk)
        spoil(sent, minute)
        placed.append(line.send(sent))
        talk = answered(talk)
    assert [previous(p) for p in placed] == [None, "1", "2", "3"]


def test_tools_that_were_gone_and_are_back_are_told() -> None:
    line, talk = Line(), conversation("chat")
    line.send(talk)
    less = answered(talk)
    less.tools = less.tools[:2]
    assert line.send(less).returned_tools == frozenset()
    back = answered(less)
    back.tools = talk.tools
    assert line.send(back).returned_tools == {"run"}


def test_texts_are_threads_as_well() -> None:
    line = Line("completions")
    opening = "Once there was a river that counted words.\\n\\nIt ran"
    bodies = [
        f'{{"model":"m","prompt":"{text}","max_tokens":{size}}}'.encode()
        for text, size in (
            (opening, 5),
            (f"{opening} all night.\\n\\nThen", 5),
            ("Translate into French: the bread is warm.", 5),
            (f"{opening} all night.\\n\\nThen it slept.", 4),
        )
    ]
    assert [previous(line.send(body)) for body in bodies] == [None, "1", None, "2"]
