import json

import pytest

from trackside.handoff.strategy import limited, streamed


@pytest.mark.parametrize(
    ("members", "left"),
    [
        pytest.param({"max_tokens": b"100"}, {"max_tokens": b"70"}, id="max_tokens"),
        pytest.param(
            {"max_completion_tokens": b"100", "n_predict": b"31"},
            {"max_completion_tokens": b"70", "n_predict": b"1"},
            id="all of them",
        ),
        pytest.param({"max_tokens": b"30"}, {"max_tokens": b"1"}, id="spent"),
        pytest.param({"max_tokens": b"5"}, {"max_tokens": b"1"}, id="overspent"),
        pytest.param({"max_tokens": b"null"}, {"max_tokens": b"null"}, id="null"),
        pytest.param({"n_predict": b"-1"}, {"n_predict": b"-1"}, id="no limit"),
        pytest.param({"seed": b"7"}, {"seed": b"7"}, id="none"),
    ],
)
def test_what_was_spent_comes_off_every_limit(members, left):
    before = dict(members)
    assert limited(members, 30) == left
    assert members == before


@pytest.mark.parametrize(
    ("told", "options"),
    [
        pytest.param(None, {"include_usage": True}, id="absent"),
        pytest.param(b"null", {"include_usage": True}, id="null"),
        pytest.param(
            b'{"include_usage":false}', {"include_usage": True}, id="declined"
        ),
        pytest.param(
            b'{"continuous_usage_stats":true}',
            {"continuous_usage_stats": True, "include_usage": True},
            id="kept",
        ),
        pytest.param(
            b'{"x":"\\ud83d"}', {"x": "\ud83d", "include_usage": True}, id="x"
        ),
    ],
)
def test_phase_2_streams_and_tells_its_usage(told, options):
    members = {"a": b"1"} if told is None else {"a": b"1", "stream_options": told}
    found = streamed(members)
    assert json.loads(found.pop("stream_options")) == options
    assert found == {"a": b"1", "stream": b"true"}


def test_usage_may_be_wanted_on_every_chunk():
    found = streamed({"stream_options": b'{"x":1}'}, running_usage=True)
    assert json.loads(found["stream_options"]) == {
        "x": 1,
        "include_usage": True,
        "continuous_usage_stats": True,
    }
