import json

import pytest

from trackside.handoff.record import (
    guard_record,
    handoff_dict,
    phase2_record,
    usage_dict,
)
from trackside.handoff.rewrite import Phase1, Rewriter
from trackside.handoff.usage import Counts
from trackside.handoff.watch import Trip, Watch
from trackside.loops.finding import Finding
from trackside.wire.chat import Reader
from trackside.wire.pieces import Reasoning, Start
from trackside.wire.request import parse
from wire.streams import DONE, chunk, delta

COUNTS = Counts(10, 300, 300, None)
USAGE = {
    "prompt_tokens": 315,
    "completion_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 310},
}
UNTOLD = dict.fromkeys(("prompt", "completion", "reasoning", "cached"))
REQUEST = parse("chat", b'{"messages":[],"reasoning_effort":"high"}')


def rewriter_of(*parts):
    kept = {"kept": "So it is Bob.", "kept_tokens": 5}
    rewriter = Rewriter(Phase1(start=Start("i", "m", 1), counts=COUNTS, **kept))
    reader = Reader()
    for part in parts:
        for message in reader.feed(part):
            rewriter.edit(message)
    return rewriter


@pytest.mark.parametrize(
    ("rewriter", "phase2", "merged"),
    [
        pytest.param(None, None, COUNTS.as_dict(), id="no handoff"),
        pytest.param(rewriter_of(), UNTOLD, COUNTS.as_dict(), id="no phase 2"),
        pytest.param(
            rewriter_of(chunk(delta(content="a")), chunk(usage=USAGE), DONE),
            {**UNTOLD, "prompt": 315, "completion": 20, "cached": 310},
            {**COUNTS.as_dict(), "completion": 320},
            id="phase 2",
        ),
        pytest.param(
            rewriter_of(chunk(delta(content="a"))),
            UNTOLD,
            {**COUNTS.as_dict(), "completion": None},
            id="phase 2 did not tell",
        ),
    ],
)
def test_usage_is_told_by_phase(rewriter, phase2, merged):
    told = usage_dict(COUNTS, rewriter)
    assert told == {"phase1": COUNTS.as_dict(), "phase2": phase2, "merged": merged}


@pytest.mark.parametrize(
    ("rewriter", "cached", "prompt"),
    [
        pytest.param(None, None, None, id="in place"),
        pytest.param(rewriter_of(chunk(usage=USAGE)), 310, 315, id="told"),
    ],
)
def test_a_handoff_tells_phase_2s_cache(rewriter, cached, prompt):
    told = handoff_dict(
        rewriter, ok=True, error=None, flow_id="f", ttft_s=0.25, way="exact"
    )
    assert told == {
        "ok": True,
        "error": None,
        "way": "exact",
        "flow_id": "f",
        "ttft_s": 0.25,
        "cached_tokens": cached,
        "prompt_tokens": prompt,
    }


def record_of(trip):
    watch = Watch(reasoning=None)
    watch.read([Reasoning("So it is Bob.", "reasoning")])
    return guard_record(
        watch,
        REQUEST,
        trip,
        budget_tokens=24576,
        action="continue" if trip else None,
        strategy="continue" if trip else None,
        handoff=None,
        usage=usage_dict(COUNTS, None),
        end={"finish_reason": "stop", "by": "engine"},
    )


@pytest.mark.parametrize(
    ("trip", "told"),
    [
        pytest.param(
            None,
            {"tripped": False, "reason": None, "channel": None, "detail": None},
            id="no trip",
        ),
        pytest.param(
            Trip("budget", "reasoning", None, 24576, "engine"),
            {
                "tripped": True,
                "reason": "budget",
                "channel": "reasoning",
                "detail": None,
            },
            id="budget",
        ),
        pytest.param(
            Trip("cycles", "content", Finding("cycles", 3, 90, 9, 13), 20, "tiktoken"),
            {
                "tripped": True,
                "reason": "cycles",
                "channel": "content",
                "detail": {
                    "detector": "cycles",
                    "start_char": 3,
                    "end_char": 90,
                    "copies": 9,
                },
            },
            id="loop",
        ),
    ],
)
def test_the_record_has_every_field_in_plain_values(trip, told):
    record = record_of(trip)
    assert json.loads(json.dumps(record)) == record
    assert {key: record[key] for key in told} == told
    assert record.keys() == {
        *("v", "tripped", "reason", "channel", "detail", "evidence", "effort"),
        *("budget_tokens", "reasoning_tokens", "reasoning_chars", "tokens_source"),
        *("action", "strategy", "handoff", "usage", "end"),
    }
    assert record["v"] == 1
    assert record["effort"] == "high"
    assert record["reasoning_chars"] == 13
    assert record["tokens_source"] == "tiktoken"


def test_phase_2_points_to_the_response_it_continues():
    assert phase2_record("f") == {"v": 1, "tripped": False, "phase1": "f"}
