import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handoff.judge import completion, read_by_hand, read_strictly
from handoff.shapes import llama_cpp, mlx_lm, sglang, text_completion, vllm
from trackside.handoff.rewrite import KEEPALIVE, Phase1, Rewriter
from trackside.handoff.usage import Counts
from trackside.wire.chat import Reader
from trackside.wire.pieces import Start
from wire.streams import DONE, all_cuts, chunk, cut, cuts, delta, event

KEPT = "So it is Bob. So it is Bob.\n\nEnough."
START = Start("chatcmpl-1", "m", 1796041849)
COUNTS = Counts(prompt=10, completion=300, reasoning=300, cached=4)
BEFORE = chunk(delta(role="assistant", content=None)) + chunk(
    delta(reasoning_content="So it is Bob. ")
)
ECHO = f"<think>\n{KEPT}\n</think>\n\n"
TOOL = {"index": 0, "id": "c", "type": "function"}
ANSWER = [{"content": "It "}, {"content": "is "}, {"content": "Bob é"}]
TOLD = {"prompt_tokens": 40, "completion_tokens": 3, "total_tokens": 43}


def phase1(**more):
    known = {"start": START, "kept": KEPT, "kept_tokens": 12, "counts": COUNTS}
    return Phase1(**{**known, **more})


def rewritten(parts, **more):
    rewriter = Rewriter(phase1(**more))
    return b"".join(edits(rewriter, parts)) + rewriter.end()


def edits(rewriter, parts):
    reader = Reader()
    for part in parts:
        yield from map(rewriter.edit, reader.feed(part))
    yield from map(rewriter.edit, reader.flush())


def judged(body, *, start=START, usages=0):
    """Return the chunks of a rewritten body that says all there is to say, once."""
    chunks = read_by_hand(body)
    for told in chunks:
        assert (told["id"], told["model"]) == (start.id, start.model)
        assert (told["created"], told["object"]) == (
            start.created,
            "chat.completion.chunk",
        )
        assert len(told["choices"]) <= 1
        for choice in told["choices"]:
            assert choice["index"] == 0
            assert "role" not in choice["delta"]
    finishes = [c["choices"][0]["finish_reason"] for c in chunks if c["choices"]]
    assert finishes
    assert [bool(finish) for finish in finishes] == [False] * (len(finishes) - 1) + [
        True
    ]
    told = ["usage" in c or not c["choices"] for c in chunks]
    assert sum(told) <= usages
    assert not any(told[:-1])
    return chunks


def said(chunks, key="content"):
    deltas = [c["choices"][0]["delta"] for c in chunks if c["choices"]]
    return "".join(d[key] for d in deltas if isinstance(d.get(key), str))


def finish_of(chunks):
    return next(
        choice["finish_reason"]
        for c in chunks
        for choice in c["choices"]
        if choice["finish_reason"]
    )


LLAMA = {"asked": False, "include_usage": True}
STREAMS = [
    pytest.param(b"".join(llama_cpp(ANSWER, **LLAMA)), "stop", id="llama.cpp"),
    pytest.param(
        b"".join(llama_cpp([{"content": ECHO}, *ANSWER], **LLAMA)), "stop", id="echo"
    ),
    pytest.param(
        b"".join(llama_cpp([{"reasoning_content": KEPT}, *ANSWER], **LLAMA)),
        "stop",
        id="echo as reasoning",
    ),
    pytest.param(
        b"".join(llama_cpp(ANSWER, progress=True, **LLAMA)), "stop", id="progress"
    ),
    pytest.param(b"".join(vllm(ANSWER, **LLAMA)), "stop", id="vllm"),
    pytest.param(
        b"".join(vllm(ANSWER, asked=True, include_usage=True)),
        "stop",
        id="vllm running",
    ),
    pytest.param(b"".join(sglang(ANSWER, **LLAMA)), "stop", id="sglang"),
    pytest.param(b"".join(mlx_lm(ANSWER)), "stop", id="mlx-lm"),
    pytest.param(
        b"".join(text_completion(["It ", "is ", "Bob é"])), "stop", id="text completion"
    ),
    pytest.param(
        b"".join(vllm([{"reasoning": d["content"]} for d in ANSWER], **LLAMA)),
        "stop",
        id="labelled reasoning",
    ),
    pytest.param(
        b"".join(
            sglang(
                [{"reasoning_content": d["content"], "content": None} for d in ANSWER],
                **LLAMA,
            )
        ),
        "stop",
        id="labelled reasoning_content",
    ),
]


@pytest.mark.parametrize(("stream", "finish"), STREAMS)
def test_phase_2_goes_on_as_phase_1(stream, finish):
    body = rewritten([stream], trusts_labels=False, wants_usage=True)
    chunks = judged(body, usages=1)
    assert said(chunks) == "It is Bob é"
    assert finish_of(chunks) == finish
    assert not {"reasoning", "reasoning_content"} & {
        key
        for c in chunks
        for choice in c["choices"]
        for key in choice["delta"]
        if choice["delta"][key]
    }
    usage = chunks[-1]["usage"]
    assert usage["prompt_tokens"] == 10
    assert usage["completion_tokens"] >= 303
    assert usage["total_tokens"] == 10 + usage["completion_tokens"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == 4
    final = completion(read_strictly(BEFORE + body))
    assert final.choices[0].message.content == "It is Bob é"
    assert final.choices[0].finish_reason == finish
    assert final.usage
    assert final.usage.completion_tokens == usage["completion_tokens"]


@pytest.mark.parametrize(("stream", "finish"), STREAMS)
def test_usage_that_nobody_wanted_is_not_told(stream, finish):
    chunks = judged(rewritten([stream], trusts_labels=False))
    assert said(chunks) == "It is Bob é"
    assert finish_of(chunks) == finish


@pytest.mark.parametrize(("stream", "_"), STREAMS[:2])
def test_cuts_do_not_matter(stream, _):
    whole = rewritten([stream])
    for parts in [cut(stream, range(len(stream))), *list(all_cuts(stream))[2::11]]:
        assert rewritten(parts) == whole


@pytest.mark.parametrize(("stream", "_"), STREAMS)
def test_a_stream_that_breaks_off_anywhere_ends_in_form(stream, _):
    for at in range(0, len(stream), 7):
        rewriter = Rewriter(phase1(trusts_labels=False))
        body = b"".join(edits(rewriter, [stream[:at]])) + rewriter.end("gone")
        chunks = judged(body)
        assert "It is Bob é".startswith(said(chunks))
        assert rewriter.finish_reason == finish_of(chunks)


EVENTS = {
    "role": chunk(delta(role="assistant", content="")),
    "null role": chunk(delta(role="assistant", content=None)),
    "content": chunk(delta(content="A\n")),
    "role and content": chunk(delta(role="assistant", content="B")),
    "held": chunk(delta(content="<thi")),
    "reasoning": chunk(delta(reasoning="C")),
    "both": chunk(delta(reasoning="D", content="E")),
    "named twice": chunk(delta(reasoning="F", reasoning_content="F")),
    "details": chunk(delta(reasoning_details=[{"text": "G"}])),
    "echo": chunk(delta(content=ECHO)),
    "echo as reasoning": chunk(delta(reasoning_content=KEPT)),
    "tool": chunk(delta(tool_calls=[{**TOOL, "function": {"name": "f"}}])),
    "arguments": chunk(delta(tool_calls=[{**TOOL, "function": {"arguments": "{"}}])),
    "finish": chunk(delta(finish="stop")),
    "finish with text": chunk(delta(content="H", finish="length")),
    "tool finish": chunk(delta(finish="tool_calls")),
    "odd finish": chunk(delta(finish={"a": 1})),
    "usage": chunk(usage=TOLD),
    "running usage": chunk(delta(content="I"), usage=TOLD),
    "usage on the finish": chunk(delta(finish="stop"), usage=TOLD),
    "odd usage": chunk(delta(content="J"), usage=[5]),
    "timings": chunk(delta(content="K"), timings={"predicted_n": 3, "x": "y"}),
    "text": event({"choices": [{"text": "L", "index": 0}]}),
    "null text": event({"choices": [{"text": None, "index": 0}]}),
    "null delta": event({"choices": [{"index": 0, "delta": None}]}),
    "odd delta": event({"choices": [{"index": 0, "delta": "M"}]}),
    "odd content": chunk(delta(content={"a": 1})),
    "list content": chunk(delta(content=[{"text": "N"}])),
    "another choice": chunk(delta(1, content="O")),
    "end of another": chunk(delta(1, finish="stop")),
    "two choices": chunk(delta(1, content="P"), delta(0, content="Q")),
    "no choices": event({"id": "x"}),
    "odd choices": event({"choices": 5, "error": None}),
    "odd error": event(
        {"choices": [{"delta": 5, "finish_reason": "stop"}], "error": "x"}
    ),
    "comment": b": keep-alive\n\n",
    "made up": event(
        {
            "id": "chatcmpl-keepalive",
            "created": 0,
            "model": "keepalive",
            "choices": [delta(role="assistant", content="")],
        }
    ),
    "progress": chunk(
        delta(role="assistant", content=None), prompt_progress={"total": 5}
    ),
    "error": event({"error": {"message": "out of memory", "code": 500}}),
    "named error": b'event: error\ndata: {"error":"gone"}\n\n',
    "no JSON": b"data: oops\n\n",
    "a list": b"data: []\n\n",
    "half": b'data: {"choices":[{"del',
    "page": b"<html>\n\n",
    "no data": b"event: sglext_ids\n\nid: 7\n\nretry: 5\n\n",
    "two lines": b'data: {"choices":[{"index":0,\ndata: "delta":{"content":"R"}}]}\n\n',
    "CR": b'data: {"choices":[{"index":0,"delta":{"content":"S"}}]}\r\r',
    "blank": b"\n\r\n\n",
    "half an emoji": b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n',
    "nan": b'data: {"choices":[{"delta":{"content":"T"},"logprobs":NaN}]}\n\n',
    "done": DONE,
}
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
    ("names", "content", "reasoning"),
    [
        pytest.param(
            ["reasoning", "named twice", "details"], "CFG", "", id="all labels"
        ),
        pytest.param(["role and content", "reasoning"], "B", "C", id="after content"),
        pytest.param(["both", "reasoning"], "E", "DC", id="at the switch"),
        pytest.param(["another choice", "reasoning"], "C", "", id="not ours"),
        pytest.param(["echo as reasoning", "reasoning"], "C", "", id="echo"),
    ],
)
def test_old_parsers_labels_are_not_trusted_before_content(names, content, reasoning):
    parts = [EVENTS[name] for name in names]
    chunks = judged(rewritten(parts, trusts_labels=False))
    assert said(chunks) == content
    assert said(chunks, "reasoning") == reasoning


def test_labels_of_a_parser_that_knows_are_kept():
    chunks = judged(rewritten([EVENTS["reasoning"], EVENTS["content"]]))
    assert (said(chunks, "reasoning"), said(chunks)) == ("C", "A\n")


def test_a_tool_call_reaches_the_client_whole():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    stream = vllm(
        [{"content": None, "tool_calls": [{"index": 0, **call}]}, {}],
        finish="tool_calls",
        **LLAMA,
    )
    body = rewritten(stream, trusts_labels=False)
    final = completion(read_strictly(BEFORE + body))
    [made] = final.choices[0].message.tool_calls
    assert (made.id, made.function.name, made.function.arguments) == ("c", "f", "{}")
    assert final.choices[0].finish_reason == "tool_calls"


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


def test_a_client_with_tags_in_its_content_gets_the_closing_one():
    parts = [EVENTS["role"], EVENTS["content"], EVENTS["finish"], DONE]
    chunks = judged(rewritten(parts, closes_inline="\n</think>\n\n"))
    assert said(chunks) == "\n</think>\n\nA\n"


@pytest.mark.parametrize(
    "more", [{}, {"trusts_labels": False}], ids=["trusted", "not trusted"]
)
def test_an_end_without_phase_2_closes_the_response(more):
    rewriter = Rewriter(phase1(wants_usage=True, **more))
    chunks = judged(rewriter.end(), usages=1)
    assert finish_of(chunks) == rewriter.finish_reason == "length"
    assert chunks[-1]["usage"] == {
        "prompt_tokens": 10,
        "completion_tokens": 300,
        "total_tokens": 310,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 300},
    }
    assert rewriter.merged == COUNTS


def test_usage_is_not_made_up_where_no_engine_told_it():
    chunks = judged(rewritten([], wants_usage=True, counts=Counts(None, 300)))
    assert [c["choices"][0]["finish_reason"] for c in chunks] == ["length"]


def test_a_phase_2_that_dies_untold_costs_the_client_phase_1():
    rewriter = Rewriter(phase1(wants_usage=True))
    body = b"".join(edits(rewriter, [EVENTS["content"]])) + rewriter.end("gone")
    assert judged(body, usages=1)[-1]["usage"]["completion_tokens"] == 300
    assert rewriter.merged.completion is None
    assert rewriter.error == "gone"


def test_a_prompt_that_phase_1_could_not_tell_is_phase_2s_without_the_reasoning():
    rewriter = Rewriter(phase1(wants_usage=True, counts=Counts(None, 300, 300)))
    read = chunk(delta(role="assistant"), timings={"cache_n": 3, "prompt_n": 2})
    list(edits(rewriter, [read]))  # of a prompt that is still being read
    body = b"".join(edits(rewriter, [EVENTS["content"], EVENTS["usage"]]))
    usage = judged(body + rewriter.end(), usages=1)[-1]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (40 - 12, 303)
    assert rewriter.phase1.prompt == 28


def test_phase_2s_cache_hit_is_recorded_and_not_told():
    rewriter = Rewriter(phase1(wants_usage=True, counts=Counts(10, 300, 300, None)))
    told = {**TOLD, "prompt_tokens_details": {"cached_tokens": 38}}
    out = b"".join(edits(rewriter, [EVENTS["content"], chunk(usage=told), DONE]))
    assert rewriter.counts.cached == 38
    assert "prompt_tokens_details" not in judged(out, usages=1)[-1]["usage"]


def test_a_client_that_wants_running_usage_gets_it_merged():
    more = {"wants_usage": True, "wants_running_usage": True}
    stream = vllm(ANSWER, asked=True, include_usage=True)
    chunks = read_by_hand(rewritten(stream, **more))
    counts = [c["usage"]["completion_tokens"] for c in chunks if "usage" in c]
    assert counts == [301, 302, 303, 303]
    assert {c["usage"]["prompt_tokens"] for c in chunks if "usage" in c} == {10}


TIMINGS = {"cache_n": 0, "prompt_n": 9, "predicted_n": 30, "predicted_ms": 500}


def test_llama_cpps_timings_come_with_the_finish_to_who_wants_no_usage():
    stream = llama_cpp(ANSWER, asked=False, include_usage=True)
    chunks = judged(rewritten(stream, timings=TIMINGS))
    assert ["timings" in c for c in chunks] == [False, False, False, True]
    assert chunks[-1]["timings"]["predicted_n"] == 33
    assert chunks[-1]["timings"]["prompt_n"] == 9


def test_llama_cpps_timings_come_with_the_usage_to_who_wants_it():
    stream = llama_cpp(ANSWER, asked=False, include_usage=True)
    chunks = judged(rewritten(stream, timings=TIMINGS, wants_usage=True), usages=1)
    assert ["timings" in c for c in chunks] == [False] * 4 + [True]


def test_a_client_that_wants_timings_on_every_chunk_gets_them_merged():
    stream = llama_cpp(ANSWER, asked=True, include_usage=True)
    chunks = judged(rewritten(stream, timings=TIMINGS))
    assert [c["timings"]["predicted_n"] for c in chunks] == [31, 32, 33, 33]


def test_members_that_are_not_known_are_passed_on():
    told = chunk(delta(content="A", x=1), service_tier="t", y=[None])
    [first, _] = judged(rewritten([told]))
    assert first["service_tier"] == "t"
    assert first["y"] == [None]
    assert first["choices"][0]["delta"] == {"content": "A", "x": 1}


def test_token_ids_without_text_are_passed_on():
    told = event({"choices": [{"delta": {"content": ""}, "token_ids": [5]}]})
    [first, _] = judged(rewritten([told]))
    assert first["choices"][0]["token_ids"] == [5]


def test_a_deep_event_is_left_out():
    deep = b'data: {"choices":[{"delta":{"x":' + b"[" * 100_000 + b"\n\n"
    assert said(judged(rewritten([deep, EVENTS["content"]]))) == "A\n"
