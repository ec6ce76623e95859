"""Streams made into bodies: cuts do not matter, garbage does no harm."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.handoff.dialects import WHOLES, whole_for
from trackside.handoff.engines import NAMES
from trackside.handoff.event import named, unnamed
from trackside.handoff.whole import Whole, WholeMessage, WholeResponse
from trackside.handoff.whole_chat import WholeChat
from trackside.handoff.whole_ollama import WholeGenerated, WholeLines
from trackside.handoff.whole_text import CUT_OFF, WholeNative, WholeText
from trackside.wire import DIALECTS, parse
from wholes import KINDS, LINES, SAID, block, chunk, frame, last_frame, text


@pytest.mark.parametrize(("kind", "stream", "body"), KINDS)
@given(st.data())
def test_cuts_do_not_matter(
    kind: type[Whole], stream: bytes, body: dict[str, Any], data: st.DataObject
) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=9))
    whole = kind()
    edges = [0, *sorted(cuts), len(stream)]
    for start, end in pairwise(edges):
        whole.add(stream[start:end])
    status, raw = whole.body()
    assert status == 200
    assert raw.decode() == json.dumps(body, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize(("kind", "stream", "body"), KINDS)
def test_garbage_in_between_does_no_harm(
    kind: type[Whole], stream: bytes, body: dict[str, Any]
) -> None:
    whole = kind()
    for junk in (b"data: {\n\n", b": hi\n\n", b"data: [1]\n\n", b"data: 3\n\n"):
        whole.add(junk)
    whole.add(named("odd.event", index=[], delta=3))
    whole.add(b'{"brand": "new"}\n')
    whole.add(stream)
    assert json.loads(whole.body()[1]) == body


OUT = {"message": "out of memory"}


@pytest.mark.parametrize(
    ("kind", "event", "status"),
    [
        pytest.param(
            WholeChat, unnamed({"error": {**OUT, "code": 503}}), 503, id="chat, a code"
        ),
        pytest.param(WholeChat, unnamed({"error": OUT}), 500, id="chat"),
        pytest.param(WholeMessage, named("error", error=OUT), 500, id="message"),
        pytest.param(
            WholeResponse,
            named("response.failed", response={"error": OUT}),
            500,
            id="response",
        ),
        pytest.param(WholeText, unnamed({"error": OUT}), 500, id="text"),
        pytest.param(WholeNative, unnamed({"error": OUT}), 500, id="native"),
        pytest.param(WholeLines, b'{"error":"out of memory"}\n', 500, id="ollama chat"),
        pytest.param(
            WholeGenerated, b'{"error":"out of memory"}\n', 500, id="ollama generate"
        ),
    ],
)
def test_errors_become_a_status(kind: type[Whole], event: bytes, status: int) -> None:
    whole = kind()
    whole.add(event)
    got, raw = whole.body()
    assert (got, "out of memory" in raw.decode()) == (status, True)
    assert set(json.loads(raw)) <= {"error", "type"}


@pytest.mark.parametrize(("kind", "stream", "body"), KINDS)
def test_a_stream_without_an_end_is_no_answer(
    kind: type[Whole], stream: bytes, body: Any
) -> None:
    whole = kind()
    if kind not in (WholeLines, WholeGenerated):  # each line could be the last
        whole.add(stream[: len(stream) // 2])
    status, raw = whole.body()
    assert status == 500
    assert b"the engine broke off" in raw


def test_a_response_that_ends_incomplete_is_one() -> None:
    whole = WholeResponse()
    whole.add(named("response.incomplete", response={"id": "r"}))
    assert whole.body()[0] == 200


@pytest.mark.parametrize(
    ("kind", "stream", "cut"),
    [
        pytest.param(
            WholeText,
            text("a", timings={"predicted_n": 2})
            + text("", "length", timings={"predicted_n": 3}),
            True,
            id="text, a character cut by the limit",
        ),
        pytest.param(
            WholeText,
            text("a", timings={"predicted_n": 2})
            + text("", "stop", timings={"predicted_n": 3}),
            False,
            id="text, the end token",
        ),
        pytest.param(
            WholeText,
            text("a", timings={"predicted_n": 3})
            + text("", "length", timings={"predicted_n": 3}),
            False,
            id="text, nothing cut",
        ),
        pytest.param(
            WholeNative, frame("a", 2) + last_frame(3), True, id="native, cut"
        ),
        pytest.param(
            WholeNative, frame("a", 2) + last_frame(3, "eos"), False, id="native, end"
        ),
    ],
)
def test_a_character_that_the_limit_cut_is_marked(
    kind: type[Whole], stream: bytes, cut: bool
) -> None:
    whole = kind()
    whole.add(stream)
    body = json.loads(whole.body()[1])
    said = body["choices"][0]["text"] if "choices" in body else body["content"]
    assert said == ("a" + CUT_OFF if cut else "a")


def test_calls_are_not_gathered_where_no_tools_were_offered() -> None:
    whole = WholeLines(has_tools=False)
    whole.add(LINES)
    assert json.loads(whole.body()[1])["message"] == SAID


def test_half_a_surrogate_pair_loses_no_chunk() -> None:
    whole = WholeChat()
    cut = chunk(content="ab").replace(b"ab", b"a\\ud83d")
    whole.add(cut + chunk("stop", content="c"))
    body = json.loads(whole.body()[1])
    assert body["choices"][0]["message"]["content"] == "a?c"


def test_tool_input_cut_by_the_limit_is_empty() -> None:
    whole = WholeMessage()
    whole.add(named("message_start", message={}))
    whole.add(block(0, {"type": "tool_use"}, partial_json='{"a'))
    whole.add(named("message_delta", delta={"stop_reason": "max_tokens"}))
    assert json.loads(whole.body()[1])["content"][0]["input"] == {}


def test_bodies_are_made_for_llama_cpp_and_ollama_alone() -> None:
    made = set()
    for engine in (None, *NAMES):
        for dialect in DIALECTS:
            body = b'{"messages": [], "input": "", "prompt": ""}'
            if whole_for(engine, parse(dialect, body), body):
                made.add((engine, dialect))
    assert made == set(WHOLES)
    assert {engine for engine, _ in made} == {"llama.cpp", "ollama"}
