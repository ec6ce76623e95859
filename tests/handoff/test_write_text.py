"""How text completions go on: one head, one finish, tags that match."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trackside.handoff.event import unnamed
from trackside.handoff.usage import Counts
from trackside.handoff.write_text import Native, Text
from trackside.wire.pieces import Usage
from trackside.wire.stream import Message

HEAD = {"id": "cmpl-1", "created": 17, "model": "m", "object": "text_completion"}
COUNTS = Counts(prompt=9, completion=12, cached=4)
NATIVE = {"index": 0, "content": "Hm", "stop": False, "id_slot": 3}


def read(raw: bytes) -> list[dict[str, Any]]:
    datas = raw.decode().split("\n\n")[:-1]
    return [json.loads(data.removeprefix("data: ")) for data in datas]


def text() -> Text:
    form = Text()
    form.follow(Message(b": hi\n\n", ()))
    form.follow(Message(unnamed({**HEAD, "choices": [{"text": "Hm"}]}), ()))
    form.follow(Message(unnamed({"id": "other", "choices": []}), ()))
    return form


def native() -> Native:
    form = Native()
    form.follow(Message(unnamed(NATIVE), ()))
    return form


def test_a_completion_keeps_its_head_and_ends_once() -> None:
    form = text()
    raw = form.text("Blue") + form.close("stop", COUNTS)
    assert raw.endswith(b"data: [DONE]\n\n")
    said, last = read(raw.removesuffix(b"data: [DONE]\n\n"))
    for event in (said, last):
        assert {k: event[k] for k in HEAD} == HEAD
    assert said["choices"][0]["text"] == "Blue"
    assert said["choices"][0]["finish_reason"] is None
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["usage"] == {
        "prompt_tokens": 9,
        "completion_tokens": 12,
        "total_tokens": 21,
        "prompt_tokens_details": {"cached_tokens": 4},
    }


def timed(n: int, ms: float) -> Message:
    timings = {"predicted_n": n, "predicted_ms": ms, "prompt_n": n}
    return Message(b"", (Usage(9, n, None, 0, timings, False),))


def test_timings_are_those_of_both_phases() -> None:
    form = text()
    form.follow(timed(20, 400.0))
    form.follow(timed(30, 600.0))
    form.heard(timed(10, 200.0))
    assert b"timings" not in form.text("Blue")
    last = read(form.close("stop", COUNTS).removesuffix(b"data: [DONE]\n\n"))[-1]
    assert last["timings"]["predicted_n"] == 40
    assert last["timings"]["predicted_ms"] == 800.0
    assert last["timings"]["prompt_n"] == 30
    assert last["timings"]["predicted_per_second"] == 50.0


@pytest.mark.parametrize(("make", "first"), [(Text, HEAD), (Native, NATIVE)])
def test_what_is_true_of_one_event_is_not_told_again(make: Any, first: Any) -> None:
    form = make()
    of_one = {"tokens_predicted": 1, "timings": {"predicted_n": 1}}
    form.follow(Message(unnamed({**first, "choices": [], **of_one}), ()))
    (said,) = read(form.text("Blue"))
    assert not set(said) & set(of_one)


def test_usage_that_is_not_wanted_is_not_told() -> None:
    assert b"usage" not in text().close("stop", Counts())


@pytest.mark.parametrize("make", [text, native])
def test_a_block_that_phase_2_opens_is_closed(make: Any) -> None:
    form = make()
    raw = form.reasoning("Hm") + form.reasoning("m") + form.text("Blue")
    raw += form.reasoning("again")
    said = "".join(
        event["choices"][0]["text"] if "choices" in event else event["content"]
        for event in read((raw + form.close("stop", COUNTS)).replace(b"[DONE]", b"{}"))
        if event
    )
    opener, closer = "<think>\n", "\n</think>\n\n"
    assert said == f"{opener}Hmm{closer}Blue{opener}again{closer}"


def test_a_native_stream_ends_with_one_frame_that_stops() -> None:
    form = native()
    tail = {"stop": True, "stop_type": "eos", "tokens_predicted": 3, "timings": {}}
    form.heard(Message(unnamed({"content": "x", "stop": False}), ()))
    form.heard(Message(unnamed(tail), ()))
    said, last = read(form.text("Blue") + form.close("stop", COUNTS))
    assert (said["content"], said["stop"], said["id_slot"]) == ("Blue", False, 3)
    assert (last["content"], last["stop"], last["stop_type"]) == ("", True, "eos")
    assert (last["tokens_evaluated"], last["tokens_predicted"]) == (9, 12)
    assert last["timings"] == {}


def test_a_native_stream_that_was_cut_says_so() -> None:
    (last,) = read(native().close("length", Counts()))
    assert (last["stop"], last["stop_type"]) == (True, "limit")


@pytest.mark.parametrize("make", [text, native])
def test_a_failure_is_an_error_frame(make: Any) -> None:
    raw = make().fail("gone").removesuffix(b"data: [DONE]\n\n")
    assert read(raw) == [{"error": {"message": "gone", "type": "server_error"}}]
