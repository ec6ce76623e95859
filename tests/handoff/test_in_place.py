import json

import pytest

from trackside.handoff.in_place import arming, call, refusal


def test_the_call_names_the_completion():
    made = call('chatcmpl-"1')
    assert made.path == "/v1/chat/completions/control"
    assert json.loads(made.body) == {"id": 'chatcmpl-"1', "action": "reasoning_end"}


def test_arming_takes_the_last_words_along():
    armed = {"reasoning_control": True, "reasoning_budget_message": "Enough."}
    assert arming("Enough.") == armed


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(b'{"success":true}', None, id="done"),
        pytest.param(b'{"success":true,"message":null}', None, id="done, no message"),
        pytest.param(b'{"success":false,"message":"no id"}', "no id", id="refused"),
        pytest.param(b'{"success":false}', "without a reason", id="no reason"),
        pytest.param(b'{"success":false,"message":""}', "without a reason", id="empty"),
        pytest.param(b'{"error":{"code":404}}', "wanted a JSON object", id="404"),
        pytest.param(b"<html>", "got b'<html>'", id="no JSON"),
        pytest.param(b"", "got b''", id="nothing"),
        pytest.param(b'{"success":"yes"}', "wanted a JSON object", id="a word"),
    ],
)
def test_only_the_body_tells_whether_it_worked(answer, why):
    told = refusal(answer)
    assert told is None if why is None else why in told
