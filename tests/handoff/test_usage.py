import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trackside.handoff.usage import Counts, merge, merged_timings, merged_usage
from trackside.wire.pieces import Usage


@pytest.mark.parametrize(
    ("before", "usage", "after"),
    [
        pytest.param(
            Counts(), (9, 2, 1, 0), Counts(9, 2, 1, 0), id="all of it, zero too"
        ),
        pytest.param(
            Counts(9, 2, 1, 4), (None, 3, None, None), Counts(9, 3, 1, 4), id="running"
        ),
        pytest.param(Counts(9), (None,) * 4, Counts(9), id="nothing"),
    ],
)
def test_what_is_not_told_stays(before, usage, after):
    assert before.updated(Usage(*usage, None, final=False)) == after


@pytest.mark.parametrize(
    ("phase1", "phase2", "merged"),
    [
        pytest.param(
            Counts(10, 300, 300, 5),
            Counts(315, 20, 20, 310),
            Counts(10, 320, 300, 5),
            id="both told",
        ),
        pytest.param(
            Counts(10, 300), Counts(315), Counts(10, None), id="answer not told"
        ),
        pytest.param(
            Counts(10), Counts(315, 20), Counts(10, None), id="reasoning not told"
        ),
        pytest.param(
            Counts(None, 300, 300), Counts(315, 0), Counts(None, 300, 300), id="zero"
        ),
    ],
)
def test_the_client_pays_for_one_prompt_and_both_completions(phase1, phase2, merged):
    assert merge(phase1, phase2) == merged


@pytest.mark.parametrize(
    ("told", "counts", "usage"),
    [
        pytest.param(
            {
                "completion_tokens": 20,
                "prompt_tokens": 315,
                "total_tokens": 335,
                "prompt_tokens_details": {"cached_tokens": 310},
            },
            Counts(10, 320, 300, 4),
            {
                "completion_tokens": 320,
                "prompt_tokens": 10,
                "total_tokens": 330,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 300},
            },
            id="llama.cpp",
        ),
        pytest.param(
            {
                "prompt_tokens": 315,
                "completion_tokens": 20,
                "prompt_tokens_details": {
                    "cached_tokens": 288,
                    "created_cache_tokens": 27,
                    "multimodal_tokens": 3,
                },
                "completion_tokens_details": {"reasoning_tokens": 0, "x": 1},
            },
            Counts(10, 320, 300, None),
            {
                "prompt_tokens": 10,
                "completion_tokens": 320,
                "total_tokens": 330,
                "prompt_tokens_details": {"multimodal_tokens": 3},
                "completion_tokens_details": {"reasoning_tokens": 300, "x": 1},
            },
            id="vllm, whose aborted stream tells no hit",
        ),
        pytest.param(
            {"prompt_tokens": 315, "completion_tokens": 20, "reasoning_tokens": 20},
            Counts(10, 320, 300),
            {
                "prompt_tokens": 10,
                "completion_tokens": 320,
                "reasoning_tokens": 300,
                "total_tokens": 330,
                "completion_tokens_details": {"reasoning_tokens": 300},
            },
            id="sglang",
        ),
        pytest.param(
            {
                "prompt_tokens": 315,
                "completion_tokens": 20,
                "prompt_cache_hit_tokens": 310,
                "prompt_cache_miss_tokens": 5,
            },
            Counts(10, 320, None, 4),
            {
                "prompt_tokens": 10,
                "completion_tokens": 320,
                "total_tokens": 330,
                "prompt_tokens_details": {"cached_tokens": 4},
                "prompt_cache_hit_tokens": 4,
                "prompt_cache_miss_tokens": 6,
            },
            id="deepseek",
        ),
        pytest.param(
            {"prompt_tokens": 315, "completion_tokens": 20, "cached_tokens": 310},
            Counts(10, 320, None, 4),
            {
                "prompt_tokens": 10,
                "completion_tokens": 320,
                "total_tokens": 330,
                "cached_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 4},
            },
            id="older omlx",
        ),
        pytest.param(
            {"prompt_tokens": 315, "completion_tokens": 20, "total_time": 0.5},
            Counts(),
            {
                "prompt_tokens": 315,
                "completion_tokens": 20,
                "total_tokens": 335,
                "total_time": 0.5,
            },
            id="nothing known of phase 1",
        ),
        pytest.param(
            {},
            Counts(10, 0),
            {"prompt_tokens": 10, "completion_tokens": 0, "total_tokens": 10},
            id="nothing known of phase 2",
        ),
        pytest.param(
            {
                "prompt_tokens": "many",
                "prompt_tokens_details": 5,
                "completion_tokens_details": [1],
            },
            Counts(None, None, 7, 3),
            {
                "prompt_tokens": "many",
                "completion_tokens": None,
                "prompt_tokens_details": {"cached_tokens": 3},
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            id="odd",
        ),
    ],
)
def test_a_usage_object_keeps_its_shape(told, counts, usage):
    before = json.dumps(told)
    assert merged_usage(told, counts) == usage
    assert json.dumps(told) == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)
NUMBERS = st.integers(0, 2**40) | st.floats(0, 1e12)
NAMES = st.sampled_from(
    [
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details",
        "completion_tokens_details",
        "prompt_cache_hit_tokens",
        "cached_tokens",
        "reasoning_tokens",
        "predicted_n",
        "predicted_ms",
        "draft_n",
        "cache_n",
    ]
)
COUNT = st.none() | st.integers(0, 10**6)


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(NAMES, JSON, max_size=6),
    st.builds(Counts, COUNT, COUNT, COUNT, COUNT),
    st.none() | st.dictionaries(NAMES, NUMBERS, max_size=4),
)
def test_nothing_an_engine_tells_breaks_the_sums(told, counts, phase1):
    assert msgspec.json.encode(merged_usage(told, counts))
    assert msgspec.json.encode(merged_timings(phase1, told))


@pytest.mark.parametrize(
    ("phase1", "phase2", "merged"),
    [
        pytest.param(
            {"cache_n": 0, "prompt_n": 9, "predicted_n": 30, "predicted_ms": 500},
            {"cache_n": 38, "prompt_n": 3, "predicted_n": 10, "predicted_ms": 300},
            {
                "cache_n": 0,
                "prompt_n": 9,
                "predicted_n": 40,
                "predicted_ms": 800,
                "predicted_per_token_ms": 20.0,
                "predicted_per_second": 50.0,
            },
            id="both",
        ),
        pytest.param(
            None, {"prompt_n": 3, "x": "y"}, {"prompt_n": 3}, id="phase 2 alone"
        ),
        pytest.param(
            {"draft_n": 5, "draft_n_accepted": 3},
            {"draft_n": 2},
            {"draft_n": 7, "draft_n_accepted": 3},
            id="drafts",
        ),
        pytest.param(
            {"predicted_n": 1, "predicted_ms": 0},
            {"predicted_n": 10**400},
            {"predicted_n": 1, "predicted_ms": 0},
            id="no measurement",
        ),
    ],
)
def test_timings_tell_phase_1s_prompt_and_all_that_was_predicted(
    phase1, phase2, merged
):
    assert merged_timings(phase1, phase2) == merged
