"""What an account sees of a response, whatever its pieces and cuts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripted import chunk, stream, usage
from trackside.ledger.account import Account, Counts
from trackside.wire.chat import Reader
from trackside.wire.pieces import (
    Content,
    End,
    Failure,
    Finish,
    Keepalive,
    Piece,
    Reasoning,
    Start,
    ToolCall,
    Usage,
)

CALL = ToolCall(0, "c1", "look", "")


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(Start("1", "m", 0), id="first chunk"),
        pytest.param(Keepalive("comment"), id="comment"),
        pytest.param(Keepalive("role"), id="role chunk"),
        pytest.param(Keepalive("progress"), id="prefill progress"),
        pytest.param(Keepalive("keepalive"), id="made-up chunk"),
        pytest.param(Usage(10, 0, None, 0, None, False), id="usage"),
    ],
)
def test_signs_of_life_are_no_first_token(piece: Piece) -> None:
    account = Account()
    account.see([piece], 1.0)
    assert (account.first_token_s, account.stage) == (None, "before_first_token")
    account.see([Content("x")], 2.0)
    assert account.first_token_s == 2.0


@pytest.mark.parametrize(
    ("piece", "stage"),
    [
        (Reasoning("x", "reasoning"), "reasoning"),
        (Content("x"), "content"),
        (CALL, "tool_call"),
        (Finish("stop"), "complete"),
    ],
    ids=["reasoning", "content", "tool call", "finish"],
)
def test_the_stage_is_how_far_it_came(piece: Piece, stage: str) -> None:
    account = Account()
    account.see([Reasoning("x", "reasoning"), piece, Usage(1, 1, 0, 0, None, True)], 1)
    assert account.stage == stage


def test_gaps_and_speed_are_those_between_pieces() -> None:
    account = Account()
    for number in range(11):
        account.see([Content("x")], 5.0 + number * 0.1)
    account.see([Usage(9, 11, None, None, None, True), End()], 99.0)
    assert account.gaps.percentile(50) == pytest.approx(0.1, rel=0.03)
    assert account.tokens_per_s() == pytest.approx(10.0)
    assert account.ended_s == 99.0


def test_a_burst_has_no_speed() -> None:
    account = Account()
    for number in range(11):
        account.see([Content("x")], 5.0 + number * 1e-4)
    account.see([Usage(9, 11, None, None, None, True)], 6.0)
    assert account.tokens_per_s() is None


def test_the_last_counts_hold_and_null_never_overwrites_them() -> None:
    account = Account()
    account.see([Content("x"), Usage(10, 1, None, 4, None, False)], 1)
    account.see([Usage(10, 7, 3, None, {"prompt_ms": 5.0}, True)], 2)
    assert account.counts == Counts(10, 7, 3, 4)
    assert account.timings == {"prompt_ms": 5.0}


def test_the_progress_of_a_prefill_is_not_its_prompt() -> None:
    account = Account()
    account.see([Usage(512, None, None, 0, None, False)], 1)
    assert account.counts == Counts()


def test_an_error_frame_is_kept_by_its_code_not_its_words() -> None:
    account = Account()
    account.see([Failure("the whole chat: secret", "invalid_request")], 1)
    assert account.failure == "invalid_request"
    account = Account()
    account.see([Failure("secret", None)], 1)
    assert account.failure == "error"


BODY = b"".join(
    [
        b": keep-alive\n\n",
        *stream(["Hm ", "hm"], ["Yes", " ok"], finish=None),
        chunk({"tool_calls": [{"index": 0, "function": {"name": "f"}}]}),
        chunk({}, finish_reason="tool_calls", usage=usage(90, 5, 80)),
        b"data: [DONE]\n\n",
    ]
)


def summed_up(cuts: list[int]) -> tuple[Any, ...]:
    reader, account = Reader(), Account()
    places = [0, *sorted(cuts), len(BODY)]
    for start, end in pairwise(places):
        for message in reader.feed(BODY[start:end]):
            account.see(message.pieces, 1.0)
    for message in reader.flush():
        account.see(message.pieces, 1.0)
    return account.stage, account.finish_reason, account.counts, account.ended_s


WHOLE = ("complete", "tool_calls", Counts(90, 5, None, 80), 1.0)


def test_a_stream_is_accounted_whole_and_byte_by_byte() -> None:
    assert summed_up([]) == WHOLE
    assert summed_up(list(range(len(BODY)))) == WHOLE


@given(st.lists(st.integers(0, len(BODY)), max_size=12))
def test_cuts_do_not_matter(cuts: list[int]) -> None:
    assert summed_up(cuts) == WHOLE


@given(st.integers(0, len(BODY) - 1))
def test_a_stream_cut_anywhere_never_looks_complete_before_its_finish(cut: int) -> None:
    reader, account = Reader(), Account()
    for message in [*reader.feed(BODY[:cut]), *reader.flush()]:
        account.see(message.pieces, 1.0)
    is_told = BODY[:cut].count(b'"finish_reason": "tool_calls"') == 1
    if not is_told:
        assert account.stage != "complete"
