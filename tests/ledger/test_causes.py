"""Each cause of a refill, from a sequence of turns that shows it."""

from __future__ import annotations

import pytest

from ledger.story import HEAD_TOKENS, Story, broken_at
from trackside.ledger.clocks import Clocks
from trackside.ledger.facts import Guarded
from trackside.ledger.turn import Judged


def told(judged: Judged) -> tuple[str, str | None, str | None]:
    verdict = judged.verdict
    return verdict.fault, verdict.cause, verdict.confidence


def test_an_append_only_run_is_healthy() -> None:
    story = Story()
    assert told(story.turn("a1", 0)) == ("none", "first_request", None)
    for _ in range(6):
        judged = story.turn("a1", story.thread("a1").tokens)
        assert told(judged) == ("healthy", None, None)
        assert judged.state == "hit"
        assert judged.lost_s in (None, 0)


def test_a_turn_too_soon_behind_the_last_is_a_race_and_hindsight_confirms_it() -> None:
    story = Story("omlx")
    story.turn("a1", 0, adds=(("user", 9000),))
    stored = story.thread("a1").tokens
    longer = (("assistant", 3000), ("user", 9))
    story.turn("a1", stored, gap_s=5.2, adds=longer)
    race = story.turn("a1", stored, gap_s=0.61)
    assert told(race) == ("engine", "publish_race", "likely")
    assert race.text.endswith(
        "engine, publish_race, likely: 0.61 s after the previous turn ended;"
        " a turn after 5.2 s hit"
    )
    story.turn("a1", story.thread("a1").tokens, gap_s=5.2)
    assert told(story.revised[-1]) == ("engine", "publish_race", "proven")
    assert "a later turn after 5.2 s hit" in story.revised[-1].text


def test_a_race_is_not_believed_where_sooner_turns_hit() -> None:
    story = Story()
    story.healthy("a1", 4, gap_s=0.1)
    floor = story.thread("a1").tokens
    story.turn("a1", floor, gap_s=0.1, adds=(("assistant", 900), ("user", 9)))
    assert story.turn("a1", floor, gap_s=0.61).verdict.cause != "publish_race"


@pytest.mark.parametrize(
    ("engine", "gap_s", "keep_alive_s", "clocks", "confidence"),
    [
        pytest.param("ollama", 400, None, None, "likely", id="the engine's default"),
        pytest.param("vllm", 90, 60.0, None, "likely", id="told by the request before"),
        pytest.param("vllm", 900, None, None, "possible", id="not known"),
        pytest.param(
            "ollama",
            400,
            None,
            Clocks(load_s=4.2),
            "proven",
            id="and it says that it loaded the model",
        ),
    ],
)
def test_a_long_pause_lets_the_cache_expire(
    engine: str,
    gap_s: float,
    keep_alive_s: float | None,
    clocks: Clocks | None,
    confidence: str,
) -> None:
    story = Story(engine)
    story.healthy("a1", keep_alive_s=keep_alive_s)
    judged = story.turn("a1", 0, gap_s=gap_s, clocks=clocks)
    assert told(judged) == ("engine", "idle_expiry", confidence)


def test_an_engine_that_unloads_soon_is_learnt() -> None:
    story = Story()
    story.healthy("a1")
    waited = Clocks(prefill_s=0.5)
    judged = story.turn("a1", 0, gap_s=12, ttft_s=1.4, clocks=waited)
    assert told(judged) == ("engine", "idle_expiry", "likely")
    story.healthy("a1")
    judged = story.turn("a1", 0, gap_s=14)
    assert told(judged) == ("engine", "idle_expiry", "likely")


def test_a_restart_makes_every_thread_cold_once() -> None:
    story = Story("vllm")
    story.healthy("a1")
    story.healthy("b1", head="t")
    story.turn("a1", story.thread("a1").tokens)
    story.turn("b1", story.thread("b1").tokens)
    first = story.turn("b1", 0)
    assert told(first) == ("engine", "engine_restart", "possible")
    second = story.turn("a1", 0, head="t")
    assert told(second) == ("engine", "engine_restart", "likely")
    assert told(story.revised[-1]) == ("engine", "engine_restart", "likely")
    assert "thread a1 was cold as well" in story.revised[-1].text
    assert told(story.turn("a1", story.thread("a1").tokens))[0] == "healthy"


def restart(story: Story, names: str, *, heads: str = "") -> list[Judged]:
    """Let threads hit, the engine be started anew, and each be cold once."""
    for name, head in zip(names, heads or names, strict=True):
        story.healthy(name, 2, head=head)
    for _ in range(2):
        for name in names:
            story.turn(name, story.thread(name).tokens)
    return [story.turn(name, 0) for name in names]


def last_word(story: Story, judged: Judged) -> tuple[str, str | None, str | None]:
    """Return what is said of a turn by now."""
    flow = judged.facts.flow
    return told([judged, *(r for r in story.revised if r.facts.flow == flow)][-1])


PROVEN = ("engine", "engine_restart", "proven")


def test_a_third_cold_thread_proves_a_restart() -> None:
    story = Story("vllm")
    *first, last = restart(story, "abc")
    assert told(last) == PROVEN
    assert "threads a, b were cold as well" in last.text
    assert [last_word(story, one) for one in first] == [PROVEN, PROVEN]


def test_two_threads_that_were_cold_once_and_healed_prove_a_restart() -> None:
    story = Story("vllm")
    one, two = restart(story, "ab")
    assert last_word(story, one) == ("engine", "engine_restart", "likely")
    story.turn("a", story.thread("a").tokens)
    assert last_word(story, one) == ("engine", "engine_restart", "likely")
    story.turn("b", story.thread("b").tokens)
    assert last_word(story, one) == last_word(story, two) == PROVEN
    assert "cold once and hit again" in story.revised[-1].text
    said = len(story.revised)
    story.turn("b", story.thread("b").tokens)
    assert len(story.revised) == said  # nothing is said twice


def test_a_thread_that_still_hits_speaks_against_a_restart() -> None:
    story = Story("vllm")
    story.healthy("c", 3)
    one = restart(story, "ab")[0]
    story.turn("c", story.thread("c").tokens)
    assert last_word(story, one) == ("engine", "engine_restart", "possible")
    assert "but thread c still hit" in story.revised[-1].text
    story.turn("a", story.thread("a").tokens)
    story.turn("b", story.thread("b").tokens)
    assert last_word(story, one) == ("engine", "engine_restart", "possible")


def test_a_cold_thread_of_another_engine_says_nothing_of_this_one() -> None:
    story = Story("vllm")
    one = restart(story, "a")[0]
    story.healthy("b", 3, upstream="http://other")
    story.turn("b", 0, upstream="http://other")
    assert last_word(story, one) == ("engine", "engine_restart", "possible")


def test_what_the_first_thread_brought_back_hides_no_restart() -> None:
    story = Story()
    one = restart(story, "a", heads="s")[0]
    assert one.verdict.cause == "engine_restart"
    story = Story()
    for _ in range(3):
        for name in "ab":
            line = story.lines.get(name)
            story.turn(name, line.tokens if line else 0)
    story.turn("a", story.thread("a").tokens)
    story.turn("b", story.thread("b").tokens)
    story.turn("b", 0)  # the engine was started anew
    judged = story.turn("a", HEAD_TOKENS)  # b has brought the head back
    assert told(judged) == ("engine", "engine_restart", "likely")
    assert judged.verdict.runner_up == "slot_takeover"


def test_an_engine_that_dies_in_the_middle_of_a_turn_was_restarted() -> None:
    story = Story("vllm")
    story.healthy("a")
    story.turn("b", 0, head="t")
    story.turn("a", story.thread("a").tokens)
    story.turn(
        "b",
        None,
        end=("error", "reasoning"),
        error="HTTP/1 protocol error: peer closed connection",
        told=False,
    )
    assert told(story.turn("a", 0)) == ("engine", "engine_restart", "likely")


def test_an_error_that_is_told_is_no_restart() -> None:
    story = Story("vllm")
    story.healthy("a")
    story.turn("b", 0, head="t")
    story.turn("a", story.thread("a").tokens)
    error = ("error", "reasoning")
    story.turn("b", None, end=error, error="invalid_request", told=False)
    judged = story.turn("a", 0)
    assert told(judged) == ("engine", "engine_restart", "possible")


def test_a_refused_connection_tells_of_a_restart() -> None:
    story = Story()
    story.healthy("a1")
    down = story.turn(
        "a1",
        None,
        end=("error", "before_first_token"),
        status=None,
        error="connection refused",
        told=False,
    )
    assert told(down) == ("none", None, None)
    assert "connection refused" in down.text
    judged = story.turn("a1", 0, adds=())
    assert told(judged) == ("engine", "engine_restart", "likely")


@pytest.mark.parametrize(
    ("clocks", "confidence"),
    [(Clocks(), "likely"), (Clocks(load_s=3.0), "proven")],
    ids=["by order", "and it was loaded"],
)
def test_another_model_in_between_unloads_this_one(
    clocks: Clocks, confidence: str
) -> None:
    story = Story("ollama")
    story.healthy("a1")
    story.turn("b1", 0, model="other")
    judged = story.turn("a1", 0, clocks=clocks)
    assert told(judged) == ("engine", "model_switch", confidence)
    assert "model other" in judged.text


def test_a_slot_is_taken_over_by_the_thread_that_is_named() -> None:
    story = Story()
    story.healthy("a1")
    story.turn("b7", HEAD_TOKENS)
    judged = story.turn("a1", HEAD_TOKENS)
    assert told(judged) == ("engine", "slot_takeover", "likely")
    assert judged.verdict.by == "b7"
    assert "thread b7" in judged.text
    story.turn("b7", HEAD_TOKENS)
    assert told(story.turn("a1", HEAD_TOKENS))[2] == "proven"


def test_a_takeover_leaves_what_both_share_and_not_more() -> None:
    story = Story()
    story.healthy("a1")
    story.turn("b7", 0, head="t")
    judged = story.turn("a1", HEAD_TOKENS + 100)
    assert judged.verdict.cause != "slot_takeover"


def test_a_crowd_evicts_what_a_smaller_one_did_not() -> None:
    story = Story("vllm")
    story.healthy("a1", 2)
    for name in ("b1", "b2"):
        story.turn(name, 0, head=name)
    story.turn("a1", story.thread("a1").tokens)
    for name in ("c1", "c2", "c3", "c4"):
        story.turn(name, 0, head=name)
    judged = story.turn("a1", HEAD_TOKENS // 2)
    assert told(judged) == ("engine", "capacity_eviction", "likely")


def test_an_engine_that_can_only_go_on_is_learnt() -> None:
    story = Story()
    story.healthy("a1", 4)
    causes = []
    for _ in range(3):
        upto = story.thread("a1").tokens - 100
        judged = story.turn("a1", 0, broken=broken_at(upto, "history_edited", "text"))
        causes.append(told(judged))
        story.healthy("a1", 2)
    assert causes == [
        ("engine", "no_partial_reuse", "possible"),
        ("engine", "no_partial_reuse", "likely"),
        ("engine", "no_partial_reuse", "proven"),
    ]
    assert judged.verdict.lost["engine"] > 10 * judged.verdict.lost["harness"]


def test_a_slot_that_others_took_says_nothing_of_partial_reuse() -> None:
    story = Story()
    story.healthy("a1", 4)
    for _ in range(4):
        story.turn("b1", 0, head="t")
        upto = story.thread("a1").tokens - 100
        row = broken_at(upto, "compacted")
        judged = story.turn("a1", 0, broken=row)
    assert told(judged) == ("engine", "slot_takeover", "proven")


@pytest.mark.parametrize("cached", [300, 1300], ids=["system-first", "tools-first"])
def test_the_ledger_tells_whether_tools_or_system_text_come_first(cached: int) -> None:
    story = Story()
    story.healthy("a1", 6)
    row = broken_at(1300, "system_changed", "env")
    row["offset_system_first"] = 4 * 300
    before = story.thread("a1").tokens
    judged = story.turn("a1", cached, broken=row)
    assert told(judged) == ("harness", "system_changed", "proven")
    assert judged.verdict.lost == {"harness": before - cached}


def test_a_prompt_that_shrinks_while_its_bytes_grow_was_cut() -> None:
    story = Story("ollama")
    story.healthy("a1")
    judged = story.turn("a1", 0, prompt=1026)
    assert told(judged) == ("engine", "prompt_truncated", "proven")
    assert "to 1026 tokens" in judged.text


def test_an_aborted_turn_was_not_stored() -> None:
    story = Story("omlx")
    story.turn("a1", 0, adds=(("user", 5000),))
    story.turn("a1", 6000, adds=(("assistant", 100), ("user", 5000)))
    stored = story.thread("a1").tokens
    story.turn(
        "a1",
        None,
        adds=(("assistant", 100), ("user", 5000)),
        end=("client", "reasoning"),
        told=False,
        ttft_s=50,
    )
    judged = story.turn("a1", stored, adds=(("user", 10),))
    assert judged.verdict.cause == "prev_aborted"
    assert judged.verdict.fault == "engine"
    assert "ended by the client at reasoning" in judged.text


def test_a_late_system_message_is_merged_into_the_head() -> None:
    story = Story()
    story.healthy("a1", 4)
    judged = story.turn(
        "a1", HEAD_TOKENS, adds=(("assistant", 50), ("system", 50), ("user", 9))
    )
    assert told(judged) == ("template", "template_rerender", "proven")
    assert judged.verdict.sub == "late_system"


def test_reasoning_vanishes_when_a_new_user_message_comes() -> None:
    story = Story()
    story.turn("a1", 0)
    boundary = story.thread("a1").tokens
    for _ in range(4):
        tools = (("assistant", 400), ("tool", 400))
        story.turn("a1", story.thread("a1").tokens, adds=tools)
    judged = story.turn("a1", boundary)
    assert told(judged) == ("template", "template_rerender", "likely")
    assert judged.verdict.sub == "reasoning_boundary"


def test_tool_calls_that_are_rewritten_miss_and_plain_text_hits() -> None:
    story = Story()
    story.healthy("a1", 3, gap_s=0.5)
    low = 300
    for _ in range(2):
        judged = story.turn("a1", low, calls_tools=True, gap_s=0.9)
        story.healthy("a1", 2, gap_s=0.5)
    assert told(judged) == ("template", "template_rerender", "likely")
    assert judged.verdict.sub == "tool_call_text"


def test_a_marker_that_only_the_generation_prompt_has_loses_every_turn() -> None:
    story = Story()
    story.turn("a1", 0)
    story.turn("a1", 40)
    for _ in range(2):
        judged = story.turn("a1", 40)
    assert told(judged) == ("template", "template_rerender", "possible")
    assert judged.verdict.sub == "generation_marker"


def test_a_cache_that_never_holds_anything_is_off() -> None:
    story = Story("vllm")
    judged = [story.turn("a1", 0) for _ in range(7)][-1]
    assert told(judged) == ("none", "cache_disabled", "likely")
    assert judged.verdict.lost == {"none": judged.expected}


def test_a_cache_that_stops_for_every_thread_is_dead() -> None:
    story = Story("vllm")
    for name in ("a1", "b1"):
        story.healthy(name, 2, head=name)
    for _ in range(3):
        story.turn("a1", 0)
        judged = story.turn("b1", 0)
    assert told(judged) == ("none", "cache_dead", "likely")


def test_another_replica_is_not_blamed() -> None:
    story = Story("vllm")
    story.healthy("a1", replica="10.0.0.1")
    judged = story.turn("a1", 0, replica="10.0.0.2")
    assert told(judged) == ("none", "replica_changed", "likely")


@pytest.mark.parametrize(
    ("role", "cause"),
    [("retry", "retry"), ("branch", "branch"), ("side", "side_call")],
)
def test_roles_that_are_never_blamed(role: str, cause: str) -> None:
    story = Story()
    story.healthy("a1")
    assert told(story.turn("a1", 0, role=role)) == ("none", cause, None)


def test_another_task_under_the_same_head_is_priced_and_not_blamed() -> None:
    story = Story()
    story.healthy("a1")
    border = broken_at(HEAD_TOKENS, "session_border")
    judged = story.turn("a1", HEAD_TOKENS, broken={**border, "side": "benign"})
    assert told(judged) == ("none", "session_border", None)


def test_a_ledger_that_the_clock_contradicts_is_not_believed() -> None:
    story = Story()
    story.healthy("a1", 1, adds=(("user", 9000),))
    for _ in range(4):
        adds = (("assistant", 900), ("user", 900))
        story.turn("a1", story.thread("a1").tokens, adds=adds)
    size = story.thread("a1").tokens
    judged = story.turn("a1", size, ttft_s=size * 1e-3)
    assert told(judged) == ("none", "ledger_contradicts_ttft", None)
    assert told(story.turn("a1", story.thread("a1").tokens))[0] == "healthy"


def test_an_engine_that_tells_nothing_is_not_blamed() -> None:
    story = Story("mlx-lm")
    story.turn("a1", None, in_flight=1)
    judged = story.turn("a1", None, in_flight=1)
    assert told(judged) == ("none", "ledger_missing", None)
    assert judged.state == "unknown"


def test_an_answer_that_was_not_kept_is_no_refill() -> None:
    story = Story()
    story.healthy("a1", 2)
    size = story.thread("a1").tokens
    story.turn("a1", size, completion=900)
    size = story.thread("a1").tokens
    judged = story.turn("a1", size, adds=(("assistant", 900), ("user", 10)))
    assert told(judged) == ("healthy", "output_not_reused", None)


def test_phase_2_is_not_judged_and_takes_no_slot_from_its_own_thread() -> None:
    story = Story()
    story.healthy("a1")
    guarded = story.turn(
        "a1",
        story.thread("a1").tokens,
        end=("guard", "complete"),
        guard=Guarded(1, "p2", tripped=True),
        max_tokens=500,
    )
    assert guarded.saved_tokens == 450
    phase2 = story.turn("p2", 0, guard=Guarded(2, guarded.facts.flow))
    assert phase2.verdict.cause is None
    judged = story.turn("a1", 10)
    assert judged.verdict.cause != "slot_takeover"


def test_what_nothing_explains_is_called_so() -> None:
    story = Story("vllm")
    story.healthy("a1", 4, gap_s=0.2)
    judged = story.turn("a1", story.thread("a1").tokens // 2, gap_s=1.0)
    assert told(judged) == ("unexplained", None, None)
