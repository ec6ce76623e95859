"""Requests that go on from a response, whose turns the engine holds by itself."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from prefix.conversations import Conversation, Step, conversation
from prefix.test_diffing import Line
from trackside.prefix.arrival import Arrival
from trackside.prefix.dialects import DIALECTS
from trackside.prefix.diffing import Differ, diff_pair
from trackside.prefix.hints import Hints
from trackside.prefix.sentence import log_line, verdict


def first() -> Conversation:
    return conversation("responses")


def going_on(talk: Conversation, response: str, text: str = "Go on.") -> Conversation:
    """Return a request that sends only what is new behind a response."""
    later = copy.deepcopy(talk)
    later.steps = [Step("user", text)]
    later.more = {**talk.more, "previous_response_id": response}
    return later


def line() -> Line:
    return Line(dialect="responses")


def harness(record: dict[str, Any]) -> list[tuple[str, str]]:
    return [(r["cause"], r["sub"]) for r in record["breaks"] if r["side"] == "harness"]


def test_a_request_goes_on_from_the_response_it_names() -> None:
    there, talk = line(), first()
    begun = there.send(talk, response="resp_1")
    size, count = begun["effective"]["bytes"], begun["messages"]["appended"]
    second = there.send(going_on(talk, "resp_1"), response="resp_2")
    assert (second["previous"], second["role"], second["thread"]) == (
        "f1",
        "main",
        "a1",
    )
    assert second["notes"] == ["chained_by_id"]
    assert (second["append_only"], second["reuse_ratio"]) == (True, 1.0)
    assert second["breaks"] == []
    assert second["head_hash"] == begun["head_hash"]
    assert second["messages"] == {"shared": count, "appended": 1, "previous": count}
    grown = second["effective"]["bytes"]
    assert second["effective"] == {
        "shared_bytes": size,
        "previous_bytes": size,
        "bytes": grown,
    }
    third = there.send(going_on(talk, "resp_2", "And on."), response="resp_3")
    assert (third["previous"], third["turn"]) == ("f2", 3)
    assert third["effective"]["previous_bytes"] == grown
    assert third["messages"] == {
        "shared": count + 1,
        "appended": 1,
        "previous": count + 1,
    }
    added = third["effective"]["bytes"] - grown
    assert log_line(third) == (
        f"thread a1 #3 +{added} B 1 message, 100 % reused, append-only, chained by id"
    )


def reorder(talk: Conversation) -> None:
    talk.tools.reverse()


def reword(talk: Conversation) -> None:
    talk.system = talk.system.replace("small", "large")


def drop_system(talk: Conversation) -> None:
    talk.edit = lambda body: body.pop("instructions")


def lose_tool(talk: Conversation) -> None:
    del talk.tools[1]


def other_model(talk: Conversation) -> None:
    talk.more["model"] = "other"


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        pytest.param(reorder, ("tools_reordered", ""), id="tools_reordered"),
        pytest.param(lose_tool, ("tools_changed", "removed"), id="removed"),
        pytest.param(reword, ("system_changed", "text"), id="system"),
        pytest.param(drop_system, ("system_changed", "text"), id="no-system"),
        pytest.param(other_model, ("params_changed", "model"), id="model"),
    ],
)
def test_what_changes_in_the_head_costs_all_that_is_held(
    change: Callable[[Conversation], None], cause: tuple[str, str]
) -> None:
    there, talk = line(), first()
    there.send(talk, response="resp_1")
    there.send(going_on(talk, "resp_1"), response="resp_2")
    later = going_on(talk, "resp_2")
    change(later)
    record = there.send(later)
    assert harness(record) == [cause]
    assert not record["append_only"]
    (row,) = record["breaks"]
    effective = record["effective"]
    assert row["lost_bytes"] == effective["previous_bytes"] - row["offset"]
    assert effective["shared_bytes"] == row["offset"] < effective["previous_bytes"]
    assert record["divergence"] == "head"


def test_a_choice_of_tools_costs_nothing_of_what_is_held() -> None:
    there, talk = line(), first()
    there.send(talk, response="resp_1")
    later = going_on(talk, "resp_1")
    later.more["tool_choice"] = "none"
    record = there.send(later)
    assert harness(record) == [("params_changed", "tool_choice")]
    assert record["breaks"][0]["lost_bytes"] == 0
    assert record["reuse_ratio"] == 1.0


def test_tools_that_flap_are_seen_in_held_threads() -> None:
    there, talk = line(), first()
    there.send(talk, response="resp_1")
    less = going_on(talk, "resp_1")
    lose_tool(less)
    there.send(less, response="resp_2")
    assert harness(there.send(going_on(talk, "resp_2"))) == [("tools_changed", "flap")]


def test_a_response_that_was_not_seen_leaves_nothing_to_compare_with() -> None:
    there, talk = line(), first()
    there.send(talk, response="resp_1")
    record = there.send(going_on(talk, "resp_0"), response="resp_2")
    assert (record["role"], record["previous"], record["sibling"]) == (
        "first",
        None,
        None,
    )
    assert (record["notes"], record["breaks"]) == (["server_held_history"], [])
    assert log_line(record).endswith("first request, server held history")
    # What follows it is chained all the same.
    record = there.send(going_on(talk, "resp_2"))
    assert (record["previous"], record["notes"]) == ("f2", ["chained_by_id"])


def test_a_conversation_is_held_and_no_response_says_by_which_request() -> None:
    there, talk = line(), first()
    talk.more = {"conversation": {"id": "conv_1"}}
    for _ in range(2):
        record = there.send(talk, response="resp_1")
        assert (record["previous"], record["notes"]) == (None, ["server_held_history"])


def test_a_response_can_be_gone_on_from_twice() -> None:
    there, talk = line(), first()
    there.send(talk, response="resp_1")
    there.send(going_on(talk, "resp_1", "One way."), response="resp_2")
    record = there.send(going_on(talk, "resp_1", "The other way."), response="resp_3")
    assert (record["role"], record["previous"], record["thread"]) == (
        "branch",
        "f1",
        "a2",
    )
    assert record["reuse_ratio"] == 1.0
    record = there.send(going_on(talk, "resp_3"))
    assert (record["thread"], record["previous"]) == ("a2", "f3")


def test_the_same_request_again_is_a_retry() -> None:
    there, talk = line(), first()
    there.send(talk, response="resp_1")
    later = going_on(talk, "resp_1")
    there.send(later, has_failed=True)
    record = there.send(later)
    assert (record["role"], record["previous"], record["turn"]) == ("retry", "f2", 3)
    assert record["messages"]["appended"] == 0
    assert (record["append_only"], record["reuse_ratio"]) == (True, 1.0)
    there.send(later, ended=False)
    causes = [row["cause"] for row in there.send(later)["breaks"]]
    assert causes == ["resend"]


def test_another_request_after_a_failed_one_stays_in_the_thread() -> None:
    there, talk = line(), first()
    there.send(talk, response="resp_1")
    there.send(going_on(talk, "resp_1"), has_failed=True)
    record = there.send(going_on(talk, "resp_1", "Go on, please."))
    assert (record["role"], record["previous"], record["thread"]) == (
        "main",
        "f1",
        "a1",
    )


def test_a_title_asked_for_behind_a_response_is_a_side_call() -> None:
    there, talk = line(), first()
    there.send(talk, response="resp_1")
    title = going_on(talk, "resp_1", "Give this a title.")
    title.edit = lambda body: body.pop("tools")
    record = there.send(title, response="resp_2")
    assert (record["role"], record["previous"]) == ("side", "f1")
    assert there.send(going_on(talk, "resp_1"))["role"] == "main"


def test_a_few_words_are_no_history_to_be_found_by() -> None:
    there, talk = line(), first()
    there.send(talk, response="resp_1")
    there.send(going_on(talk, "resp_1"), response="resp_2")
    whole = copy.deepcopy(talk)
    whole.steps = [Step("user", "Go on."), Step("assistant", "With what?")]
    record = there.send(whole)
    assert record["previous"] is None


def test_an_input_of_one_text_is_chained_too() -> None:
    there = line()
    body = {"model": "m", "instructions": "Be brief.", "input": "Hello there."}
    there.send(json.dumps(body).encode(), response="resp_1")
    later = {**body, "input": "Hello there, again.", "previous_response_id": "resp_1"}
    record = there.send(json.dumps(later).encode())
    assert (record["previous"], record["messages"]["appended"]) == ("f1", 1)
    assert record["append_only"]


def test_a_body_given_up_for_memory_is_still_gone_on_from() -> None:
    there, talk = Line(Differ(1), dialect="responses"), first()
    there.send(talk, response="resp_1")
    record = there.send(going_on(talk, "resp_1"))
    assert record["previous"] == "f1"
    assert record["notes"] == ["chained_by_id", "previous_body_given_up"]
    assert record["reuse_ratio"] == 1.0


def test_threads_of_other_callers_are_not_gone_on_from() -> None:
    there, talk = line(), first()
    there.send(talk, response="resp_1")
    there.key = "another"
    assert there.send(going_on(talk, "resp_1"))["previous"] is None


def test_the_command_takes_its_first_file_for_what_is_held() -> None:
    talk = first()
    before, after = talk.body(), going_on(talk, "resp_1").body()
    record = diff_pair(before, after, DIALECTS["responses"], excerpts=False)
    assert (record["notes"], record["append_only"]) == (["server_held_history"], True)
    assert verdict(record) == (
        "B goes on from a response that the engine holds, with 1 message more, "
        "under the head of A."
    )


def test_two_requests_behind_one_response_are_compared_by_what_they_send() -> None:
    talk = first()
    bodies = [going_on(talk, "resp_1", f"Go on, {name}.").body() for name in "ab"]
    record = diff_pair(*bodies, DIALECTS["responses"], excerpts=False)
    assert not record["append_only"]
    assert record["notes"] == ["server_held_history"]


def items(*texts: tuple[str, str], **more: Any) -> bytes:
    told = [{"role": role, "content": text} for role, text in texts]
    return json.dumps({"model": "m", "input": told, **more}).encode()


def test_a_system_message_among_the_turns_is_part_of_the_head_only_at_first() -> None:
    there = line()
    begun = there.send(
        items(("developer", "Be brief."), ("user", "Hello.")), response="resp_1"
    )
    record = there.send(
        items(("developer", "Be kind."), previous_response_id="resp_1"),
        response="resp_2",
    )
    assert (record["append_only"], record["breaks"]) == (True, [])
    assert record["head_hash"] == begun["head_hash"]
    unseen = [
        there.send(items(("developer", text), previous_response_id="resp_0"))
        for text in ("Be quick.", "Be slow.")
    ]
    assert unseen[0]["head_hash"] == unseen[1]["head_hash"]


def test_the_end_of_a_history_is_no_text_that_goes_on() -> None:
    there, text = line(), "Please say what you think of it. " * 4
    there.send(json.dumps({"model": "m", "input": "Hello."}).encode(), response="r1")
    body = {"model": "m", "input": text}
    there.send(json.dumps({**body, "previous_response_id": "r1"}).encode())
    record = there.send(json.dumps({**body, "input": f"{text}More."}).encode())
    assert record["previous"] is None


def test_the_end_of_a_history_is_not_taken_for_one_that_was_edited() -> None:
    there, talk = line(), first()
    there.send(talk, response="resp_1")
    ending = going_on(talk, "resp_1")
    ending.steps = talk.steps[1:3]
    there.send(ending)
    whole = copy.deepcopy(ending)
    whole.steps[0].text = "Let me see. "
    del whole.more["previous_response_id"]
    assert there.send(whole)["previous"] != "f2"


def test_what_goes_on_from_a_response_is_diffed_before_it_is_forwarded() -> None:
    there, talk = line(), first()
    there.send(talk, response="resp_1")
    there.send(going_on(talk, "resp_1"), response="resp_2")
    raw = going_on(talk, "resp_2", "And on.").body()
    kind = DIALECTS["responses"]
    outcome = there.differ.diff_quickly(Arrival("f3", raw, kind, "k", Hints(), 30.0))
    assert outcome is not None
    assert outcome.record["previous"] == "f2"
