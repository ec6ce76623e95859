import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handoff.shapes import FINGERPRINT, llama_cpp, sglang, vllm
from trackside.handoff import asks
from trackside.handoff.asks import TELLS_UNASKED, ask, ask_usage
from trackside.wire import DIALECTS
from trackside.wire.chat import Message, Reader
from trackside.wire.request import parse
from wire.streams import DONE, all_cuts, cut, cuts

TOOL = {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"usage":'}}
LLAMA_DELTAS = [
    {"reasoning_content": "So, "},
    {"reasoning_content": '"timings":{"n":1}}'},
    {"content": ',"timings":{}}\n\né'},
    {"tool_calls": [TOOL]},
]
VLLM_DELTAS = [
    {"reasoning": "\n"},
    {"reasoning": ',"usage":{"a":1}}'},
    {"content": 'é","usage":{}}'},
    {"content": None, "tool_calls": [TOOL]},
    {"content": " last"},
]
SGLANG_DELTAS = [
    {"reasoning_content": "So"},
    {"reasoning_content": None, "content": "Yes"},
    {"role": None, "content": None, "tool_calls": [TOOL]},
]


def body(**more):
    return json.dumps({"messages": [{"role": "user"}], "stream": True, **more}).encode()


def asked_of(engine, closing=None, **more):
    raw = body(**more)
    return ask(raw, parse("chat", raw), engine, closing)


def hidden(hide, parts):
    reader = Reader()
    messages = [message for part in parts for message in reader.feed(part)]
    return b"".join(map(hide, (*messages, *reader.flush(), Message(b"", ()))))


def usage_wanted(include_usage):
    return {"stream_options": {"include_usage": True}} if include_usage else {}


STREAMS = [
    pytest.param("llama.cpp", llama_cpp, LLAMA_DELTAS, {}, id="llama.cpp"),
    pytest.param(
        "llama.cpp", llama_cpp, LLAMA_DELTAS, {"progress": True}, id="with progress"
    ),
    pytest.param("llama.cpp", llama_cpp, [], {}, id="llama.cpp, no answer"),
    pytest.param("vllm", vllm, VLLM_DELTAS, {}, id="vllm"),
    pytest.param("vllm", vllm, VLLM_DELTAS[:1], {}, id="vllm, one token"),
    pytest.param("vllm", vllm, VLLM_DELTAS, {"has_parser": False}, id="no parser"),
    pytest.param("vllm", vllm, VLLM_DELTAS, {"has_stamp": False}, id="no stamp"),
    pytest.param("vllm", vllm, VLLM_DELTAS, {"has_transfer": True}, id="vllm 0.33"),
    pytest.param("sglang", sglang, SGLANG_DELTAS, {}, id="sglang"),
]


@pytest.mark.parametrize("include_usage", [True, False], ids=["usage", "no usage"])
@pytest.mark.parametrize(("engine", "stream", "deltas", "more"), STREAMS)
def test_a_client_gets_what_it_would_have_got(
    engine, stream, deltas, more, include_usage
):
    hide = asked_of(engine, **usage_wanted(include_usage)).hide
    got = b"".join(stream(deltas, asked=True, include_usage=include_usage, **more))
    plain = stream(deltas, asked=False, include_usage=include_usage, **more)
    assert hidden(hide, [got]) == b"".join(plain)


@pytest.mark.parametrize("engine", [llama_cpp, vllm], ids=["llama.cpp", "vllm"])
def test_cuts_do_not_matter(engine):
    name = "llama.cpp" if engine is llama_cpp else "vllm"
    got = b"".join(engine([{"content": "é"}], asked=True, include_usage=False))
    plain = b"".join(engine([{"content": "é"}], asked=False, include_usage=False))
    for parts in all_cuts(got):
        assert hidden(asked_of(name).hide, parts) == plain


TEXTS = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ['"usage"', '"timings":{"a":1}}\n\n', "\\", '\\"', "{", "}", ',"usage":{'],
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([("llama.cpp", llama_cpp), ("vllm", vllm), ("sglang", sglang)]),
    st.lists(TEXTS, min_size=1, max_size=4),
    st.booleans(),
    st.data(),
)
@example(("vllm", vllm), ["{"], False, None)
def test_no_text_and_no_cut_betrays_the_ask(engine, texts, include_usage, data):
    name, stream = engine
    deltas = [{"content": text} for text in texts]
    hide = asked_of(name, **usage_wanted(include_usage)).hide
    got = b"".join(stream(deltas, asked=True, include_usage=include_usage))
    at = data.draw(cuts(len(got))) if data else []
    plain = stream(deltas, asked=False, include_usage=include_usage)
    assert hidden(hide, cut(got, at)) == b"".join(plain)


def test_the_finish_of_a_stream_that_breaks_off_is_not_lost():
    *most, _, _ = vllm(VLLM_DELTAS, asked=True, include_usage=False)
    got = hidden(asked_of("vllm").hide, most)
    assert got.count(b'"finish_reason":"stop"') == 1
    assert b'"usage":{"prompt' not in got


def test_the_finish_does_not_wait_longer_than_for_the_next_event():
    hide = asked_of("vllm").hide
    *most, usage, done = vllm(VLLM_DELTAS, asked=True, include_usage=False)
    reader = Reader()
    for part in most[:-1]:
        [message] = reader.feed(part)
        assert hide(message)
    [finish], [last] = reader.feed(most[-1]), reader.feed(usage)
    assert hide(finish) == b""
    assert FINGERPRINT.encode() in hide(last)
    assert hide(*reader.feed(done)) == DONE


def test_errors_and_comments_pass():
    for engine in ("vllm", "llama.cpp", "sglang"):
        got = b': hi\n\ndata: {"error":{"message":"gone"}}\n\ndata: half'
        assert hidden(asked_of(engine).hide, [got]) == got


@pytest.mark.parametrize(
    ("engine", "more", "added"),
    [
        pytest.param("llama.cpp", {}, {"timings_per_token": True}, id="llama.cpp"),
        pytest.param(
            "vllm",
            {"stream_options": {"include_usage": False, "x": 1}},
            {
                "stream_options": {
                    "include_usage": True,
                    "x": 1,
                    "continuous_usage_stats": True,
                }
            },
            id="vllm",
        ),
        pytest.param(
            "sglang",
            {"stream_options": None},
            {
                "stream_options": {
                    "include_usage": True,
                    "continuous_usage_stats": True,
                }
            },
            id="sglang",
        ),
    ],
)
def test_counts_are_asked_for_and_nothing_else_is_changed(engine, more, added):
    raw = body(temperature=0.5, **more)
    asked = ask(raw, parse("chat", raw), engine, None)
    assert json.loads(asked.body) == {**json.loads(raw), **added}
    assert asked.body.startswith(raw[:60])
    assert asked.hide
    assert not asked.armed


@pytest.mark.parametrize(
    ("engine", "more"),
    [
        pytest.param(None, {}, id="unknown engine"),
        pytest.param("ollama", {}, id="ollama"),
        pytest.param("lmstudio", {}, id="lmstudio"),
        pytest.param("mlx-lm", {}, id="mlx-lm"),
        pytest.param("omlx", {}, id="omlx"),
        pytest.param("openai", {}, id="openai"),
        pytest.param("deepseek", {}, id="deepseek"),
        pytest.param("llama.cpp", {"timings_per_token": True}, id="client asks"),
        pytest.param("llama.cpp", {"timings_per_token": False}, id="client declines"),
        pytest.param(
            "vllm",
            {
                "stream_options": {
                    "include_usage": True,
                    "continuous_usage_stats": True,
                }
            },
            id="client asks vllm",
        ),
    ],
)
def test_nothing_is_asked(engine, more):
    raw = body(**more)
    asked = ask(raw, parse("chat", raw), engine, "Enough.")
    armed = {"reasoning_control": True, "reasoning_budget_message": "Enough."}
    expected = armed if engine == "llama.cpp" else {}
    assert json.loads(asked.body) == {**json.loads(raw), **expected}
    assert asked.hide is None
    assert asked.armed == bool(expected)


@pytest.mark.parametrize("engine", TELLS_UNASKED)
def test_what_an_engine_tells_unasked_is_not_moved(engine):
    raw = body()
    assert ask_usage(raw, parse("chat", raw), engine).body is raw


def test_a_word_in_a_message_is_no_ask():
    raw = body(note='"timings_per_token" and "reasoning_control"')
    asked = ask(raw, parse("chat", raw), "llama.cpp", "Enough.")
    assert asked.hide
    assert asked.armed


def test_a_client_that_controls_the_reasoning_keeps_the_control():
    asked = asked_of("llama.cpp", "Enough.", reasoning_control=False)
    assert json.loads(asked.body)["reasoning_control"] is False
    assert not asked.armed


def test_the_clients_own_last_words_stay():
    asked = asked_of("llama.cpp", "Enough.", reasoning_budget_message="Mine.")
    assert json.loads(asked.body)["reasoning_budget_message"] == "Mine."
    assert asked.armed


TEXT_EVENT = (
    b'data: {"choices":[{"text":"a","index":0,"finish_reason":%s}],"id":"c"%s}\n\n'
)
TIMINGS = b',"timings":{"predicted_n":1,"predicted_ms":2.5}'


def test_timings_of_a_text_completion_are_asked_for_and_hidden():
    asked = asks.ask_timings(b'{"prompt":"a"}', "llama.cpp")
    assert asked.body == b'{"prompt":"a","timings_per_token":true}'
    reader = DIALECTS["completions"].reader()
    said, last = TEXT_EVENT % (b"null", TIMINGS), TEXT_EVENT % (b'"stop"', TIMINGS)
    got = b"".join(map(asked.hide, reader.feed(said + last)))
    assert got == TEXT_EVENT % (b"null", b"") + last


@pytest.mark.parametrize(
    ("body", "engine"),
    [
        pytest.param(b"{}", None, id="unknown engine"),
        pytest.param(b"{}", "vllm", id="another engine"),
        pytest.param(b'{"timings_per_token":false}', "llama.cpp", id="client's own"),
    ],
)
def test_timings_are_not_asked_for(body, engine):
    assert asks.ask_timings(body, engine) == asks.Asked(body, None)
