import json

import pytest

from trackside.handoff.delta import drop_echo, read_chunk, relabel, says, take_choice
from trackside.wire.pieces import Content, Reasoning


@pytest.mark.parametrize(
    ("raw", "chunk"),
    [
        pytest.param(b'data: {"a":1}\n\n', {"a": 1}, id="one line"),
        pytest.param(b'data: {"a":\r\ndata: 1}\r\n\r\n', {"a": 1}, id="two lines"),
        pytest.param(b': hi\nevent: x\ndata:{"a":1}\n\n', {"a": 1}, id="named"),
        pytest.param(b'data: {"a":1}', {"a": 1}, id="no line end"),
        pytest.param(b'\xef\xbb\xbfdata: {"a":1}\n\n', {"a": 1}, id="bom"),
        pytest.param(b'data: {"a":"\\ud83d"}\n\n', {"a": "?"}, id="half an emoji"),
        pytest.param(b'data: {"a":NaN}\n\n', {"a": None}, id="nan"),
        pytest.param(b'data: {"a":', None, id="half an event"),
        pytest.param(b"data: [1]\n\n", None, id="a list"),
        pytest.param(b'data: "a"\n\n', None, id="a string"),
        pytest.param(b"data: [DONE]\n\n", None, id="done"),
        pytest.param(b"data:\n\n", None, id="empty"),
        pytest.param(b": hi\n\n", None, id="comment"),
        pytest.param(b"event: x\n\n", None, id="no data"),
        pytest.param(b"<html>\n\n", None, id="garbage"),
        pytest.param(b'data: {"a":1e999}\n\n', None, id="infinite"),
        pytest.param(b"data: " + b"[" * 200_000 + b"\n\n", None, id="deep"),
        pytest.param(b"", None, id="nothing"),
    ],
)
def test_an_event_carries_one_object_or_none(raw, chunk):
    assert read_chunk(raw) == chunk


def choice(delta, **more):
    return {"index": 0, "delta": delta, **more}


@pytest.mark.parametrize(
    ("choices", "taken"),
    [
        pytest.param([choice({"content": "a"})], choice({"content": "a"}), id="chat"),
        pytest.param(
            [choice({"role": "assistant", "content": None})],
            choice({"content": None}),
            id="role",
        ),
        pytest.param(
            [{"delta": {"content": "a"}, "x": 1}],
            {"delta": {"content": "a"}, "x": 1, "index": 0},
            id="no index",
        ),
        pytest.param(
            [{"text": "a", "index": 0, "logprobs": {}, "finish_reason": "stop"}],
            choice({"content": "a"}, finish_reason="stop"),
            id="text",
        ),
        pytest.param(
            [{"index": 1, "delta": {"content": "b"}}, choice({"content": "a"})],
            choice({"content": "a"}),
            id="second of two",
        ),
        pytest.param([{"index": 1, "delta": {"content": "b"}}], None, id="another"),
        pytest.param(
            [choice(None, finish_reason="stop")],
            choice({}, finish_reason="stop"),
            id="null",
        ),
        pytest.param([choice("abc")], choice({}), id="a string"),
        pytest.param(
            [{"index": True, "text": 5}],
            {"index": 0, "text": 5, "delta": {}},
            id="odd text",
        ),
        pytest.param([5, None, []], None, id="no objects"),
        pytest.param([], None, id="none"),
        pytest.param({"0": 1}, None, id="no list"),
        pytest.param(None, None, id="null list"),
    ],
)
def test_only_the_first_choice_counts(choices, taken):
    assert take_choice({"choices": choices}) == taken


@pytest.mark.parametrize(
    ("told", "is_telling"),
    [
        pytest.param(choice({"content": "a"}), True, id="text"),
        pytest.param(choice({"refusal": "no"}), True, id="unknown member"),
        pytest.param(choice({"content": "", "tool_calls": None}), False, id="empty"),
        pytest.param(choice({}, token_ids=[7]), True, id="token ids"),
        pytest.param(choice({}, logprobs={"content": []}), True, id="logprobs"),
        pytest.param(
            choice({}, logprobs=None, finish_reason="stop"), False, id="finish"
        ),
    ],
)
def test_a_chunk_without_anything_is_known(told, is_telling):
    assert says(told) is is_telling


def reasoning(text, source="reasoning", index=0):
    return Reasoning(text, source, index)


@pytest.mark.parametrize(
    ("delta", "pieces", "found"),
    [
        pytest.param(
            {"reasoning": "a", "content": ""},
            [reasoning("a")],
            {"content": "a"},
            id="reasoning",
        ),
        pytest.param(
            {"reasoning_content": "a", "reasoning": "a"},
            [reasoning("a", "reasoning_content")],
            {"content": "a"},
            id="told twice",
        ),
        pytest.param(
            {"reasoning_details": [{"text": "a"}]},
            [reasoning("a", "reasoning_details")],
            {"content": "a"},
            id="details",
        ),
        pytest.param(
            {"reasoning": "a", "content": "b"},
            [reasoning("a"), Content("b")],
            {"content": "ab"},
            id="both",
        ),
        pytest.param(
            {"reasoning": "a", "content": None, "x": 1},
            [reasoning("a")],
            {"content": "a", "x": 1},
            id="null content",
        ),
        pytest.param(
            {"reasoning": None, "content": "b"},
            [Content("b")],
            {"reasoning": None, "content": "b"},
            id="none",
        ),
        pytest.param(
            {"content": "<think>a"},
            [reasoning("a", "inline")],
            {"content": "<think>a"},
            id="inline",
        ),
        pytest.param(
            {"content": "b"},
            [reasoning("a", index=1), Content("b")],
            {"content": "b"},
            id="of another choice",
        ),
    ],
)
def test_reasoning_becomes_content(delta, pieces, found):
    relabel(delta, pieces)
    assert delta == found


KEPT = "\nSo it is Bob.\n\nEnough."


@pytest.mark.parametrize(
    ("delta", "found"),
    [
        pytest.param(
            {"content": f"<think>\n{KEPT}\n</think>\n\n"}, {"content": ""}, id="block"
        ),
        pytest.param(
            {"content": f"<think>{KEPT}</think>\n\nBob"}, {"content": "Bob"}, id="more"
        ),
        pytest.param(
            {"reasoning_content": KEPT}, {"reasoning_content": ""}, id="alone"
        ),
        pytest.param(
            {"reasoning": f"{KEPT}\nThen"}, {"reasoning": "Then"}, id="goes on"
        ),
        pytest.param({"content": "So it is"}, {"content": "So it is"}, id="no echo"),
        pytest.param(
            {"content": None, "x": KEPT}, {"content": None, "x": KEPT}, id="x"
        ),
        pytest.param({"content": [KEPT]}, {"content": [KEPT]}, id="a list"),
    ],
)
def test_an_echo_is_dropped(delta, found):
    drop_echo(delta, KEPT)
    assert delta == found


def test_a_word_or_two_are_no_echo():
    delta = {"content": "Bob. Enough."}
    drop_echo(delta, "Bob. ")
    assert json.dumps(delta) == '{"content": "Bob. Enough."}'
