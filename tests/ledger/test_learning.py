"""What is learnt of sizes, speeds and blocks, and what is made of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.ledger.cache import state_of, tolerance
from trackside.ledger.calibration import BLOCK_TOKENS, Calibration
from trackside.ledger.clocks import Clocks, read_clocks
from trackside.ledger.facts import End, Facts
from trackside.ledger.knots import MOST, Knots
from trackside.ledger.spread import Spread

sizes = st.integers(1, 10**7)


@given(st.lists(st.tuples(sizes, sizes), max_size=60), st.lists(sizes, min_size=2))
def test_knots_rise_whatever_is_told(
    told: list[tuple[int, int]], at: list[int]
) -> None:
    knots = Knots()
    for size_bytes, tokens in told:
        knots.add(size_bytes, tokens)
        assert knots.tokens(size_bytes, 0.25) == tokens  # the newest count is right
    found = [knots.tokens(size, 0.25) for size in sorted(at)]
    assert found == sorted(found)
    assert min(found) >= 0


def test_knots_are_bounded_and_keep_the_newest() -> None:
    knots = Knots()
    for number in range(1, 5000):
        knots.add(number * 100, number * 25)
    assert len(knots._bytes) <= MOST
    assert knots.tokens(4990 * 100, 1.0) == 4990 * 25
    assert knots.tokens(150, 1.0) == pytest.approx(37, abs=2)


def test_a_model_is_known_by_its_own_counts() -> None:
    model = Calibration("vllm")
    assert (model.tokens_per_byte, model.error, model.block) == (0.25, None, 16)
    for _ in range(5):
        model.learn_size(1000, 600, 250)
    assert model.tokens_per_byte == 0.6
    assert model.error == pytest.approx(350 / 600)
    for cached in (512, 1536, 4608):
        model.learn_cached(cached)
    assert model.block == 512
    model.learn_cached(0)  # a miss says nothing of the block
    assert model.block == 512


def test_the_prefill_is_clocked_by_the_median_of_long_ones() -> None:
    model = Calibration(None)
    for seconds in (1.0, 1.1, 50.0, 0.9, 1.0):
        model.learn_prefill(1000, seconds)
    model.learn_prefill(10, 3.0)  # mostly overhead
    assert model.prefill_s_per_token == pytest.approx(1e-3)
    assert model.infer_cached(2000, 0.5) == 1500
    assert model.infer_cached(2000, 9.0) == 0
    assert model.infer_cached(20, 0.1) is None


def test_nothing_is_inferred_before_the_speed_is_known() -> None:
    model = Calibration(None)
    model.learn_prefill(1000, 1.0)
    assert model.infer_cached(2000, 0.5) is None


@pytest.mark.parametrize(
    ("cached", "reusable", "state"),
    [
        (None, 5000, "unknown"),
        (0, None, "cold"),
        (4000, None, "partial"),
        (5000, 5000, "hit"),
        (4900, 5000, "hit"),
        (2500, 5000, "partial"),
        (100, 5000, "miss"),
        (0, 5000, "miss"),
        (0, 10, "hit"),  # too short for a miss to matter
    ],
)
def test_states(cached: int | None, reusable: int | None, state: str) -> None:
    tol = tolerance(reusable or 0, 1, is_told=True)
    told = state_of(cached=cached, reusable=reusable, tol=tol, block=1)
    assert told == state


def test_blocks_are_no_misses() -> None:
    block = BLOCK_TOKENS["omlx"]
    tol = tolerance(6000, block, is_told=True)
    assert state_of(cached=4096, reusable=6000, tol=tol, block=block) == "hit"


@pytest.mark.parametrize(
    ("timings", "nanoseconds", "expected"),
    [
        pytest.param(
            {"prompt_ms": 1500.0, "predicted_per_second": 30.0},
            False,
            (1.5, None, None, 30.0),
            id="llama.cpp",
        ),
        pytest.param(
            {"time_to_first_token_ms": 250.0, "queue_time_ms": 50.0},
            False,
            (None, 0.25, None, None),
            id="vllm",
        ),
        pytest.param(
            {
                "prompt_eval_duration": 2.5,
                "time_to_first_token": 3.0,
                "model_load_duration": 7.0,
                "generation_tokens_per_second": 21.0,
            },
            False,
            (2.5, 3.0, 7.0, 21.0),
            id="omlx",
        ),
        pytest.param(
            {"prompt_eval_duration": 2_500_000_000, "load_duration": 4_000_000},
            True,
            (2.5, None, 0.004, None),
            id="ollama",
        ),
        pytest.param(
            {
                "time_to_first_token_seconds": 0.4,
                "model_load_time_seconds": 9.0,
                "tokens_per_second": 40.0,
            },
            False,
            (None, 0.4, 9.0, 40.0),
            id="lmstudio",
        ),
        pytest.param(None, False, (None, None, None, None), id="nothing"),
    ],
)
def test_engines_clocks(
    timings: dict[str, float] | None,
    nanoseconds: bool,
    expected: tuple[float | None, ...],
) -> None:
    clocks = read_clocks(timings, nanoseconds=nanoseconds)
    told = (
        clocks.prefill_s,
        clocks.first_token_s,
        clocks.load_s,
        clocks.tokens_per_s,
    )
    assert told == expected


@given(st.lists(st.floats(0, 1e5), min_size=1), st.floats(1, 100))
def test_percentiles_are_close_to_the_true_ones(
    values: list[float], percent: float
) -> None:
    spread = Spread()
    for value in values:
        spread.add(value)
    rank = max(-(-len(values) * percent // 100), 1)
    true = max(sorted(values)[int(rank) - 1], 1e-4)
    found = spread.percentile(percent)
    assert found is not None
    assert true / 1.06 <= found <= true * 1.06


@pytest.mark.parametrize(
    ("clocks", "ttft_s", "in_flight", "prefill_s"),
    [
        pytest.param(Clocks(prefill_s=1.0), 9.0, 3, 1.0, id="the engine's word"),
        pytest.param(
            Clocks(first_token_s=4.0, queue_s=1.5), 9.0, 3, 2.5, id="without its queue"
        ),
        pytest.param(
            Clocks(load_s=7.0), 9.0, 0, 2.0, id="by our clock, without a load"
        ),
        pytest.param(Clocks(), 9.0, 1, None, id="not by our clock beside others"),
        pytest.param(Clocks(), None, 0, None, id="nobody saw it"),
    ],
)
def test_how_long_a_prefill_took(
    clocks: Clocks, ttft_s: float | None, in_flight: int, prefill_s: float | None
) -> None:
    facts = Facts(
        flow="f",
        upstream="u",
        api="chat",
        started_at=0.0,
        duration_s=9.0,
        ttft_s=ttft_s,
        in_flight=in_flight,
        clocks=clocks,
        end=End("engine", "complete"),
    )
    assert facts.prefill_s == prefill_s
