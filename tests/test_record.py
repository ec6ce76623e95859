import json
from pathlib import Path

from engine import Engine
from engines.capture import Capture
from prompts import LOOPING
from record import CLOSING, reasoning, record


def test_a_run_is_recorded_with_its_continuation(
    engine: Engine, tmp_path: Path
) -> None:
    capture = record(engine, LOOPING[0], max_tokens=24)
    capture.save(tmp_path / "run.json")
    assert Capture.load(tmp_path / "run.json") == capture
    assert reasoning(capture.phase1).strip()
    assert reasoning(capture.phase2) == ""
    handed_on = capture.phase2.request["messages"][-1]["reasoning_content"]
    assert handed_on.endswith(CLOSING)
    for phase in (capture.phase1, capture.phase2):
        *events, last = [data for _, data in phase.events()]
        assert last == "[DONE]"
        assert len(events) >= 3
        assert json.loads(events[-1])["usage"]["completion_tokens"] >= 1
        assert set(phase.headers) == {"content-type", "server"}
