"""Usage that is asked for on behalf of the turns' ledger, and hidden again."""

import json
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handoff.shapes import llama_cpp, mlx_lm, sglang, text_completion, text_stream, vllm
from trackside.handoff.asks import ask_usage
from trackside.wire import DIALECTS
from trackside.wire.pieces import Usage
from trackside.wire.request import parse
from trackside.wire.stream import Message
from wire.streams import DONE, all_cuts, cut, cuts, event

DELTAS = [{"content": '"usage"'}, {"content": ',"usage":{}}\n\né'}]
TEXTS = ["Hi", ' "usage":{', ',"usage":null}', "é"]
BODIES = {
    "chat": {"messages": [{"role": "user", "content": "x"}]},
    "completions": {"prompt": "x"},
}


def asked_of(engine, dialect="completions", **more):
    raw = json.dumps({**BODIES[dialect], "stream": True, **more}).encode()
    return ask_usage(raw, parse(dialect, raw), engine), raw


def hidden(hide, parts, dialect="completions"):
    reader = DIALECTS[dialect].reader()
    messages = [message for part in parts for message in reader.feed(part)]
    return b"".join(map(hide, (*messages, *reader.flush(), Message(b"", ()))))


@pytest.mark.parametrize("engine", ["vllm", "sglang", "mlx-lm", "ollama"])
@pytest.mark.parametrize("texts", [TEXTS, ["", ""]], ids=["texts", "no answer"])
def test_a_text_client_gets_what_it_would_have_got(engine, texts):
    asked, raw = asked_of(engine)
    wished = {"stream_options": {"include_usage": True}}
    assert json.loads(asked.body) == {**json.loads(raw), **wished}
    got = b"".join(text_stream(engine, texts, asked=True))
    plain = b"".join(text_stream(engine, texts, asked=False))
    assert got != plain
    for parts in ([got], cut(got, range(len(got)))):
        hide = asked_of(engine)[0].hide
        assert hidden(hide, parts) == plain


def test_cuts_do_not_matter():
    got = b"".join(text_stream("vllm", TEXTS[:2], asked=True))
    plain = b"".join(text_stream("vllm", TEXTS[:2], asked=False))
    for parts in all_cuts(got):
        assert hidden(asked_of("vllm")[0].hide, parts) == plain


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["vllm", "sglang", "mlx-lm", "ollama"]),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=9), min_size=1, max_size=4),
    st.data(),
)
def test_no_text_and_no_cut_betrays_the_ask(engine, texts, data):
    got = b"".join(text_stream(engine, texts, asked=True))
    plain = b"".join(text_stream(engine, texts, asked=False))
    parts = cut(got, data.draw(cuts(len(got))))
    assert hidden(asked_of(engine)[0].hide, parts) == plain


@pytest.mark.parametrize(
    ("engine", "stream"),
    [
        pytest.param("vllm", vllm, id="vllm"),
        pytest.param("vllm", partial(vllm, has_stamp=False), id="no stamp"),
        pytest.param("vllm", partial(vllm, has_transfer=True), id="vllm 0.33"),
        pytest.param("sglang", sglang, id="sglang"),
    ],
)
def test_a_chat_client_gets_what_it_would_have_got(engine, stream):
    got = stream(DELTAS, asked=False, include_usage=True)
    plain = stream(DELTAS, asked=False, include_usage=False)
    hide = asked_of(engine, "chat")[0].hide
    assert hidden(hide, [b"".join(got)], "chat") == b"".join(plain)


def test_mlx_lm_ends_a_chat_with_its_finish_again():
    *plain, _, _ = got = list(mlx_lm([{"content": "Hi"}]))
    hide = asked_of("mlx-lm", "chat")[0].hide
    assert hidden(hide, got, "chat") == b"".join([*plain, DONE])


def test_nulls_that_stand_for_counts_to_come_are_hidden_too():
    choice = {"index": 0, "text": "Hi", "finish_reason": None}
    got = event({"id": "1", "choices": [choice], "usage": None})
    plain = event({"id": "1", "choices": [choice]})
    assert hidden(asked_of("lmstudio")[0].hide, [got]) == plain


def test_counts_that_were_not_asked_for_stay():
    counts = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    choice = {"index": 0, "text": "Hi", "finish_reason": None}
    forced = [
        event({"id": "1", "choices": [choice], "usage": counts}),
        event({"id": "1", "choices": [{**choice, "finish_reason": "stop"}]}),
        event({"id": "1", "choices": [], "usage": counts}),
        DONE,
    ]
    assert hidden(asked_of("vllm")[0].hide, forced) == b"".join(forced)
    on_finish = [
        event({"id": "1", "choices": [choice]}),
        event(
            {"id": "1", "choices": [{**choice, "finish_reason": "stop"}]}
            | {"usage": counts}
        ),
    ]
    added = event({"id": "1", "choices": [], "usage": counts})
    hide = asked_of("vllm")[0].hide
    assert hidden(hide, [*on_finish, added, DONE]) == b"".join([*on_finish, DONE])


def test_a_stream_that_breaks_off_loses_nothing():
    whole = list(text_stream("vllm", TEXTS, asked=True, stamp=None))
    for upto in range(len(whole) - 2):
        parts = whole[:upto]
        assert hidden(asked_of("vllm")[0].hide, parts) == b"".join(parts)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "mlx-lm", "ollama"])
def test_the_counts_are_read_and_zeros_before_them_are_not(engine):
    reader = DIALECTS["completions"].reader()
    parts = text_stream(engine, TEXTS, asked=True)
    messages = [message for part in parts for message in reader.feed(part)]
    told = [p for message in messages for p in message.pieces if isinstance(p, Usage)]
    assert [(u.prompt, u.completion, u.cached) for u in told] == [(90, 9, 64)]


@pytest.mark.parametrize(
    ("engine", "dialect", "more"),
    [
        pytest.param(None, "completions", {}, id="unknown engine"),
        pytest.param("llama.cpp", "completions", {}, id="it tells unasked"),
        pytest.param("llama.cpp", "chat", {}, id="it tells unasked in a chat"),
        pytest.param("vllm", "completions", {"stream": False}, id="whole"),
        pytest.param("vllm", "completions", {"n": 2}, id="a stamp for each answer"),
        pytest.param(
            "vllm",
            "completions",
            {"stream_options": {"include_usage": True}},
            id="client asks",
        ),
    ],
)
def test_nothing_is_asked(engine, dialect, more):
    asked, raw = asked_of(engine, dialect, **more)
    assert (asked.body, asked.hide) == (raw, None)


def test_llama_cpp_does_tell_unasked():
    for parts, dialect in (
        (llama_cpp(DELTAS, asked=False, include_usage=False), "chat"),
        (text_completion(TEXTS), "completions"),
    ):
        reader = DIALECTS[dialect].reader()
        messages = [message for part in parts for message in reader.feed(part)]
        told = [p for m in messages for p in m.pieces if isinstance(p, Usage)]
        assert told[-1].cached is not None
