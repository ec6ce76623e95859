import json

import pytest

from trackside.wire.completions import Reader, read_body
from trackside.wire.pieces import (
    Content,
    End,
    Failure,
    Finish,
    Keepalive,
    Reasoning,
    Start,
    TokenIds,
    Usage,
)
from wire.streams import DONE, all_cuts, event, pieces, read

START = Start("cmpl-1", "m", 1796042151)
NATIVE = Start("", "", 0)


def chunk(*choices, **more):
    head = {"id": "cmpl-1", "object": "text_completion", "created": 1796042151}
    return event({**head, "model": "m", "choices": list(choices), **more})


def choice(text, index=0, finish=None):
    return {"index": index, "text": text, "logprobs": None, "finish_reason": finish}


def frame(content, count, **more):
    head = {"index": 0, "content": content, "stop": False}
    return event({**head, "tokens_predicted": count, "tokens_evaluated": 9, **more})


STREAMS = {
    "vllm": (
        chunk(choice("\n"))
        + chunk({**choice("Yé"), "token_ids": [5]})
        + chunk(choice("", finish="stop"))
        + chunk(usage={"prompt_tokens": 9, "completion_tokens": 2})
        + DONE,
        [
            START,
            Content("\nYé"),
            TokenIds(1),
            Finish("stop"),
            Usage(9, 2, None, None, None, True),
            End(),
        ],
    ),
    "mlx-lm": (
        b": keepalive 1/1\n\n" + chunk(choice("Yes")) + chunk(choice("", 0, "length")),
        [Keepalive("comment"), START, Content("Yes"), Finish("length")],
    ),
    "inline": (
        chunk(choice("<thi"), choice("No", 1))
        + chunk(choice("nk>Hm</think>Yes"))
        + chunk(choice("", 1, "stop"), choice("", 0, "stop"))
        + DONE,
        [
            START,
            Content("No", 1),
            Reasoning("Hm", "inline"),
            Content("Yes"),
            Finish("stop", 1),
            Finish("stop"),
            End(),
        ],
    ),
    "llama.cpp": (
        frame("", 0, prompt_progress={"total": 9, "processed": 4})
        + frame("<think>Hm", 1, tokens=[5])
        + frame("</think>Yes", 2, tokens=[6])
        + event(
            {
                "content": "",
                "stop": True,
                "model": "m",
                "stop_type": "limit",
                "tokens_predicted": 2,
                "tokens_evaluated": 9,
                "tokens_cached": 10,
                "timings": {"cache_n": 4, "prompt_n": 5, "predicted_n": 2},
            }
        ),
        [
            NATIVE,
            Keepalive("progress"),
            Usage(9, 0, None, None, None, False),
            Reasoning("Hm", "inline"),
            TokenIds(1),
            Usage(9, 1, None, None, None, False),
            Content("Yes"),
            TokenIds(1),
            Usage(9, 2, None, None, None, False),
            Finish("limit"),
            Usage(9, 2, None, 4, {"cache_n": 4, "prompt_n": 5, "predicted_n": 2}, True),
            End(),
        ],
    ),
    "llama.cpp-error": (
        frame("Yes", 1) + event({"error": {"code": 500, "message": "no"}}),
        [
            NATIVE,
            Content("Yes"),
            Usage(9, 1, None, None, None, False),
            Failure("no", 500),
        ],
    ),
}


@pytest.mark.parametrize(("stream", "expected"), STREAMS.values(), ids=STREAMS.keys())
def test_engines_are_read_the_same_however_the_stream_is_cut(stream, expected):
    whole = read(Reader(), [stream])
    assert pieces(whole) == expected
    assert b"".join(message.raw for message in whole) == stream
    for parts in all_cuts(stream):
        assert read(Reader(), parts) == whole
    for end in (b"\r\n", b"\r"):
        assert pieces(read(Reader(), [stream.replace(b"\n", end)])) == expected


def test_text_held_back_comes_with_the_flush():
    for stream in (chunk(choice("<thi")), frame("<thi", 1)):
        assert pieces(read(Reader(), [stream]))[-1] == Content("<thi")


OPENAI = {"id": "cmpl-1", "created": 1796042151, "model": "m"}
OWN = {"content": "Yes", "stop": True, "stop_type": "eos", "model": "m"}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(
            {
                **OPENAI,
                "choices": [choice("<think>Hm</think>Yes", finish="stop")],
                "usage": {"prompt_tokens": 9, "completion_tokens": 2},
            },
            [
                START,
                Reasoning("Hm", "inline"),
                Content("Yes"),
                Finish("stop"),
                Usage(9, 2, None, None, None, True),
            ],
            id="openai",
        ),
        pytest.param(
            {**OPENAI, "choices": [choice("a"), choice("b", 1)]},
            [START, Content("a"), Content("b", 1)],
            id="two-choices",
        ),
        pytest.param(
            OWN, [Start("", "m", 0), Content("Yes"), Finish("eos")], id="llama.cpp"
        ),
        pytest.param(
            [OWN, {**OWN, "index": 1}],
            [
                Start("", "m", 0),
                Content("Yes"),
                Finish("eos"),
                Content("Yes", 1),
                Finish("eos", 1),
            ],
            id="llama.cpp-list",
        ),
        pytest.param({"error": "no"}, [Failure("no", None)], id="error"),
        pytest.param({"status": "ok"}, [], id="something-else"),
        pytest.param([7, "x", []], [], id="odd-list"),
    ],
)
def test_a_whole_body_says_the_same(answer, expected):
    assert read_body(json.dumps(answer).encode()) == expected


@pytest.mark.parametrize("answer", [b"", b"[", b"[1,", b"<html>"])
def test_a_body_that_is_not_json_says_nothing(answer):
    assert read_body(answer) == []
