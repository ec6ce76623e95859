"""Whatever comes is placed and told, or refused with a reason: nothing else."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from prefix.conversations import WRITERS, answered, conversation
from trackside.prefix.arrival import Arrival
from trackside.prefix.dialects import DIALECTS
from trackside.prefix.diffing import Differ
from trackside.prefix.hints import Hints
from trackside.prefix.sentence import log_line
from trackside.prefix.spans import BodyError

ODD: list[Any] = [
    *(None, True, -1, 1.5, 10**30, "", "word " * 9, [], [[]], {}),
    *({"type": "text"}, {"type": ["x"]}, {"role": {}}, {"type": "tool_result"}),
]
NAMES = ["id", "type", "role", "content", "text", "", "reasoning", "tool_calls"]


def spoil(rng: random.Random, value: Any) -> Any:
    """Return a value with some of its parts replaced, lost, moved or put in."""
    if rng.random() < 0.04:
        return rng.choice(ODD)
    if isinstance(value, dict):
        spoilt = {name: spoil(rng, inner) for name, inner in value.items()}
        if rng.random() < 0.04:
            spoilt[rng.choice(NAMES)] = rng.choice(ODD)
        return spoilt
    if isinstance(value, list):
        spoilt_list = [spoil(rng, inner) for inner in value]
        if rng.random() < 0.04:
            rng.shuffle(spoilt_list)
        return spoilt_list
    return value


def hostile(rng: random.Random, raw: bytes) -> bytes:
    dice = rng.random()
    if dice < 0.6:
        told = {name: spoil(rng, value) for name, value in json.loads(raw).items()}
        return json.dumps(told).encode()
    if dice < 0.8:
        at = rng.randrange(len(raw))
        return raw[:at] + bytes([rng.randrange(256)]) + raw[at + 1 :]
    return raw[: rng.randrange(len(raw))]


def check(record: dict[str, Any], size_bytes: int) -> None:
    json.dumps(record)
    assert log_line(record)
    effective = record["effective"]
    for row in record["breaks"]:
        assert 0 <= row["raw_offset"] <= size_bytes
        assert row["lost_bytes"] >= 0
    if record["previous"] and effective["shared_bytes"] is not None:
        assert 0 <= effective["shared_bytes"] <= effective["previous_bytes"]


@pytest.mark.parametrize("dialect", WRITERS)
@pytest.mark.parametrize("memory_bytes", [1, 1 << 30], ids=["no-memory", "memory"])
def test_spoilt_requests_are_told_or_refused(dialect: str, memory_bytes: int) -> None:
    rng = random.Random(f"{dialect}{memory_bytes}")
    told = refused = 0
    for _ in range(8):
        differ, talk = Differ(memory_bytes, excerpts=True), conversation(dialect)
        for number in range(6):
            raw = talk.body()
            if number % 2:
                raw = hostile(rng, raw)
            kind = DIALECTS[dialect]
            arrival = Arrival(str(number), raw, kind, "k", Hints(), float(number))
            try:
                outcome = differ.diff_quickly(arrival) or differ.diff(arrival)
            except BodyError:
                refused += 1
            else:
                check(outcome.record, len(raw))
                told += 1
            talk = answered(talk)
    assert told > refused > 0


def test_ids_of_responses_may_be_anything() -> None:
    rng = random.Random(5)
    ids: list[Any] = ["r0", "r1", "x", "", None, 7, [], "\ud83d", "same"]
    chained = 0
    for memory_bytes in (1, 20_000, 1 << 30):
        differ, talk = Differ(memory_bytes), conversation("responses")
        for number in range(60):
            told = json.loads(talk.body())
            told["previous_response_id"] = rng.choice([*ids, f"r{number - 1}"])
            told["input"] = rng.choice([told["input"], told["input"][-2:], "Hm.", []])
            for name in ("tools", "instructions"):
                if rng.random() < 0.2:
                    del told[name]
            raw = json.dumps(told).encode()
            kind = DIALECTS["responses"]
            arrival = Arrival(str(number), raw, kind, "k", Hints(), float(number))
            outcome = differ.diff_quickly(arrival) or differ.diff(arrival)
            check(outcome.record, len(raw))
            assert outcome.record["messages"]["appended"] >= 0
            chained += "chained_by_id" in outcome.record["notes"]
            differ.answered(str(number), rng.choice([f"r{number}", "same"]))
            ended = {"has_failed": rng.random() < 0.2, "is_abandoned": False}
            differ.finish(str(number), number + 0.5, **ended)
    assert chained > 10
