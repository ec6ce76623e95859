import pytest

from handoff.judge import completion, read_by_hand, read_strictly
from handoff.rewriting import (
    ANSWER,
    BEFORE,
    COUNTS,
    ECHO,
    EVENTS,
    KEPT,
    TOLD,
    edits,
    finish_of,
    judged,
    phase1,
    rewritten,
    said,
)
from handoff.shapes import llama_cpp, mlx_lm, sglang, text_completion, vllm
from trackside.handoff.rewrite import Rewriter
from trackside.handoff.usage import Counts
from wire.streams import DONE, all_cuts, chunk, cut, delta, event

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
