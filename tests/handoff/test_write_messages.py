"""How an Anthropic stream goes on: block order, signatures, counts, failures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trackside.handoff.event import named
from trackside.handoff.strategy import Engine
from trackside.handoff.usage import Counts
from trackside.handoff.write_messages import Messages
from trackside.wire.pieces import ToolCall
from trackside.wire.stream import Message

START = named("message_start", message={"id": "m", "usage": {"input_tokens": 9}})
COUNTS = Counts(prompt=30, completion=12, cached=20)


def block(index: int, kind: str, text: str = "", *, open_: bool = True) -> list[bytes]:
    """Return the events of a block, up to its stop unless it stays open."""
    start = {"type": kind, kind: ""}
    delta = {"type": f"{kind}_delta", kind: text}
    out = [named("content_block_start", index=index, content_block=start)]
    out.append(named("content_block_delta", index=index, delta=delta))
    return out if open_ else [*out, named("content_block_stop", index=index)]


def after(*events: bytes, engine: Engine = "vllm") -> Messages:
    form = Messages()
    form.engine = engine
    for event in (START, *events):
        form.follow(Message(event, ()))
    return form


def read(raw: bytes) -> list[dict[str, Any]]:
    """Return the data of events, each of which must be named by its type."""
    found = []
    for event in raw.decode().split("\n\n")[:-1]:
        name, data = event.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        found.append(value)
    return found


def kinds(events: list[dict[str, Any]]) -> list[str]:
    """Return types in short, with the index of each block event."""
    return [
        f"{e['type'].removeprefix('content_block_')} {e['index']}"
        if "index" in e
        else e["type"]
        for e in events
    ]


def test_thinking_is_closed_before_the_answer_opens() -> None:
    form = after(*block(0, "thinking", "Hm"))
    events = read(form.text("Blue") + form.text(".") + form.close("stop", COUNTS))
    assert kinds(events) == [
        *("stop 0", "start 1", "delta 1", "delta 1", "stop 1"),
        *("message_delta", "message_stop"),
    ]
    assert events[5]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert events[5]["usage"] == {
        "output_tokens": 12,
        "input_tokens": 10,
        "cache_read_input_tokens": 20,
    }


def signature(index: int, text: str) -> bytes:
    delta = {"type": "signature_delta", "signature": text}
    return named("content_block_delta", index=index, delta=delta)


UNSIGNED = block(0, "thinking", open_=False)
SIGNED = [*block(0, "thinking"), signature(0, "x"), UNSIGNED[-1]]


@pytest.mark.parametrize(
    ("before", "engine", "is_signed"),
    [
        pytest.param([], "llama.cpp", True, id="llama.cpp always does"),
        pytest.param([], "vllm", False, id="others do not"),
        pytest.param(SIGNED, "vllm", True, id="the block before was"),
        pytest.param(UNSIGNED, "llama.cpp", False, id="the block before was not"),
    ],
)
def test_thinking_is_signed_as_the_engine_does_it(
    before: list[bytes], engine: Engine, is_signed: bool
) -> None:
    index = 1 if before else 0
    form = after(*before, *block(index, "thinking"), engine=engine)
    raw = form.text("Blue")
    assert raw.startswith(signature(index, "")) is is_signed
    assert (b"signature" in raw) is is_signed
    again = form.reasoning("Hm") + form.text("Blue")  # phase 2's own
    assert (signature(index + 2, "") in again) is is_signed


def test_a_signature_is_not_given_twice() -> None:
    form = after(*block(0, "thinking"), signature(0, "x"), engine="llama.cpp")
    assert kinds(read(form.text("Blue"))) == ["stop 0", "start 1", "delta 1"]


@pytest.mark.parametrize(
    ("phase1", "index"),
    [
        pytest.param([], 0, id="nothing yet"),
        pytest.param(block(0, "thinking", open_=False), 1, id="closed block"),
        pytest.param(
            [*block(0, "thinking", open_=False), *block(1, "thinking", open_=False)],
            2,
            id="two closed blocks",
        ),
        pytest.param([b"event: new\ndata: {}\n\n", b": hi\n\n"], 0, id="unknown"),
        pytest.param([b"event: content_block_start\ndata: [\n\n"], 0, id="garbage"),
        pytest.param(
            [named("content_block_start", index="0", content_block=None)],
            0,
            id="odd types",
        ),
    ],
)
def test_blocks_are_numbered_on(phase1: list[bytes], index: int) -> None:
    events = read(after(*phase1).text("Blue"))
    assert kinds(events) == [f"start {index}", f"delta {index}"]


def test_an_open_text_block_is_gone_on_with() -> None:
    assert kinds(read(after(*block(0, "text")).text("Blue"))) == ["delta 0"]


def test_tool_calls_have_a_block_each() -> None:
    form = after(*block(0, "thinking"))
    raw = form.text("So: ")
    raw += form.tool(ToolCall(0, "c1", "look", ""))
    raw += form.tool(ToolCall(0, None, None, '{"a":'))
    raw += form.tool(ToolCall(0, None, None, "1}"))
    raw += form.tool(ToolCall(1, None, "look", "{}"))
    events = read(raw + form.close("tool_calls", COUNTS))
    assert kinds(events) == [
        *("stop 0", "start 1", "delta 1", "stop 1"),
        *("start 2", "delta 2", "delta 2", "stop 2"),
        *("start 3", "delta 3", "stop 3", "message_delta", "message_stop"),
    ]
    tool = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    assert events[4]["content_block"] == tool
    assert events[8]["content_block"]["id"] == "toolu_3"
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("repetition", "repetition"),
    ],
)
def test_finish_reasons_are_anthropics(finish: str, reason: str) -> None:
    delta = read(after(*block(0, "thinking")).close(finish, Counts()))[-2]
    assert delta["delta"]["stop_reason"] == reason
    assert delta["usage"] == {"output_tokens": 0}


def test_a_named_tool_ends_as_tool_use() -> None:
    form = after()
    form.tool(ToolCall(0, "c1", "look", "{}"))
    assert read(form.close("stop", Counts()))[-2]["delta"]["stop_reason"] == "tool_use"


def test_a_failure_is_an_error_event() -> None:
    (event,) = read(after(*block(0, "thinking")).fail("gone"))
    assert event["error"] == {"type": "api_error", "message": "gone"}
