from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trackside.handoff.usage import Counts
from trackside.handoff.watch import SHORT_CHARS, Trip, Watch, kept_reasoning
from trackside.loops.finding import Finding
from trackside.loops.monitor import DEFAULT, Monitor
from trackside.loops.tokens import count
from trackside.wire.pieces import (
    Content,
    Failure,
    Finish,
    Keepalive,
    Reasoning,
    Start,
    TokenIds,
    ToolCall,
    Usage,
)

OPENING = "We need a name for the boy next door. His sister is called Ann. "
LOOP = "So it is Bob, as he said. " * 40
TOOL = ToolCall(0, "c", "f", "")


def reasoning(text, source="reasoning", choice=0):
    return Reasoning(text, source, choice)


def counted(completion, *, final=False, prompt=9):
    return Usage(prompt, completion, None, None, None, final)


def watch_of(**more):
    return Watch(**{"reasoning": Monitor(), **more})


def read(watch, *messages):
    """Read messages of one piece or several; return the trips."""
    pieces = [m if isinstance(m, list) else [m] for m in messages]
    return [trip for trip in map(watch.read, pieces) if trip]


def words(text):
    return [reasoning(f"{word} ") for word in text.split(" ")[:-1]]


def test_a_loop_trips_once_and_says_where_it_is():
    watch = watch_of()
    [trip] = read(watch, *words(OPENING), *words(LOOP), *words(LOOP))
    assert trip.channel == "reasoning"
    assert trip.finding
    assert trip.reason == trip.finding.detector
    assert trip.finding.copies >= 2
    assert LOOP[:20] in watch.reasoning[trip.finding.start - 30 : trip.finding.end]
    assert trip.reasoning_tokens < count(OPENING + LOOP)
    assert trip.tokens_source == "tiktoken"


def test_healthy_reasoning_does_not_trip():
    watch = watch_of()
    assert read(watch, *words(OPENING), Content("Bob"), Finish("stop")) == []
    assert watch.reasoning == OPENING
    assert watch.reasoning_chars == len(OPENING)
    assert watch.reasoning_tokens == count(OPENING)
    assert watch.evidence == []


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 600), max_size=8))
def test_how_the_text_is_cut_does_not_matter(at):
    text = OPENING + LOOP
    offsets = [0, *sorted(at), len(text)]
    parts = [text[a:b] for a, b in pairwise(offsets)]
    [whole] = read(watch_of(), reasoning(text))
    [trip] = read(watch_of(), *(reasoning(part) for part in parts if part))
    assert trip.finding == whole.finding


@pytest.mark.parametrize(
    ("pieces", "stage"),
    [
        pytest.param([], "before_first_token", id="nothing"),
        pytest.param([Start("i", "m", 1)], "before_first_token", id="start"),
        pytest.param([Keepalive("role")], "before_first_token", id="role"),
        pytest.param([counted(1)], "before_first_token", id="usage"),
        pytest.param([Content("\n")], "before_first_token", id="white space"),
        pytest.param([Content("\n"), reasoning("a")], "reasoning", id="then reasoning"),
        pytest.param([reasoning("a"), Content("b")], "content", id="content"),
        pytest.param([reasoning("a"), Content(" ")], "content", id="blank content"),
        pytest.param([reasoning("a"), TOOL], "tool_call", id="tool call"),
        pytest.param([Finish("stop")], "complete", id="finish"),
        pytest.param([Finish("stop"), Content("b")], "complete", id="text after it"),
        pytest.param(
            [Finish("stop"), reasoning("b")], "complete", id="reasoning after it"
        ),
        pytest.param(
            [reasoning("a"), Content("b"), reasoning("c")], "content", id="and again"
        ),
        pytest.param(
            [reasoning("a"), Content("b", 1)], "reasoning", id="another choice"
        ),
    ],
)
def test_the_stage_is_known(pieces, stage):
    watch = watch_of()
    read(watch, *pieces)
    assert watch.stage == stage


@pytest.mark.parametrize(
    ("pieces", "reasoning_left"),
    [
        pytest.param([TOOL], "", id="a tool call"),
        pytest.param([Finish("stop")], "", id="the end"),
        pytest.param([Failure("gone", None)], LOOP, id="an error"),
        pytest.param([Content("Bob")], "", id="an answer"),
        pytest.param([reasoning("x", choice=1)], LOOP, id="several choices"),
        pytest.param([Content("x", 1)], LOOP, id="several answers"),
        pytest.param([reasoning("<tool_call>")], f"<tool_call>{LOOP}", id="opener"),
    ],
)
def test_nothing_is_done_after(pieces, reasoning_left):
    watch = watch_of(has_tools=True, limit_tokens=1)
    watch.read(pieces)
    assert read(watch, *words(LOOP)) == []
    assert watch.may_act is False
    assert watch.reasoning == reasoning_left


def test_a_trip_in_the_message_that_ends_the_reasoning_is_none():
    watch = watch_of()
    assert watch.read([reasoning(LOOP), TOOL]) is None


OPENERS = [
    "<tool_call>",
    "<|tool_call_begin|>",
    "<|tool_calls_section_begin|>",
    "<function=",
    "<function_calls>",
    "[TOOL_CALLS]",
    "<｜tool▁calls▁begin｜>",
    "<｜DSML｜function_calls>",
    "<minimax:tool_call>",
    "<|python_tag|>",
    "<|channel|>commentary to=functions.f",
]


@pytest.mark.parametrize("opener", OPENERS)
def test_an_opener_is_seen_however_it_is_cut(opener):
    for at in range(1, len(opener)):
        watch = watch_of(has_tools=True)
        read(watch, reasoning(f"Then {opener[:at]}"), reasoning(opener[at:]))
        assert not watch.may_act
    watch = watch_of(has_tools=True)
    read(watch, *(reasoning(char) for char in f"Then {opener}"))
    assert not watch.may_act


@pytest.mark.parametrize("text", ["<tool", "a function", "tool_call", "[TOOLS]"])
def test_words_are_no_openers(text):
    watch = watch_of(has_tools=True)
    read(watch, reasoning(f"Then {text} here"))
    assert watch.may_act


def test_openers_are_no_danger_without_tools():
    watch = watch_of()
    assert read(watch, reasoning("<tool_call>"), *words(LOOP))


@pytest.mark.parametrize(
    ("messages", "tokens", "source"),
    [
        pytest.param([reasoning(OPENING)], count(OPENING), "tiktoken", id="tiktoken"),
        pytest.param([[reasoning("a"), counted(7)]], 7, "engine", id="usage"),
        pytest.param(
            [[reasoning("a"), counted(7)], reasoning("bcd")], 7, "engine", id="late"
        ),
        pytest.param(
            [[reasoning("a"), counted(7)], [Content("b"), counted(9)]],
            7,
            "engine",
            id="not the answer's",
        ),
        pytest.param(
            [reasoning("a"), [Finish("stop"), counted(9, final=True)]],
            1,
            "tiktoken",
            id="not the end's",
        ),
        pytest.param(
            [[reasoning("a"), TokenIds(2)], [reasoning("b"), TokenIds(3)]],
            5,
            "engine",
            id="token ids",
        ),
        pytest.param(
            [[reasoning("a"), TokenIds(2)], [Content("b"), TokenIds(3)]],
            2,
            "engine",
            id="not the answer's ids",
        ),
        pytest.param([counted(3)], 0, "tiktoken", id="nothing read"),
        pytest.param([[reasoning("a"), counted(0)]], 1, "tiktoken", id="zero"),
    ],
)
def test_the_engines_count_comes_first(messages, tokens, source):
    watch = watch_of()
    read(watch, *messages)
    assert (watch.reasoning_tokens, watch.tokens_source) == (tokens, source)


def test_a_capture_counts_as_the_engine_did():
    watch = watch_of(tokens_per_char=0.5, limit_tokens=4)
    [trip] = read(watch, reasoning("abcd"), reasoning("efgh"))
    assert trip == Trip("budget", "reasoning", None, 4, "engine")


@pytest.mark.parametrize(
    ("messages", "at"),
    [
        pytest.param([[reasoning("a"), counted(n)] for n in range(9)], 5, id="engine"),
        pytest.param([reasoning(" word")] * 9, 5, id="tiktoken"),
        pytest.param([[reasoning("a"), counted(50)]], 50, id="at once"),
    ],
)
def test_a_spent_budget_trips_once(messages, at):
    watch = watch_of(reasoning=None, limit_tokens=5)
    [trip] = read(watch, *messages, *messages)
    assert trip.reason == "budget"
    assert trip.finding is None
    assert trip.reasoning_tokens == at


def test_a_budget_is_for_reasoning_alone():
    watch = watch_of(limit_tokens=5)
    assert (
        read(watch, [reasoning("a"), counted(2)], [Content("b" * 99), counted(9)]) == []
    )


def test_a_loop_in_the_answer_is_told_apart():
    watch = watch_of(content=Monitor())
    [trip] = read(watch, reasoning("Hm."), Content(LOOP))
    assert trip.channel == "content"
    assert read(watch_of(), reasoning("Hm."), Content(LOOP)) == []


def test_reasoning_that_nobody_judges_is_still_kept():
    watch = watch_of(reasoning=None)
    assert read(watch, *words(LOOP)) == []
    assert watch.reasoning == LOOP
    assert watch.evidence == []


@pytest.mark.parametrize(
    ("messages", "swallowed"),
    [
        pytest.param([[reasoning("Step"), counted(2)]], True, id="one more"),
        pytest.param([[reasoning("Step"), counted(1)]], False, id="all there"),
        pytest.param([[reasoning("\n"), counted(2)]], False, id="there itself"),
        pytest.param(
            [[reasoning("Step"), counted(1)], [reasoning(" one"), counted(5)]],
            False,
            id="later does not count",
        ),
        pytest.param([reasoning("Step")], False, id="not told"),
    ],
)
def test_a_line_break_that_a_parser_ate_is_suspected(messages, swallowed):
    watch = watch_of()
    read(watch, *messages)
    assert watch.swallowed is swallowed


def test_what_the_stream_told_is_remembered():
    watch = watch_of()
    timings = {"predicted_n": 2}
    told = Usage(None, 2, None, 4, timings, False)
    start = Start("i", "m", 1)
    read(watch, [start, Start("j", "m", 2)], reasoning("a", "inline"), counted(1), told)
    read(watch, Finish("length"), Finish("stop"))
    assert watch.start == start
    assert watch.inline
    assert watch.counts == Counts(9, 2, None, 4)
    assert watch.timings == timings
    assert watch.finish_reason == "length"


def test_evidence_is_told_in_plain_values():
    watch = watch_of(reasoning=Monitor(("openings", "ngrams")))
    line = "Actually, I think I found the bug in module {}. Let me look there now.\n\n"
    assert read(watch, *(reasoning(line.format(n)) for n in range(60))) == []
    assert watch.evidence
    for found in watch.evidence:
        assert found["detector"] in DEFAULT
        assert found["start_char"] < watch.reasoning_chars
        assert found["copies"] >= 2


LONG = (
    "Every word of this is new, and it says where the boy lives and with whom. And so"
)
TEXT = LONG + " it is Bob." * 9


@pytest.mark.parametrize(
    ("text", "finding", "trim", "kept"),
    [
        pytest.param(
            TEXT,
            Finding("cycles", len(LONG), 160, 9, len(LONG) + 11),
            True,
            LONG,
            id="up to the loop",
        ),
        pytest.param(
            "Hm. " + "So it is. " * 9,
            Finding("cycles", 4, 90, 9, 14),
            True,
            "Hm. So it is.",
            id="short: with the first copy",
        ),
        pytest.param(
            "So it is. " * 9,
            Finding("cycles", 0, 90, 9, 10),
            True,
            "So it is.",
            id="from the start",
        ),
        pytest.param(
            TEXT, Finding("cycles", len(LONG), 160, 9, 90), False, TEXT, id="all"
        ),
        pytest.param(f"{TEXT} \n", None, True, TEXT, id="budget"),
        pytest.param("\nHm.", None, True, "\nHm.", id="the front stays"),
        pytest.param(" \n", None, True, "", id="blank"),
        pytest.param("", None, False, "", id="nothing"),
    ],
)
def test_the_reasoning_is_kept_up_to_the_loop(text, finding, trim, kept):
    assert len(LONG) >= SHORT_CHARS
    assert kept_reasoning(text, finding, trim=trim) == kept
