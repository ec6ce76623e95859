import json

import pytest

from trackside.handoff.afresh import Afresh
from trackside.handoff.engines import NAMES
from trackside.handoff.strategy import Turn

MESSAGES = b'[ {"role":"user","content":"Why?"} ]'


def turn_of(engine="mlx-lm", **more):
    members = {"messages": MESSAGES, "max_tokens": b"500", **more}
    return Turn(engine=engine, members=members, kept="Hm", spent_tokens=120)


def call_of(turn):
    with pytest.raises(StopIteration) as done:
        next(Afresh().calls(turn))
    return done.value.value


@pytest.mark.parametrize(
    ("told", "kwargs"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"chat_template_kwargs": b"null"}, {}, id="null"),
        pytest.param(
            {"chat_template_kwargs": b'{"a":1,"enable_thinking":true}'},
            {"a": 1},
            id="others stay",
        ),
    ],
)
def test_the_same_is_asked_without_thinking(told, kwargs):
    call = call_of(turn_of(**told))
    assert MESSAGES in call.body
    body = json.loads(call.body)
    assert body == {
        "messages": json.loads(MESSAGES),
        "max_tokens": 380,
        "chat_template_kwargs": {**kwargs, "enable_thinking": False},
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert call.may_reason is False


@pytest.mark.parametrize("engine", NAMES)
def test_it_is_for_an_engine_that_can_go_on_from_nothing(engine):
    assert Afresh().fits(turn_of(engine)) is (engine == "mlx-lm")


def test_it_is_for_a_chat():
    turn = Turn(
        engine="mlx-lm",
        members={"prompt": b'""'},
        kept="Hm",
        spent_tokens=0,
        dialect="completions",
    )
    assert not Afresh().fits(turn)
