import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handoff.judge import read_strictly
from handoff.rewriting import (
    BEFORE,
    COUNTS,
    ECHO,
    EVENTS,
    edits,
    finish_of,
    judged,
    phase1,
    rewritten,
    said,
)
from trackside.handoff.rewrite import KEEPALIVE, Rewriter
from trackside.handoff.usage import Counts
from wire.streams import DONE, cut, cuts, event

PIECES = st.sampled_from(sorted(EVENTS)).map(EVENTS.__getitem__)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just("stop"),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "content",
                    "reasoning",
                    "index",
                    "usage",
                    "timings",
                    "finish_reason",
                    "error",
                    "text",
                    "tool_calls",
                    "role",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
).map(event)
PHASES = st.fixed_dictionaries(
    {
        "wants_usage": st.booleans(),
        "trusts_labels": st.booleans(),
        "closes_inline": st.sampled_from(["", "\n</think>\n\n"]),
        "counts": st.sampled_from([COUNTS, Counts(None, 300, 300)]),
        "timings": st.sampled_from([None, {"predicted_n": 30, "prompt_n": 9}]),
    }
)


@settings(max_examples=80, deadline=None)
@given(st.lists(PIECES | JUNK | st.binary(max_size=9), max_size=8), PHASES, st.data())
@example([EVENTS["odd error"], EVENTS["finish"]], {}, None)
@example([EVENTS["finish"], EVENTS["content"], EVENTS["finish"]], {}, None)
@example([EVENTS["usage on the finish"]], {"wants_usage": True}, None)
def test_whatever_phase_2_says_the_client_gets_one_response(events, phase, data):
    stream = b"".join(events)
    body = rewritten([stream], **phase)
    chunks = judged(body, usages=1 if phase.get("wants_usage") else 0)
    assert len(read_strictly(BEFORE + body)) == len(chunks) + 2
    if data:
        parts = cut(stream, data.draw(cuts(len(stream))))
        assert rewritten(parts, **phase) == body


@pytest.mark.parametrize(
    ("names", "content", "finish"),
    [
        pytest.param(["content", "finish", "finish"], "A\n", "stop", id="two finishes"),
        pytest.param(
            ["content", "finish", "role and content"], "A\n", "stop", id="after the end"
        ),
        pytest.param(["content", "done"], "A\n", "length", id="no finish"),
        pytest.param(["content", "finish"], "A\n", "stop", id="no terminator"),
        pytest.param(
            ["content", "done", "role and content", "done"],
            "A\n",
            "length",
            id="done twice",
        ),
        pytest.param(
            ["content", "error", "role and content"], "A\n", "length", id="error"
        ),
        pytest.param(["content", "finish", "error"], "A\n", "stop", id="late error"),
        pytest.param(["finish with text"], "H", "length", id="text on the finish"),
        pytest.param(["role", "echo", "content", "finish"], "A\n", "stop", id="echo"),
        pytest.param(
            ["content", "echo", "finish"], f"A\n{ECHO}", "stop", id="no echo any more"
        ),
        pytest.param(
            ["another choice", "end of another", "two choices", "finish"],
            "Q",
            "stop",
            id="other choices",
        ),
        pytest.param(
            ["page", "no JSON", "a list", "no data", "content", "finish"],
            "A\n",
            "stop",
            id="garbage",
        ),
        pytest.param(["two lines", "CR", "finish"], "RS", "stop", id="line ends"),
        pytest.param(["half an emoji", "nan"], "?T", "length", id="lenient"),
        pytest.param(["text", "text", "finish"], "LL", "stop", id="text completion"),
        pytest.param(["held", "content"], "<thiA\n", "length", id="half a tag"),
    ],
)
def test_an_odd_stream_is_put_right(names, content, finish):
    chunks = judged(rewritten([EVENTS[name] for name in names]))
    assert said(chunks) == content
    assert finish_of(chunks) == finish


@pytest.mark.parametrize(
    "name", ["comment", "made up", "progress"], ids=["comment", "oMLX", "llama.cpp"]
)
def test_signs_of_life_during_a_prefill_are_passed_on(name):
    rewriter = Rewriter(phase1())
    assert list(edits(rewriter, [EVENTS[name]])) == [KEEPALIVE]
    assert rewriter.refused


def test_half_a_comment_is_not_run_into_what_follows():
    assert judged(rewritten([b": keep"]))


@pytest.mark.parametrize(
    ("names", "refused", "error"),
    [
        pytest.param([], True, None, id="nothing"),
        pytest.param(["role", "comment", "usage"], True, None, id="nothing said"),
        pytest.param(["error"], True, "out of memory", id="error"),
        pytest.param(["role", "named error"], True, "gone", id="named error"),
        pytest.param(["finish", "error"], True, "out of memory", id="error, no text"),
        pytest.param(["no JSON", "page"], True, None, id="garbage"),
        pytest.param(["role", "done"], True, "ended before", id="empty"),
        pytest.param(["another choice"], True, None, id="another choice"),
        pytest.param(["echo", "error"], True, "out of memory", id="echo alone"),
        pytest.param(["content", "error"], False, "out of memory", id="late error"),
        pytest.param(["held", "error"], False, "out of memory", id="half a tag"),
        pytest.param(["text", "error"], False, "out of memory", id="text completion"),
        pytest.param(["tool", "error"], False, "out of memory", id="tool call"),
        pytest.param(["finish"], False, None, id="an empty answer"),
        pytest.param(["finish with text", "error"], False, "out of memory", id="whole"),
        pytest.param(["content", "done"], False, None, id="good"),
    ],
)
def test_another_way_is_open_until_something_was_said(names, refused, error):
    rewriter = Rewriter(phase1(closes_inline="</think>"))
    out = b"".join(edits(rewriter, [EVENTS[name] for name in names]))
    assert rewriter.refused is refused
    assert error is None if rewriter.error is None else error in rewriter.error
    sent = out.replace(KEEPALIVE, b"")
    if refused:
        assert not sent
        last = judged(rewriter.end())
        assert (said(last), finish_of(last)) == ("</think>", "length")
    else:
        judged(out + rewriter.end())


def test_the_end_is_told_once():
    rewriter = Rewriter(phase1())
    out = b"".join(edits(rewriter, [EVENTS["content"], DONE]))
    assert rewriter.end("too late") == b""
    assert (
        list(edits(rewriter, [EVENTS["content"], DONE, EVENTS["error"]])) == [b""] * 3
    )
    judged(out)


def test_a_deep_event_is_left_out():
    deep = b'data: {"choices":[{"delta":{"x":' + b"[" * 100_000 + b"\n\n"
    assert said(judged(rewritten([deep, EVENTS["content"]]))) == "A\n"
