"""Every cause of the record has a test in every dialect, or a reason why it can't."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from prefix.conversations import WRITERS, Conversation, Step, answered, conversation
from prefix.test_causes import BENIGN, HARNESS, Change, causes, diff, wire, with_member
from prefix.test_diffing import Line

type Cause = tuple[str, str]

NAMES = {
    "volatile_stamp": "clock date nonce uuid counter tmp_path",
    "tools_reordered": "",
    "tools_changed": "added removed edited flap",
    "tool_key_order": "",
    "system_changed": "env rules_file memory mode text",
    "injection_moved": "",
    "history_edited": "tool_result_pruned reasoning_dropped tool_call_rewritten"
    " whitespace media text",
    "history_reordered": "",
    "history_dropped": "middle window",
    "compacted": "",
    "params_changed": "model template_kwargs effort tool_choice num_ctx salt",
    "resend": "",
    "session_border": "",
    "wire_only": "json_spacing escaping top_level_order ids cache_control metadata"
    " limits private_keys",
}
"""The public names of causes, harness and benign, with their subs."""

CONTEXT_SIZE = "the context's size is the server's setting: no request can change it"
ABSENT: dict[Cause, dict[str, str]] = {
    ("params_changed", "num_ctx"): dict.fromkeys(
        ("chat", "responses", "messages"), CONTEXT_SIZE
    ),
}
"""Causes that a dialect has no words for, and why."""

ALONE = {
    ("history_reordered", ""),
    ("wire_only", "json_spacing"),
    ("wire_only", "escaping"),
}
"""Causes that tests of their own in `test_causes` name, in all dialects."""


def own(dialect: str, name: str, *values: Any) -> Any:
    """Return a row: a member as the dialect spells it, before and after."""
    earlier, later = ({name: value} for value in values)
    return dialect, with_member(**earlier), with_member(**later)


OWN = [
    pytest.param(*row, cause, id=f"{row[0]}-{cause[1]}-{number}")
    for cause, rows in {
        ("params_changed", "effort"): [
            own("chat", "reasoning_effort", "low", "high"),
            own("responses", "reasoning", {"effort": "low"}, {"effort": "high"}),
            own("messages", "output_config", {"effort": "low"}, {"effort": "high"}),
            own("messages", "thinking", {"type": "enabled"}, {"type": "disabled"}),
            own("ollama_chat", "think", "low", "high"),
            own("ollama_chat", "think", True, False),
        ],
        ("params_changed", "tool_choice"): [
            own("messages", "tool_choice", {"type": "auto"}, {"type": "none"}),
        ],
        ("params_changed", "num_ctx"): [
            own("ollama_chat", "options", {"num_ctx": 8192}, {"num_ctx": 16384}),
        ],
        ("wire_only", "limits"): [
            own("chat", "max_completion_tokens", 9000, 8000),
            own("responses", "max_output_tokens", 9000, 8000),
            own("messages", "max_tokens", 9000, 8000),
            own(
                "messages",
                "thinking",
                {"type": "enabled", "budget_tokens": 9000},
                {"type": "enabled", "budget_tokens": 8000},
            ),
            own(
                "ollama_chat",
                "options",
                {"num_ctx": 9, "num_predict": 9000},
                {"num_ctx": 9, "num_predict": 8000},
            ),
        ],
        ("wire_only", "metadata"): [
            own("chat", "user", "a", "b"),
            own("responses", "client_metadata", {"turn": "a"}, {"turn": "b"}),
            own("messages", "metadata", {"user_id": "a"}, {"user_id": "b"}),
            own("ollama_chat", "keep_alive", "5m", "10m"),
            own("ollama_chat", "options", {"temperature": 0}, {"temperature": 1}),
        ],
    }.items()
    for number, row in enumerate(rows)
]


@pytest.mark.parametrize(("dialect", "earlier", "later", "cause"), OWN)
def test_members_as_each_dialect_spells_them(
    dialect: str, earlier: Change, later: Change, cause: Cause
) -> None:
    record = diff(dialect, earlier, later)
    benign = cause[0] == "wire_only"
    assert wire(record) == ({cause[1]} if benign else set())
    assert causes(record) == (set() if benign else {cause})
    assert record["append_only"] is benign


def flap(line: Line) -> dict[str, Any]:
    """Lose a tool and get it back."""
    talk = conversation(line.dialect)
    line.send(talk)
    less = answered(talk)
    del less.tools[1]
    lost = line.send(less)
    assert causes(lost) == {("tools_changed", "removed")}
    back = answered(less)
    back.tools = talk.tools
    return line.send(back)


def send_unfinished_again(line: Line) -> dict[str, Any]:
    """Send a request again that is still running."""
    talk = conversation(line.dialect)
    line.send(talk, ended=False)
    return line.send(talk)


def send_abandoned_again(line: Line) -> dict[str, Any]:
    """Leave a silent engine, then ask it the same."""
    talk = conversation(line.dialect)
    line.send(talk, is_abandoned=True)
    return line.send(talk)


def begin_another_task(line: Line) -> dict[str, Any]:
    """Ask something else under the same head."""
    talk = conversation(line.dialect)
    line.send(talk)
    talk.steps = [Step("user", "Write a changelog for the last release, please.")]
    return line.send(talk)


THREADED: list[tuple[Callable[[Line], dict[str, Any]], Cause]] = [
    (flap, ("tools_changed", "flap")),
    (send_unfinished_again, ("resend", "")),
    (send_abandoned_again, ("resend", "")),
    (begin_another_task, ("session_border", "")),
]


@pytest.mark.parametrize("dialect", WRITERS)
@pytest.mark.parametrize(
    ("story", "cause"),
    [pytest.param(story, cause, id=story.__name__) for story, cause in THREADED],
)
def test_causes_that_more_than_two_requests_tell(
    dialect: str, story: Callable[[Line], dict[str, Any]], cause: Cause
) -> None:
    record = story(Line(dialect=dialect))
    assert causes(record) == {cause}
    blamed = {row["side"] for row in record["breaks"]}
    assert blamed == ({"harness"} if cause[0] == "tools_changed" else {"none"})


@pytest.mark.parametrize("dialect", WRITERS)
def test_a_tool_that_was_gone_for_long_is_a_new_one(dialect: str) -> None:
    line, talk = Line(dialect=dialect), conversation(dialect)
    line.send(talk)
    tools = talk.tools
    talk.tools = tools[:2]
    for _ in range(11):
        talk = answered(talk)
        line.send(talk)
    talk = answered(talk)
    talk.tools = tools
    assert causes(line.send(talk)) == {("tools_changed", "added")}


@pytest.mark.parametrize("dialect", WRITERS)
def test_a_request_that_was_answered_is_a_retry_and_no_resend(dialect: str) -> None:
    line, talk = Line(dialect=dialect), conversation(dialect)
    line.send(talk)
    record = line.send(talk)
    assert (record["role"], record["breaks"]) == ("retry", [])


@pytest.mark.parametrize("dialect", WRITERS)
def test_reasoning_that_is_not_sent_back_is_a_finding_of_its_own(dialect: str) -> None:
    line, talk = Line(dialect=dialect), conversation(dialect)
    line.send(talk, has_reasoned=True)
    kept = answered(talk)
    assert line.send(kept, has_reasoned=True)["notes"] == []
    silent = answered(kept)
    silent.steps[-1].reasoning = ""
    record = line.send(silent, has_reasoned=False)
    assert (record["append_only"], record["breaks"]) == (True, [])
    assert record["notes"] == ["reasoning_not_sent_back"]
    quiet = answered(silent)
    quiet.steps[-1].reasoning = ""
    assert line.send(quiet)["notes"] == []  # there was none to send


def codebuddy(body: dict[str, Any]) -> None:
    """Put into old messages what CodeBuddy does when it resumes."""
    for row in body.get("messages") or body["input"]:
        if (row.get("role") or row.get("type")) not in ("system", "user"):
            row["rawUsage"] = {"prompt_tokens": 7}
            row["usage"] = {"total": 7}
            row["isMeta"] = False
            row["messageId"] = "m-1"


def observe(body: dict[str, Any]) -> None:
    """Put in a key of which nothing says that templates leave it out."""
    rows = body.get("messages") or body["input"]
    old = next(row for row in rows if row.get("role") == "assistant")
    old["tool_plan"] = "First I read the file."


def editing(edit: Callable[[dict[str, Any]], None]) -> Change:
    def change(talk: Conversation) -> None:
        talk.edit = edit

    return change


def nothing(_: Conversation) -> None:
    """Leave the request as it is."""


@pytest.mark.parametrize("dialect", WRITERS)
def test_what_a_harness_keeps_for_itself_in_old_messages_is_benign(
    dialect: str,
) -> None:
    record = diff(dialect, nothing, editing(codebuddy))
    assert (wire(record), causes(record)) == ({"private_keys"}, set())


@pytest.mark.parametrize("dialect", WRITERS)
def test_an_unknown_key_is_a_break_where_engines_hand_it_to_the_template(
    dialect: str,
) -> None:
    record = diff(dialect, nothing, editing(observe))
    if dialect == "chat":
        assert causes(record) == {("history_edited", "text")}
        assert record["breaks"][0]["path"] == "messages[2].tool_plan"
    else:  # engines translate these messages from the keys they know
        assert (wire(record), causes(record)) == ({"private_keys"}, set())


@pytest.mark.parametrize("dialect", WRITERS)
def test_every_cause_has_a_test_or_a_reason(dialect: str) -> None:
    tested = {row.values[2] for row in HARNESS} | ALONE
    tested |= {("wire_only", row.values[2]) for row in BENIGN}
    tested |= {cause for _, cause in THREADED}
    tested |= {row.values[3] for row in OWN if row.values[0] == dialect}
    names = {
        (name, sub) for name, subs in NAMES.items() for sub in subs.split() or [""]
    }
    absent = {cause for cause, dialects in ABSENT.items() if dialect in dialects}
    assert names - tested == absent
    assert tested <= names
