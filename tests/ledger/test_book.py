"""The book as a whole: harness breaks, inference, estimates, resends, garbage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trackside.ledger.book as book_module
from ledger.story import HEAD_TOKENS, Story, broken_at
from trackside.ledger.book import Book
from trackside.ledger.clocks import Clocks
from trackside.ledger.turn import turn_record


def test_a_harness_break_is_proven_where_the_engine_reused_up_to_it() -> None:
    story = Story()
    story.healthy("a1", 5)
    size = story.thread("a1").tokens
    judged = story.turn("a1", 500, broken=broken_at(500, "volatile_stamp", "clock"))
    verdict = judged.verdict
    assert (verdict.fault, verdict.cause, verdict.sub) == (
        "harness",
        "volatile_stamp",
        "clock",
    )
    assert verdict.confidence == "proven"
    assert verdict.lost == {"harness": size - 500}
    assert judged.lost_s == pytest.approx((size - 500) * 1e-3)


def test_a_break_in_the_last_few_tokens_costs_too_little_to_be_a_fault() -> None:
    story = Story()
    story.healthy("a1", 5)
    size = story.thread("a1").tokens
    row = broken_at(size - 20, "history_edited", "whitespace")
    assert story.turn("a1", size - 20, broken=row).verdict.fault == "healthy"


def test_two_losses_are_split_between_harness_and_engine() -> None:
    story = Story("vllm")
    story.healthy("a1", 5)
    size = story.thread("a1").tokens
    row = broken_at(size - 1000, "history_edited", "text")
    story.turn("a1", size - 1000, broken=row)
    size = story.thread("a1").tokens
    row = broken_at(size - 700, "history_edited", "text")
    judged = story.turn("a1", size - 1000, broken=row)
    assert judged.verdict.fault == "harness"
    assert judged.verdict.lost["harness"] == 700
    assert sum(judged.verdict.lost.values()) == 1000


def test_what_an_engine_takes_no_notice_of_is_learnt_and_unlearnt() -> None:
    story = Story()
    story.healthy("a1", 3)
    nonce = broken_at(20, "volatile_stamp", "nonce")
    for _ in range(2):
        judged = story.turn("a1", story.thread("a1").tokens, broken=nonce)
        assert judged.verdict.fault == "healthy"
    blind = story.turn("a1", None, broken=nonce, in_flight=2, told=False)
    assert blind.verdict.fault == "none"
    judged = story.turn("a1", 20, broken=nonce)
    assert (judged.verdict.fault, judged.verdict.cause) == ("harness", "volatile_stamp")


def test_wire_only_differences_are_no_break() -> None:
    story = Story()
    story.healthy("a1", 3)
    row = {**broken_at(0, "wire_only", "ids"), "side": "benign"}
    judged = story.turn("a1", story.thread("a1").tokens, wire=row)
    assert judged.verdict.fault == "healthy"


def test_the_clock_tells_a_miss_where_the_engine_tells_nothing() -> None:
    story = Story("lmstudio")
    for name in ("a1", "b1", "c1"):
        story.turn(name, None, told=False, ttft_s=1.1, head=name)
    hit = story.turn("a1", None, told=False, ttft_s=0.2)
    assert (hit.state, hit.source, hit.verdict.fault) == ("hit", "inferred", "healthy")
    story.now += 10
    miss = story.turn("a1", None, told=False, ttft_s=1.5)
    assert (miss.state, miss.source) == ("miss", "inferred")
    assert miss.verdict.fault == "engine" or miss.verdict.fault == "unexplained"
    assert "by the clock" in miss.text


def test_a_queue_is_no_miss() -> None:
    story = Story("lmstudio")
    for name in ("a1", "b1", "c1"):
        story.turn(name, None, told=False, ttft_s=1.1, head=name)
    judged = story.turn("a1", None, told=False, ttft_s=9.0, in_flight=3)
    assert judged.state == "unknown"
    assert judged.verdict.cause == "ledger_missing"


def test_estimates_calibrate_and_state_their_error() -> None:
    story = Story()
    first = story.turn("a1", 0, prompt=2640)
    truth = story.thread("a1").tokens
    assert (first.estimate_source, first.estimate_tokens) == ("bytes", truth)
    assert first.estimate_error is None
    for name in ("b1", "c1", "d1"):
        judged = story.turn(name, 0, prompt=2640, head=name)
    assert judged.estimate_source == "calibrated"
    assert judged.estimate_tokens == pytest.approx(2640, rel=0.01)
    assert judged.estimate_error == pytest.approx(0.0, abs=0.3)


@pytest.mark.parametrize("note", ["chained_by_id", "server_held_history"])
def test_prompts_that_no_request_shows_whole_teach_no_sizes(note: str) -> None:
    story = Story()
    for number in range(3):
        story.turn(f"a{number}", 0, prompt=90_000, notes=(note,))
    judged = story.turn("b1", 0)
    assert judged.estimate_source == "bytes"
    assert judged.estimate_tokens == story.thread("b1").tokens


def test_the_error_of_estimates_is_that_of_their_time() -> None:
    story = Story()
    story.turn("a1", 0, prompt=2640)
    judged = story.turn("b1", 0, prompt=2640, head="t")
    assert judged.estimate_error == pytest.approx(1 - 1100 / 2640, abs=0.01)


def test_null_is_unknown_and_zero_is_zero() -> None:
    story = Story()
    assert story.turn("a1", 0).state == "cold"
    assert story.turn("b1", None, prompt=900).state == "unknown"


def test_an_identical_request_behind_an_abandoned_one_is_a_resend() -> None:
    story = Story("vllm")
    story.healthy("a1", 2)
    left = ("client", "before_first_token")
    story.turn("a1", None, end=left, ttft_s=299.0, told=False)
    again = story.turn("a1", 0, adds=(), gap_s=0.5)
    assert (again.verdict.fault, again.verdict.cause) == ("none", "resend")
    assert again.burnt_s == pytest.approx(300.0)
    assert turn_record(again)["resend"] == {"burnt_s": again.burnt_s}


def test_an_identical_request_beside_a_running_one_is_a_resend() -> None:
    story = Story("vllm")
    digest = 77
    assert story.book.begin("http://engine", "x", 100.0, digest) == 0
    assert story.book.begin("http://engine", "y", 130.0, digest) == 1
    assert story.book.begin("http://elsewhere", "z", 130.0, digest) == 0


def test_a_warm_cache_without_a_known_relative_is_not_called_cold() -> None:
    story = Story()
    story.turn("a1", 0)
    assert story.turn("b1", HEAD_TOKENS).state == "partial"


def test_unknown_predecessors_are_not_judged() -> None:
    story = Story()
    story.thread("a1").flow = "from before the proxy started"
    judged = story.turn("a1", 0)
    assert judged.verdict.fault == "none"
    assert "not seen" in judged.text


def test_a_failed_request_in_between_is_looked_through() -> None:
    story = Story()
    story.healthy("a1", 3)
    story.turn(
        "a1",
        None,
        told=False,
        end=("error", "before_first_token"),
        status=503,
        error="503",
    )
    size = story.thread("a1").tokens - 200
    judged = story.turn("a1", size, adds=())
    assert (judged.verdict.fault, judged.reusable) == ("healthy", size)


counts = st.none() | st.integers(0, 10**7)
turns = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a1", "b1", "c1"]),
        "cached": counts,
        "prompt": counts,
        "completion": counts,
        "gap_s": st.floats(0, 5000),
        "ttft_s": st.floats(0, 1000),
        "in_flight": st.integers(0, 2),
        "role": st.sampled_from([None, "main", "retry", "branch", "side", "first"]),
        "broken": st.none() | st.builds(broken_at, st.integers(0, 10**6), st.just("x")),
        "end": st.sampled_from(
            [
                ("engine", "complete"),
                ("client", "before_first_token"),
                ("client", "tool_call"),
                ("error", "before_first_token"),
                ("guard", "complete"),
            ]
        ),
        "clocks": st.builds(
            Clocks, st.none() | st.floats(0, 1e6), load_s=st.none() | st.floats(0, 1e6)
        ),
    }
)


@settings(max_examples=40, deadline=None)
@given(st.lists(turns, max_size=14))
def test_nothing_an_engine_may_say_breaks_the_book(
    told: list[dict[str, object]],
) -> None:
    story = Story("vllm")
    for one in told:
        judged = story.turn(**one)  # type: ignore[arg-type]
        record = turn_record(judged)
        assert record["verdict"]["lost_tokens"] >= 0
        assert all(tokens >= 0 for tokens in record["verdict"]["lost"].values())
        assert record["verdict"]["text"]


def test_long_prompts_are_remembered_for_less_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(book_module, "KEPT_UNITS", 40)
    story = Story()
    for _ in range(30):
        story.healthy("a1", 1)
        assert story.book._units == sum(
            len(past.facts.outline.units) for past in story.book._flows.values()
        )
        assert story.book._units <= 40
    assert story.healthy("a1", 1).verdict.cause is None  # too long to be kept


def test_a_turn_that_phase_2_goes_on_with_is_no_more_in_flight() -> None:
    book = Book()
    assert book.begin("u", "phase 1", 1.0, 0) == 0
    assert book.begin("u", "other", 2.0, 0) == 1
    assert book.begin("u", "phase 2", 3.0, 0, continues="phase 1") == 1
    assert book.begin("u", "late", 4.0, 0) == 2
    assert book.begin("v", "elsewhere", 4.0, 0, continues="late") == 0


def test_a_turn_that_could_not_be_accounted_does_not_run_for_ever() -> None:
    book = Book()
    book.begin("u", "broken", 1.0, 0)
    book.drop("u", "broken")
    book.drop("v", "unknown")
    assert book.begin("u", "next", 2.0, 0) == 0
