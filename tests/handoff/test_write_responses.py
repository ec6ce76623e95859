"""How a responses stream goes on: items, parts, numbers, the last event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trackside.handoff.event import named
from trackside.handoff.usage import Counts
from trackside.handoff.write_responses import Responses
from trackside.wire.pieces import Reasoning, Start, ToolCall
from trackside.wire.stream import Message

COUNTS = Counts(prompt=30, completion=12, reasoning=9, cached=20)
BASE = {"id": "resp_7", "object": "response", "status": "in_progress"}
RS = {"id": "rs_1", "type": "reasoning", "summary": [], "content": []}


def event(kind: str, **data: Any) -> Message:
    text = data.get("delta")
    is_reasoning = text and kind.startswith("reasoning")
    pieces = (Reasoning(text, "reasoning"),) if is_reasoning else ()
    return Message(named(f"response.{kind}", **data), pieces)


LLAMA = [  # neither numbers nor parts
    event("created", response=BASE),
    event("output_item.added", item=RS),
    event("reasoning_text.delta", delta="Hm", item_id="rs_1"),
    event("reasoning_text.delta", delta=", so", item_id="rs_1"),
]
AT = {"item_id": "rs_1", "output_index": 0}
VLLM = [
    event("created", response={**BASE, "model": "m", "x": 1}, sequence_number=0),
    event("output_item.added", item=RS, output_index=0, sequence_number=1),
    event("content_part.added", **AT, content_index=0, part={}, sequence_number=2),
    event("reasoning_text.delta", **AT, content_index=0, delta="Hm", sequence_number=3),
]
SUMMED = [  # two parts of a summary, the first one closed
    event("created", response=BASE, sequence_number=4),
    event("output_item.added", item=RS, output_index=0, sequence_number=5),
    event("reasoning_summary_part.added", **AT, summary_index=0),
    event("reasoning_summary_text.delta", **AT, summary_index=0, delta="One"),
    event("reasoning_summary_text.done", **AT, summary_index=0, text="One"),
    event("reasoning_summary_part.done", **AT, summary_index=0),
    event("reasoning_summary_part.added", **AT, summary_index=1),
    event("reasoning_summary_text.delta", **AT, delta="Two", sequence_number=12),
]


def after(events: list[Message]) -> Responses:
    form = Responses()
    for message in events:
        form.follow(message)
    return form


def read(raw: bytes) -> list[dict[str, Any]]:
    found = []
    for text in raw.decode().split("\n\n")[:-1]:
        name, data = text.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        value["type"] = value["type"].removeprefix("response.")
        found.append(value)
    return found


ANSWER = [
    *("output_item.added", "content_part.added", "output_text.delta"),
    *("output_text.done", "content_part.done", "output_item.done", "completed"),
]


@pytest.mark.parametrize(
    ("phase1", "closing", "parts"),
    [
        pytest.param(
            LLAMA, ["reasoning_text.done"], {"content": ["Hm, so"]}, id="bare"
        ),
        pytest.param(
            VLLM,
            ["reasoning_text.done", "content_part.done"],
            {"content": ["Hm"]},
            id="numbered",
        ),
        pytest.param(
            SUMMED,
            ["reasoning_summary_text.done", "reasoning_summary_part.done"],
            {"summary": ["One", "Two"], "content": []},
            id="summary",
        ),
    ],
)
def test_reasoning_is_closed_and_repeated_in_the_last_event(
    phase1: list[Message], closing: list[str], parts: dict[str, list[str]]
) -> None:
    form = after(phase1)
    events = read(form.text("Blue") + form.close("stop", COUNTS))
    assert [e["type"] for e in events] == [*closing, "output_item.done", *ANSWER]
    reasoning, message = events[-1]["response"]["output"]
    assert {k: [p["text"] for p in reasoning[k]] for k in parts} == parts
    assert message["content"][0]["text"] == "Blue"
    assert message["id"] == "msg_7_1"
    item_done = events[len(closing)]
    assert item_done["item"] == reasoning


def test_numbers_go_on_where_there_are_any() -> None:
    form = after(VLLM)
    events = read(form.text("Blue") + form.close("stop", COUNTS))
    assert [e["sequence_number"] for e in events] == list(range(4, 4 + len(events)))
    assert [e.get("output_index") for e in events] == [0, 0, 0, *[1] * 6, None]


def test_an_engine_that_numbers_nothing_is_not_numbered() -> None:
    form = after(LLAMA)
    for told in read(form.text("Blue") + form.close("stop", COUNTS)):
        assert "sequence_number" not in told
        assert "output_index" not in told


def test_the_last_event_keeps_what_the_first_told() -> None:
    form = after(VLLM)
    form.heard(Message(b"", (Start("chatcmpl-2", "other", 17),)))
    final = read(form.close("stop", COUNTS))[-1]["response"]
    assert (final["id"], final["model"], final["x"]) == ("resp_7", "m", 1)
    assert (final["status"], final["created_at"]) == ("completed", 17)
    assert final["usage"] == {
        "input_tokens": 30,
        "input_tokens_details": {"cached_tokens": 20},
        "output_tokens": 12,
        "output_tokens_details": {"reasoning_tokens": 9},
        "total_tokens": 42,
    }


def test_a_response_that_was_cut_is_incomplete() -> None:
    final = read(after(LLAMA).close("length", Counts()))[-1]
    assert final["type"] == "completed"
    assert final["response"]["status"] == "incomplete"
    assert final["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


def test_tool_calls_are_items() -> None:
    form = after(VLLM)
    raw = form.tool(ToolCall(0, "c1", "look", ""))
    raw += form.tool(ToolCall(0, None, None, '{"a":'))
    raw += form.tool(ToolCall(0, None, None, "1}"))
    raw += form.tool(ToolCall(1, None, "look", "{}"))
    events = read(raw + form.close("tool_calls", COUNTS))
    one, two = events[-1]["response"]["output"][1:]
    assert (one["call_id"], one["name"], one["arguments"]) == ("c1", "look", '{"a":1}')
    assert (two["call_id"], two["arguments"]) == ("call_2", "{}")
    dones = [e for e in events if e["type"] == "function_call_arguments.done"]
    assert [e["arguments"] for e in dones] == ['{"a":1}', "{}"]
    assert events[-1]["response"]["status"] == "completed"


def test_a_failure_is_told_as_one() -> None:
    event_ = read(after(VLLM).fail("gone"))[-1]
    assert event_["type"] == "failed"
    assert event_["response"]["status"] == "failed"
    assert event_["response"]["error"]["message"] == "gone"


def test_an_item_that_the_engine_ended_keeps_its_words() -> None:
    done = {**RS, "content": [{"type": "reasoning_text", "text": "Hm"}], "odd": 1}
    form = after([*LLAMA, event("output_item.done", item=done)])
    events = read(form.text("Blue") + form.close("stop", COUNTS))
    assert [e["type"] for e in events] == ANSWER
    assert events[-1]["response"]["output"][0] == done


def test_an_item_ended_inside_the_next_is_found() -> None:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    added = [
        event("output_item.added", item=message),
        event("content_part.added", item_id="msg_1"),
        event("output_text.delta", delta="Bl", item_id="msg_1"),
    ]
    form = after([*LLAMA, *added, event("output_item.done", item=RS)])
    events = read(form.text("ue") + form.close("stop", COUNTS))
    assert [e["type"] for e in events] == ANSWER[2:]
    assert events[-1]["response"]["output"][1]["content"][0]["text"] == "Blue"


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(Message(b"data: [DONE]\n\n", ()), id="done"),
        pytest.param(Message(b": hi\n\n", ()), id="comment"),
        pytest.param(event("created", response=3), id="no response"),
        pytest.param(event("output_item.added", item=3), id="no item"),
        pytest.param(event("output_item.done", item={"id": "?"}), id="unknown item"),
        pytest.param(event("brand_new.delta", delta="x"), id="new event"),
        pytest.param(event("reasoning_text.delta", delta=3), id="no text"),
    ],
)
def test_what_is_not_understood_does_no_harm(odd: Message) -> None:
    form = after([odd])
    assert read(form.text("Blue") + form.close("stop", COUNTS))[-1]["response"]
