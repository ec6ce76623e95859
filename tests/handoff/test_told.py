import pytest

from trackside.handoff.told import ERROR_CHARS, sentence

USAGE = {"merged": {"prompt": 10, "completion": 320, "reasoning": 300, "cached": None}}
HANDOFF = {
    "ok": True,
    "error": None,
    "flow_id": "f",
    "ttft_s": 0.0704,
    "cached_tokens": 252,
    "prompt_tokens": 257,
}
RECORD = {
    "v": 1,
    "tripped": True,
    "reason": "cycles",
    "channel": "reasoning",
    "detail": {"detector": "cycles", "start_char": 3, "end_char": 90, "copies": 9},
    "effort": "high",
    "budget_tokens": 24576,
    "reasoning_tokens": 300,
    "tokens_source": "engine",
    "action": "continue",
    "strategy": "continue",
    "handoff": HANDOFF,
    "usage": USAGE,
    "end": {"finish_reason": "stop", "by": "engine"},
}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        pytest.param(
            {},
            "tripped by cycles in reasoning at 300 reasoning tokens (engine); "
            "9 copies from char 3 to 90; budget 24576 for effort high; "
            "action continue, strategy continue; answer after 0.070 s; "
            "252 of 257 prompt tokens cached; "
            "usage prompt 10, completion 320, reasoning 300; ended stop by engine",
            id="all",
        ),
        pytest.param(
            {
                "reason": "budget",
                "detail": None,
                "effort": None,
                "budget_tokens": None,
                "action": "observe",
                "handoff": None,
                "usage": {"merged": {"prompt": None}},
                "tokens_source": "tiktoken",
            },
            "tripped by budget in reasoning at 300 reasoning tokens (tiktoken); "
            "budget none; action observe: not acted on; usage not told; "
            "ended stop by engine",
            id="least",
        ),
        pytest.param(
            {
                "detail": None,
                "handoff": {
                    **HANDOFF,
                    "ttft_s": None,
                    "prompt_tokens": None,
                    "error": "400 b'no'",
                },
            },
            "tripped by cycles in reasoning at 300 reasoning tokens (engine); "
            "budget 24576 for effort high; action continue, strategy continue; "
            "252 prompt tokens cached; handoff error: 400 b'no'; "
            "usage prompt 10, completion 320, reasoning 300; ended stop by engine",
            id="failed",
        ),
        pytest.param(
            {"detail": None, "handoff": {**HANDOFF, "way": "afresh"}},
            "tripped by cycles in reasoning at 300 reasoning tokens (engine); "
            "budget 24576 for effort high; action continue, strategy continue (afresh);"
            " answer after 0.070 s; 252 of 257 prompt tokens cached; "
            "usage prompt 10, completion 320, reasoning 300; ended stop by engine",
            id="by a way of another name",
        ),
        pytest.param(
            {"tripped": False}, "no loop in 300 reasoning tokens (engine)", id="quiet"
        ),
        pytest.param({"phase1": "f"}, "phase 2 of flow f", id="phase 2"),
    ],
)
def test_one_line_tells_all(changed, told):
    assert sentence({**RECORD, **changed}) == told


def test_nothing_an_engine_or_a_client_says_breaks_the_line():
    odd = "a\nb\r\x1b[31mc\u2028d\t"
    handoff = {**HANDOFF, "error": odd}
    end = {"finish_reason": odd, "by": "engine"}
    told = sentence({**RECORD, "effort": odd, "handoff": handoff, "end": end})
    assert told.isprintable()
    assert told.count("a b [31mc d") == 3


def test_a_long_error_is_cut():
    told = sentence({**RECORD, "handoff": {**HANDOFF, "error": "x" * 10_000}})
    assert f"handoff error: {'x' * ERROR_CHARS}…; usage" in told
