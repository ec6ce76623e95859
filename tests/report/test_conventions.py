"""Names and values of what is exported, without any SDK."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.story import Story, broken_at
from trackside.ledger.facts import Guarded
from trackside.ledger.turn import turn_record
from trackside.report.conventions import (
    INSTRUMENTS,
    measures,
    span_attributes,
    span_name,
)


def values(record: dict[str, Any], name: str) -> list[tuple[float, dict[str, Any]]]:
    return [(m.value, m.attributes) for m in measures(record) if m.name == name]


@pytest.fixture
def broken() -> dict[str, Any]:
    story = Story("vllm")
    story.healthy("a1", 5)
    row = broken_at(100, "volatile_stamp", "clock")
    return turn_record(story.turn("a1", 100, broken=row))


def test_every_metric_is_a_convention_or_has_our_prefix() -> None:
    for name in INSTRUMENTS:
        assert name.startswith(("gen_ai.client.", "gen_ai.server.", "trackside."))


def test_what_a_turn_measures(broken: dict[str, Any]) -> None:
    usage = values(broken, "gen_ai.client.token.usage")
    assert [(value, told["gen_ai.token.type"]) for value, told in usage] == [
        (broken["usage"]["prompt"], "input"),
        (broken["usage"]["completion"], "output"),
    ]
    ((ttft, told),) = values(broken, "gen_ai.server.time_to_first_token")
    assert ttft == broken["ttft_s"]
    assert told == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "vllm",
        "gen_ai.request.model": "m",
        "gen_ai.agent.name": "agent",
        "server.address": "engine",
    }
    ((lost, told),) = values(broken, "trackside.refill.tokens")
    assert lost == broken["verdict"]["lost_tokens"] > 0
    assert (told["trackside.fault"], told["trackside.cause"]) == (
        "harness",
        "volatile_stamp",
    )


def test_metrics_carry_nothing_that_grows_with_use(broken: dict[str, Any]) -> None:
    record = {**broken, "session": "s-1"}
    for measure in measures(record):
        assert "s-1" not in measure.attributes.values()
        assert record["flow"] not in measure.attributes.values()
        assert record["thread"] not in measure.attributes.values()


def test_what_is_not_told_is_not_exported() -> None:
    record = turn_record(Story(None).turn("a1", None, told=False, in_flight=1))
    names = {measure.name for measure in measures(record)}
    assert "gen_ai.client.token.usage" not in names
    assert "trackside.prompt.tokens" not in names
    assert not any(name.startswith("gen_ai.usage") for name in span_attributes(record))


def test_phase_2_adds_a_span_and_no_second_turn() -> None:
    record = turn_record(Story().turn("a1", 0, guard=Guarded(2, "one")))
    assert list(measures(record)) == []
    assert span_attributes(record)["trackside.guard.phase"] == 2
    assert span_name(record) == "chat m"


@pytest.mark.parametrize(
    ("end", "status", "error"),
    [
        (("engine", "complete"), 200, None),
        (("client", "content"), 200, "client_disconnected"),
        (("error", "before_first_token"), 503, "503"),
        (("error", "reasoning"), 200, "engine_failed"),
    ],
)
def test_errors_have_a_short_class(end: Any, status: int, error: str | None) -> None:
    record = turn_record(Story().turn("a1", 0, end=end, status=status))
    assert span_attributes(record).get("error.type") == error
