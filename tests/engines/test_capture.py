import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.capture import Capture, Exchange

BODY = 'data: {"a":"é\\n"}\n\n: a comment\n\ndata: {"b":2}\n\ndata: [DONE]\n\n'
EVENTS = ['{"a":"é\\n"}', '{"b":2}', "[DONE]"]


def exchange(*chunks: tuple[float, str]) -> Exchange:
    return Exchange(
        {"stream": True}, 200, {"content-type": "text/event-stream"}, chunks
    )


def told(**changes: Any) -> dict[str, Any]:
    phase = {"request": {}, "status": 200, "headers": {}, "chunks": [[0.5, "x"]]}
    return {"v": 1, "made_by": "a", "engine": "b", "phase1": phase, "phase2": phase} | (
        changes
    )


@given(st.lists(st.integers(0, len(BODY)), max_size=8).map(sorted))
def test_cuts_do_not_matter_to_events(cuts: list[int]) -> None:
    bounds = [0, *cuts, len(BODY)]
    pieces = [BODY[a:b] for a, b in pairwise(bounds)]
    found = list(exchange(*enumerate(pieces)).events())
    assert [data for _, data in found] == EVENTS


def test_an_event_has_the_time_of_its_last_character() -> None:
    phase = exchange(
        (0.1, "data: 1"), (0.2, "\n"), (0.3, "\ndata: 2\n\nda"), (0.4, "t")
    )
    assert list(phase.events()) == [(0.3, "1"), (0.3, "2")]


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    phases = exchange((0.0, ""), (0.25, BODY)), exchange((1.5, "\u2028 'quoted' \\ \r"))
    capture = Capture("scripts/record.py", "an engine", *phases)
    capture.save(tmp_path / "x.json")
    assert Capture.load(tmp_path / "x.json") == capture
    assert json.loads((tmp_path / "x.json").read_text())["v"] == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("", "Expecting value", id="empty"),
        pytest.param("[]", "indices", id="a list"),
        pytest.param("\xff", "decode", id="binary"),
        pytest.param("{}", "has no 'v'", id="no version"),
        pytest.param(json.dumps(told(v=2)), "wanted version 1, got 2", id="version"),
        pytest.param(json.dumps(told(phase2=None)), "NoneType", id="no phase"),
        pytest.param(
            json.dumps(told(phase1={**told()["phase1"], "chunks": []})),
            "wanted chunks",
            id="no chunks",
        ),
        *(
            pytest.param(
                json.dumps(told(phase1={**told()["phase1"], "chunks": chunks})),
                "wanted rising times",
                id=name,
            )
            for name, chunks in {
                "backwards": [[2, "a"], [1, "b"]],
                "negative": [[-1, "a"]],
                "never": [[float("inf"), "a"]],
                "no time": [[float("nan"), "a"]],
            }.items()
        ),
    ],
)
def test_what_is_no_capture_is_refused_with_its_name(
    tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "no capture.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"no capture\.json is no capture") as error:
        Capture.load(path)
    assert says in str(error.value)
