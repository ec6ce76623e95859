import json

import pytest

from trackside.handoff.engines import NAMES
from trackside.handoff.exact import ExactIds
from trackside.handoff.strategy import Turn
from trackside.handoff.tokenised import TAIL_TOKENS
from trackside.wire.errors import WireError

MESSAGES = b'[ {"role":"user","content":"Why?"} ]'
MEMBERS = {
    "model": b'"m"',
    "messages": MESSAGES,
    "tools": b'[{"type":"function"}]',
    "chat_template_kwargs": b'{"a":1}',
    "cache_salt": b'"s"',
    "max_tokens": b"500",
}
KEPT = "So it is Bob.\n\nEnough."
PROMPT = list(range(100, 160))  # 60 tokens
ENDING = [7, 8, 9, 10]
OPEN = "assistant\n<think>\n"


def turn_of(engine="vllm", *, dialect="chat", prompt_tokens=60, **more):
    return Turn(
        engine=engine,
        members={**MEMBERS, **more},
        kept=KEPT,
        spent_tokens=120,
        prompt_tokens=prompt_tokens,
        has_tools=True,
        dialect=dialect,
    )


def run(turn, tail=OPEN, **ending):
    """Play vLLM; return the helper calls' paths and bodies, and phase 2's call."""
    answers = [
        {"count": len(PROMPT), "tokens": PROMPT, "max_model_len": 4096},
        {"prompt": tail},
        {"count": len(ENDING), "tokens": ENDING, **ending},
    ]
    calls, made = ExactIds().calls(turn), []
    call = next(calls)
    try:
        for answer in answers:
            made.append((call.path, json.loads(call.body)))
            call = calls.send(json.dumps(answer).encode())
    except StopIteration as done:
        return made, done.value
    raise AssertionError("a call too many")


def test_phase_2_is_a_chat_request_with_the_ids_to_go_on_from():
    made, call = run(turn_of())
    body = json.loads(call.body)
    assert call.path == "/v1/chat/completions"
    assert body.pop("kv_transfer_params") == {"prompt_token_ids": PROMPT + ENDING}
    # an engine that does not know them makes of it a message that is continued
    message = {"role": "assistant", "reasoning": KEPT, "content": ""}
    assert body.pop("messages") == [*json.loads(MESSAGES), message]
    assert body == {
        "model": "m",
        "tools": [{"type": "function"}],
        "chat_template_kwargs": {"a": 1},
        "cache_salt": "s",
        "max_tokens": 380,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        "continue_final_message": True,
        "add_generation_prompt": False,
    }
    assert call.least_prompt_tokens == len(PROMPT) + len(ENDING) // 2
    (path, rendered), (text_path, tail), (last_path, ending) = made
    assert (path, text_path, last_path) == ("/tokenize", "/detokenize", "/tokenize")
    assert rendered == {
        "model": "m",
        "messages": json.loads(MESSAGES),
        "tools": [{"type": "function"}],
        "chat_template_kwargs": {"a": 1},
    }
    assert tail == {"model": "m", "tokens": PROMPT[-TAIL_TOKENS:]}
    assert ending == {
        "model": "m",
        "prompt": f"{KEPT}\n</think>\n\n",
        "add_special_tokens": False,
        "return_token_strs": True,
    }


def test_a_prompt_that_was_another_is_not_gone_on_with():
    with pytest.raises(WireError, match="60 tokens of a prompt that had 61"):
        run(turn_of(prompt_tokens=61))


def test_a_count_that_was_not_told_is_no_hindrance():
    _, call = run(turn_of(prompt_tokens=None))
    assert b"prompt_token_ids" in call.body


def test_a_block_that_is_left_to_the_model_is_opened_with_the_models_own_tag():
    strings = {"token_strs": ["<think>", "So", "</think>", "x"]}
    made, _ = run(turn_of(), "assistant\n", **strings)
    assert made[-1][1]["prompt"] == f"<think>\n{KEPT}\n</think>\n\n"


@pytest.mark.parametrize(
    "strings",
    [{}, {"token_strs": None}, {"token_strs": ["<", "think", ">", "So"]}],
    ids=["not told", "null", "in pieces"],
)
def test_a_model_that_has_no_such_tag_is_not_given_it(strings):
    with pytest.raises(WireError, match="<think> is no token of this model"):
        run(turn_of(), "<|start|>assistant", **strings)


@pytest.mark.parametrize("tools", [b"null", b"[]"])
def test_no_tools_are_none(tools):
    made, _ = run(turn_of(tools=tools))
    assert "tools" not in made[0][1]


@pytest.mark.parametrize("engine", NAMES)
def test_it_fits_vllm_alone(engine):
    assert ExactIds().fits(turn_of(engine)) is (engine == "vllm")


@pytest.mark.parametrize(
    ("turn", "fits"),
    [
        pytest.param(turn_of(dialect="completions"), False, id="no chat"),
        pytest.param(turn_of(kv_transfer_params=b"{}"), False, id="transfers"),
        pytest.param(turn_of(kv_transfer_params=b"null"), True, id="null"),
        pytest.param(turn_of(echo=b"true"), False, id="echo"),
        pytest.param(turn_of(documents=b"[{}]"), False, id="documents"),
        pytest.param(turn_of(truncate_prompt_tokens=b"9"), False, id="truncated"),
        pytest.param(turn_of(add_generation_prompt=b"false"), False, id="prompt"),
        pytest.param(
            turn_of(messages=b'[{"content":[{"type":"image_url"}]}]'), False, id="image"
        ),
    ],
)
def test_it_fits_what_messages_and_tools_alone_make_a_prompt_of(turn, fits):
    assert ExactIds().fits(turn) is fits
