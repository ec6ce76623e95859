"""Each cause, in each dialect: made by one change to a request that only grew."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from prefix.conversations import (
    WRITERS,
    Call,
    Conversation,
    Json,
    Step,
    answered,
    conversation,
    read_tool,
)
from trackside.prefix.dialects import DIALECTS
from trackside.prefix.diffing import diff_pair

type Change = Callable[[Conversation], None]


@pytest.fixture(params=WRITERS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def diff(dialect: str, earlier: Change, later: Change) -> dict[str, Any]:
    """Return the record of a request and its successor, each changed in its way."""
    one = conversation(dialect)
    other = answered(one)
    earlier(one)
    later(other)
    return diff_pair(one.body(), other.body(), DIALECTS[dialect], excerpts=True)


def nothing(_: Conversation) -> None:
    """Leave the request as it is."""


def causes(record: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (row["cause"], row["sub"])
        for row in record["breaks"]
        if row["side"] != "benign"
    }


def wire(record: dict[str, Any]) -> set[str]:
    return {row["sub"] for row in record["breaks"] if row["side"] == "benign"}


def with_system(text: str) -> Change:
    def change(talk: Conversation) -> None:
        talk.system += text

    return change


def with_member(**members: Any) -> Change:
    def change(talk: Conversation) -> None:
        talk.more = members

    return change


def reorder_tools(talk: Conversation) -> None:
    talk.tools = [talk.tools[1], talk.tools[0], *talk.tools[2:]]


def remove_tool(talk: Conversation) -> None:
    del talk.tools[1]


def add_tool(talk: Conversation) -> None:
    talk.tools.append(read_tool("late", "Come later."))


def edit_tool(talk: Conversation) -> None:
    talk.tools[1]["description"] = "List what stands in a folder."


def swap_schema_keys(talk: Conversation) -> None:
    schema = talk.tools[1]["parameters"]
    schema["properties"] = dict(reversed(schema["properties"].items()))


def stamp_tool(when: str) -> Change:
    def change(talk: Conversation) -> None:
        talk.tools[2]["description"] = f"Run a command. Server started {when}."

    return change


def prune_result(talk: Conversation) -> None:
    talk.steps[1].calls[0].result = "[... old tool result cleared ...]"


def cut_middle(talk: Conversation) -> None:
    result = talk.steps[1].calls[0].result
    talk.steps[1].calls[
        0
    ].result = f"{result[:400]}\n[... tool result middle pruned ...]\n{result[-300:]}"


def drop_reasoning(talk: Conversation) -> None:
    talk.steps[1].reasoning = ""


def respace_arguments(talk: Conversation) -> None:
    talk.steps[1].calls[0].spacing = ","


def rewrite_arguments(talk: Conversation) -> None:
    call = talk.steps[1].calls[0]
    call.arguments = dict(reversed(call.arguments.items()))


def trim(talk: Conversation) -> None:
    talk.steps[3].text = talk.steps[3].text.strip()


def drop_image(talk: Conversation) -> None:
    talk.steps[4].image = False


def reword(talk: Conversation) -> None:
    talk.steps[3].text = "It has one hundred and eighty words, I think. "


def swap_results(talk: Conversation) -> None:
    """Exchange the results of two calls made at once, not the calls."""

    def edit(body: Json) -> None:
        for name in ("messages", "input"):
            rows = body.get(name, [])
            for row in rows:
                content = row.get("content")
                if isinstance(content, list) and len(content) == 2:
                    kinds = {part.get("type") for part in content}
                    if kinds == {"tool_result"}:
                        content.reverse()
                        return
            for at in range(len(rows) - 1):
                kinds = {
                    rows[at + n].get("role") or rows[at + n].get("type") for n in (0, 1)
                }
                if kinds in ({"tool"}, {"function_call_output"}):
                    rows[at : at + 2] = reversed(rows[at : at + 2])
                    return
        raise AssertionError("no two results in a row")

    talk.edit = edit


def drop_oldest(talk: Conversation) -> None:
    del talk.steps[:2]


def drop_middle(talk: Conversation) -> None:
    del talk.steps[2:3]


def sum_up(talk: Conversation) -> None:
    talk.steps[0:4] = [Step("user", "Summary: words were counted, count() is next.")]


def another_task(talk: Conversation) -> None:
    talk.steps = [Step("user", "Write a changelog for the last release, please.")]


REMINDER = "\n<system-reminder>Two todos are open.</system-reminder>"


def remind(step: int) -> Change:
    def change(talk: Conversation) -> None:
        talk.steps[step].text += REMINDER

    return change


def say_now(when: str) -> Change:
    def change(talk: Conversation) -> None:
        talk.steps[0].text += f"\n<turn-context>It is {when}.</turn-context>"

    return change


def append_call(talk: Conversation) -> None:
    talk.steps[-1].calls.append(Call("call_z", "run", {"path": "x"}, "ok"))


UUIDS = (
    "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
    "0e37df36-f698-4ce5-8d2a-1b2c3d4e5f60",
)

HARNESS = [
    pytest.param(
        with_system("Current time: 06:00:31 PM PDT"),
        with_system("Current time: 06:01:02 PM PDT"),
        ("volatile_stamp", "clock"),
        id="clock",
    ),
    pytest.param(
        with_system("Today's date: 2026-11-30"),
        with_system("Today's date: 2026-12-01"),
        ("volatile_stamp", "date"),
        id="date",
    ),
    pytest.param(
        with_system("billing: cch=9a3f1; entry=cli;"),
        with_system("billing: cch=07b2c; entry=cli;"),
        ("volatile_stamp", "nonce"),
        id="nonce",
    ),
    pytest.param(
        with_system(f"Session folder {UUIDS[0]}."),
        with_system(f"Session folder {UUIDS[1]}."),
        ("volatile_stamp", "uuid"),
        id="uuid",
    ),
    pytest.param(
        with_system("About 81000 tokens remain."),
        with_system("About 79000 tokens remain."),
        ("volatile_stamp", "counter"),
        id="counter",
    ),
    pytest.param(
        with_system("Scratch: /tmp/agent-x81hq/src is yours."),
        with_system("Scratch: /tmp/agent-77abz/src is yours."),
        ("volatile_stamp", "tmp_path"),
        id="tmp_path",
    ),
    pytest.param(
        say_now("12:00"),
        say_now("12:01"),
        ("volatile_stamp", "clock"),
        id="clock-in-history",
    ),
    pytest.param(
        stamp_tool("2026-11-30 08:00"),
        stamp_tool("2026-11-30 09:30"),
        ("volatile_stamp", "clock"),
        id="clock-in-tool",
    ),
    pytest.param(nothing, reorder_tools, ("tools_reordered", ""), id="tools_reordered"),
    pytest.param(nothing, remove_tool, ("tools_changed", "removed"), id="tool-removed"),
    pytest.param(nothing, add_tool, ("tools_changed", "added"), id="tool-added"),
    pytest.param(nothing, edit_tool, ("tools_changed", "edited"), id="tool-edited"),
    pytest.param(nothing, swap_schema_keys, ("tool_key_order", ""), id="key-order"),
    pytest.param(
        with_system("gitStatus: clean, nothing staged"),
        with_system("gitStatus: modified count.py and three more"),
        ("system_changed", "env"),
        id="env",
    ),
    pytest.param(
        with_system("Rules from AGENTS.md: be brief."),
        with_system("Rules from AGENTS.md: be brief. Never use tabs."),
        ("system_changed", "rules_file"),
        id="rules",
    ),
    pytest.param(
        with_system("<memory>likes tea</memory>"),
        with_system("<memory>likes coffee</memory>"),
        ("system_changed", "memory"),
        id="memory",
    ),
    pytest.param(
        with_system("You are in plan mode."),
        with_system("You are in build mode."),
        ("system_changed", "mode"),
        id="mode",
    ),
    pytest.param(
        nothing,
        with_system("\n\n" + "Prefer short words. " * 40 + "\nAnswer in French."),
        ("system_changed", "text"),
        id="system-text",
    ),
    pytest.param(remind(4), remind(-1), ("injection_moved", ""), id="reminder"),
    pytest.param(
        nothing, prune_result, ("history_edited", "tool_result_pruned"), id="pruned"
    ),
    pytest.param(
        nothing, cut_middle, ("history_edited", "tool_result_pruned"), id="middle-cut"
    ),
    pytest.param(
        nothing, drop_reasoning, ("history_edited", "reasoning_dropped"), id="reasoning"
    ),
    pytest.param(
        nothing,
        rewrite_arguments,
        ("history_edited", "tool_call_rewritten"),
        id="arguments",
    ),
    pytest.param(nothing, trim, ("history_edited", "whitespace"), id="trimmed-blank"),
    pytest.param(nothing, drop_image, ("history_edited", "media"), id="media"),
    pytest.param(nothing, reword, ("history_edited", "text"), id="reworded"),
    pytest.param(nothing, drop_oldest, ("history_dropped", "window"), id="window"),
    pytest.param(nothing, drop_middle, ("history_dropped", "middle"), id="middle"),
    pytest.param(nothing, sum_up, ("compacted", ""), id="compacted"),
    pytest.param(
        with_member(model="a"),
        with_member(model="b"),
        ("params_changed", "model"),
        id="model",
    ),
    pytest.param(
        with_member(chat_template_kwargs={"enable_thinking": True}),
        with_member(chat_template_kwargs={"enable_thinking": False}),
        ("params_changed", "template_kwargs"),
        id="template_kwargs",
    ),
    pytest.param(
        with_member(reasoning={"effort": "low"}),
        with_member(reasoning={"effort": "high"}),
        ("params_changed", "effort"),
        id="effort",
    ),
    pytest.param(
        with_member(tool_choice="auto"),
        with_member(tool_choice="none"),
        ("params_changed", "tool_choice"),
        id="tool_choice",
    ),
    pytest.param(
        with_member(cache_salt="a"),
        with_member(cache_salt="b"),
        ("params_changed", "salt"),
        id="salt",
    ),
]


@pytest.mark.parametrize(("earlier", "later", "cause"), HARNESS)
def test_each_cause_is_named(
    dialect: str, earlier: Change, later: Change, cause: tuple[str, str]
) -> None:
    record = diff(dialect, earlier, later)
    assert causes(record) == {cause}
    assert not record["append_only"]


def test_results_of_parallel_calls_that_change_places_are_a_break(dialect: str) -> None:
    record = diff(dialect, nothing, swap_results)
    assert causes(record) == {("history_reordered", "")}


@pytest.mark.parametrize("name", ["chat", "responses"])
def test_spacing_of_arguments_sent_as_text_is_a_break(name: str) -> None:
    record = diff(name, nothing, respace_arguments)
    assert causes(record) == {("history_edited", "tool_call_rewritten")}


def test_another_task_under_the_same_head_is_no_rewritten_history(dialect: str) -> None:
    record = diff(dialect, nothing, another_task)
    assert causes(record) == {("session_border", "")}
    assert not record["append_only"]


def test_a_request_that_only_grew_breaks_nothing(dialect: str) -> None:
    record = diff(dialect, nothing, nothing)
    assert (record["breaks"], record["reuse_ratio"]) == ([], 1.0)
    assert record["append_only"]
    assert record["tools_stable"]


def renew_ids(talk: Conversation) -> None:
    for step in talk.steps:
        for call in step.calls:
            call.id = f"{call.id}_new"


def edited(edit: Callable[[Json], None]) -> Change:
    def change(talk: Conversation) -> None:
        talk.edit = edit

    return change


def mark_last(body: Json) -> None:
    """Put the cache mark where a harness does: on the last message."""
    last = (body.get("messages") or body["input"])[-1]
    if isinstance(last.get("content"), list):
        last["content"][-1]["cache_control"] = {"type": "ephemeral"}
    else:
        last["cache_control"] = {"type": "ephemeral"}


def add_private(body: Json) -> None:
    for row in body.get("messages") or body["input"]:
        if row.get("role") == "assistant":
            row["rawUsage"] = {"total": 7}
            row["isMeta"] = False


def add_nulls(body: Json) -> None:
    for row in body.get("messages") or body["input"]:
        if row.get("role") == "assistant":
            row["refusal"] = None


def reverse_message_keys(body: Json) -> None:
    name = "messages" if "messages" in body else "input"
    body[name] = [dict(reversed(row.items())) for row in body[name]]


def reverse_members(body: Json) -> None:
    members = list(body.items())
    body.clear()
    body.update(reversed(members))


BENIGN = [
    pytest.param(nothing, renew_ids, "ids", id="ids"),
    pytest.param(edited(mark_last), edited(mark_last), "cache_control", id="cache"),
    pytest.param(nothing, edited(add_private), "private_keys", id="private"),
    pytest.param(nothing, edited(reverse_message_keys), "top_level_order", id="keys"),
    pytest.param(nothing, edited(reverse_members), "top_level_order", id="members"),
    pytest.param(
        with_member(max_tokens=9000), with_member(max_tokens=8000), "limits", id="limit"
    ),
    pytest.param(
        with_member(max_completion_tokens=9),
        with_member(max_completion_tokens=8),
        "limits",
        id="completion-limit",
    ),
    pytest.param(
        with_member(metadata={"turn": 1}),
        with_member(metadata={"turn": 2}),
        "metadata",
        id="metadata",
    ),
    pytest.param(
        with_member(client_metadata={"turn": "a"}),
        with_member(client_metadata={"turn": "b"}),
        "metadata",
        id="client_metadata",
    ),
    pytest.param(
        with_member(prompt_cache_key="a"),
        with_member(prompt_cache_key="b"),
        "metadata",
        id="prompt_cache_key",
    ),
    pytest.param(
        with_member(stream=True), with_member(stream=False), "metadata", id="stream"
    ),
]


@pytest.mark.parametrize(("earlier", "later", "sub"), BENIGN)
def test_what_no_prompt_shows_raises_no_alarm(
    dialect: str, earlier: Change, later: Change, sub: str
) -> None:
    record = diff(dialect, earlier, later)
    assert wire(record) == {sub}
    assert causes(record) == set()
    assert (record["append_only"], record["reuse_ratio"]) == (True, 1.0)


def test_null_keys_are_no_difference_to_the_prompt(dialect: str) -> None:
    record = diff(dialect, nothing, edited(add_nulls))
    assert causes(record) == set()
    assert record["append_only"]


def test_spacing_and_escapes_of_the_body_stay_on_the_wire(dialect: str) -> None:
    one, other = conversation(dialect), answered(conversation(dialect))
    spaced = other.body().replace(b'","', b'", "')
    record = diff_pair(one.body(), spaced, DIALECTS[dialect], excerpts=False)
    assert causes(record) == set()
    assert "json_spacing" in wire(record)
    escaped = other.body().replace(b"count", rb"\u0063ount")
    record = diff_pair(one.body(), escaped, DIALECTS[dialect], excerpts=False)
    assert wire(record) == {"escaping"}


def test_all_breaks_are_told_with_what_mending_the_first_ones_regains(
    dialect: str,
) -> None:
    def spoil(talk: Conversation) -> None:
        with_system("Current time: 06:01:02 PM PDT")(talk)
        prune_result(talk)
        trim(talk)

    record = diff(dialect, with_system("Current time: 06:00:31 PM PDT"), spoil)
    rows = record["breaks"]
    assert [row["cause"] for row in rows] == [
        "volatile_stamp",
        "history_edited",
        "history_edited",
    ]
    assert [row["offset"] for row in rows] == sorted(row["offset"] for row in rows)
    effective = record["effective"]
    assert effective["shared_bytes"] == rows[0]["offset"]
    gains = [row["gain_bytes"] for row in rows]
    assert gains == [
        rows[1]["offset"] - rows[0]["offset"],
        rows[2]["offset"] - rows[0]["offset"],
        effective["previous_bytes"] - rows[0]["offset"],
    ]
    assert rows[0]["lost_bytes"] == effective["previous_bytes"] - rows[0]["offset"]


@pytest.mark.parametrize(
    ("later", "moves"),
    [
        pytest.param(with_system("More."), -1, id="system"),
        pytest.param(reorder_tools, 1, id="tools"),
        pytest.param(add_tool, 1, id="tool-added"),
        pytest.param(reword, 0, id="history"),
    ],
)
def test_breaks_of_the_head_stand_elsewhere_where_system_text_comes_first(
    dialect: str, later: Change, moves: int
) -> None:
    (row,) = diff(dialect, nothing, later)["breaks"]
    body = json.loads(conversation(dialect).body())
    tools = sum(len(compact(tool)) for tool in body["tools"])
    first = body.get("messages", [None])[0]
    system = {
        "responses": body.get("instructions"),
        "messages": (body.get("system") or [None])[0],
    }.get(dialect, first)
    shift = {-1: -tools, 1: len(compact(system)), 0: 0}[moves]
    assert row.get("offset_system_first", row["offset"]) == row["offset"] + shift


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def test_offsets_point_at_the_first_differing_byte(dialect: str) -> None:
    one = conversation(dialect)
    other = answered(one)
    trim(other)
    before, after = one.body(), other.body()
    (row,) = diff_pair(before, after, DIALECTS[dialect], excerpts=True)["breaks"]
    assert after[: row["raw_offset"]].endswith(b"There are 180 words.")
    assert "There are 180 words. " in row["old"]
    assert row["path"].startswith(DIALECTS[dialect].history)


def test_texts_are_told_only_when_asked_for(dialect: str) -> None:
    one = conversation(dialect)
    other = answered(one)
    trim(other)
    (row,) = diff_pair(one.body(), other.body(), DIALECTS[dialect], excerpts=False)[
        "breaks"
    ]
    assert not {"old", "new"} & row.keys()


def test_a_request_without_its_last_messages_is_a_step_back(dialect: str) -> None:
    one = conversation(dialect)
    back = copy.deepcopy(one)
    del back.steps[-1]
    record = diff_pair(one.body(), back.body(), DIALECTS[dialect], excerpts=False)
    assert record["notes"] == ["step_back"]
    assert causes(record) == set()
