import pytest

from trackside.handoff.heed import Heed
from trackside.handoff.strategy import Call
from trackside.wire.pieces import Content, Keepalive, Reasoning, ToolCall, Usage

SHORT = Usage(99, 0, None, None, None, False)
ENOUGH = Usage(100, 0, None, None, None, False)
THINKS = Reasoning("Hm", "reasoning")
ANSWER = Content("Yes")
CALLS = ToolCall(0, "c", "f", "")
DROPPED = "prompt of 99 tokens, not 100 or more: its reasoning was dropped"
AGAIN = "the engine thinks again"


def faults(call, pieces, *, others=True):
    heed = Heed(call)
    return [heed.fault([piece], others=others) for piece in pieces]


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        pytest.param([SHORT], [DROPPED], id="short"),
        pytest.param([ENOUGH, ANSWER], [None, None], id="enough"),
        pytest.param([Usage(None, 1, None, None, None, True)], [None], id="not told"),
        pytest.param([THINKS, SHORT], [None, DROPPED], id="after reasoning"),
        pytest.param([ANSWER, SHORT], [None, None], id="after an answer"),
        pytest.param([CALLS, SHORT], [None, None], id="after a call"),
    ],
)
def test_a_short_prompt_shows_that_the_reasoning_was_dropped(pieces, found):
    assert faults(Call("", b"", least_prompt_tokens=100), pieces) == found


def test_an_answer_without_the_reasoning_is_better_than_none():
    call = Call("", b"", least_prompt_tokens=100)
    assert faults(call, [SHORT, ANSWER], others=False) == [None, None]


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        pytest.param([Keepalive("role"), THINKS], [None, AGAIN], id="at once"),
        pytest.param([Reasoning("\n", "inline"), ANSWER], [None, None], id="blank"),
        pytest.param([ANSWER, THINKS], [None, None], id="after an answer"),
    ],
)
def test_thinking_shows_that_it_was_not_switched_off(pieces, found):
    assert faults(Call("", b"", may_reason=False), pieces, others=False) == found


def test_by_default_an_answer_may_think():
    assert faults(Call("", b""), [THINKS, SHORT]) == [None, None]
