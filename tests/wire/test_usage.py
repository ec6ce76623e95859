import pytest

from trackside.wire.pieces import Usage
from trackside.wire.usage import read_usage

LLAMA = {"cache_n": 3, "prompt_n": 627, "prompt_ms": 11.5, "predicted_n": 12}


def usage(prompt=None, completion=None, reasoning=None, cached=None, timings=None):
    return Usage(prompt, completion, reasoning, cached, timings, True)


@pytest.mark.parametrize(
    ("told", "clock", "expected"),
    [
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9},
            None,
            usage(9, 0),
            id="zero-is-told",
        ),
        pytest.param(
            {
                "prompt_tokens": 9,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            None,
            usage(9, 4, 2, 0),
            id="openai-details",
        ),
        pytest.param(
            {"prompt_tokens": 9, "prompt_tokens_details": None},
            None,
            usage(9),
            id="null-details",
        ),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 4, "reasoning_tokens": 3},
            None,
            usage(9, 4, 3),
            id="sglang",
        ),
        pytest.param(
            {"prompt_tokens": 9, "prompt_cache_hit_tokens": 8},
            None,
            usage(9, cached=8),
            id="deepseek",
        ),
        pytest.param(
            {"prompt_tokens": 9, "cached_tokens": 8},
            None,
            usage(9, cached=8),
            id="omlx",
        ),
        pytest.param(
            {"prompt_tokens": 9, "total_time": 1.5, "time_to_first_token": 1},
            None,
            usage(9, timings={"time_to_first_token": 1, "total_time": 1.5}),
            id="omlx-clocks",
        ),
        pytest.param(None, LLAMA, usage(630, 12, None, 3, LLAMA), id="llama-timings"),
        pytest.param(
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 8}},
            LLAMA,
            usage(9, 12, None, 8, LLAMA),
            id="usage-before-timings",
        ),
        pytest.param(
            None, {"prompt_n": 5}, usage(timings={"prompt_n": 5}), id="old-llama-prompt"
        ),
        pytest.param(
            {"prompt_tokens": "9", "completion_tokens": -1, "reasoning_tokens": True},
            {"a": None, "b": "c", "d": 1},
            usage(timings={"d": 1}),
            id="odd-values",
        ),
        pytest.param(None, None, None, id="nothing"),
        pytest.param({}, {}, None, id="empty"),
        pytest.param("9", [1], None, id="odd-shapes"),
    ],
)
def test_counts_are_read_from_every_form(told, clock, expected):
    assert read_usage(told, clock, final=True) == expected
