import json

import pytest

from trackside.handoff.tokenised import (
    TAIL_TOKENS,
    Tokens,
    prompt_of,
    read,
    tail_in_sglang,
)
from trackside.wire.errors import WireError

MEMBERS = {"messages": b"[]", "model": b'"m"', "seed": b"7", "stop": b"[]"}


@pytest.mark.parametrize(
    "answer",
    [b"", b"null", b"[]", b'{"tokens":["a"]}', b'{"tokens":[1.5]}', b"[" * 200_000],
    ids=lambda answer: repr(answer[:16]),
)
def test_an_odd_answer_is_an_error_in_words(answer):
    with pytest.raises(WireError, match="wanted `tokens` in the engine's answer"):
        read(answer, Tokens)


def test_only_what_makes_the_prompt_is_sent():
    call = next(prompt_of({**MEMBERS, "tools": b"[]"}))
    assert json.loads(call.body) == {
        "model": "m",
        "messages": [],
        "chat_template_kwargs": {},
    }


def test_a_short_prompt_is_its_own_tail():
    calls = tail_in_sglang(MEMBERS)
    next(calls)
    asked = json.loads(calls.send(b'{"tokens":[1,2],"count":2}').body)
    assert asked["tokens"] == [1, 2]
    assert len(asked["tokens"]) < TAIL_TOKENS
