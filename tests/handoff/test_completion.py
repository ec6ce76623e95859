import json

import pytest

from trackside.handoff.completion import Completion
from trackside.handoff.engines import NAMES
from trackside.handoff.strategy import Turn
from trackside.handoff.text import block
from trackside.wire.errors import WireError

MESSAGES = b'[ {"role":"user","content":"Why?"} ]'
MEMBERS = {
    "model": b'"m"',
    "messages": MESSAGES,
    "temperature": b"0.5",
    "stop": b'["END"]',
}
KEPT = "So it is Bob.\n\nEnough."
PROMPT = "<|im_start|>assistant\n<think>\n"


def turn_of(engine="vllm", *, has_tools=False, **more):
    return Turn(
        engine=engine,
        members={**MEMBERS, **more},
        kept=KEPT,
        spent_tokens=120,
        has_tools=has_tools,
    )


def run(turn, *answers):
    """Send in the answers; return the helper calls, and phase 2's at the end."""
    calls = Completion().calls(turn)
    made = [next(calls)]
    for answer in answers:
        try:
            made.append(calls.send(answer))
        except StopIteration as done:
            made.append(done.value)
    return [(call.path, json.loads(call.body)) for call in made]


def vllm(turn, prompt=PROMPT, **told):
    tokens = json.dumps({"count": 3, "tokens": [1, 2, 3], **told}).encode()
    return run(turn, tokens, json.dumps({"prompt": prompt}).encode())


def test_llama_cpp_renders_the_prompt_itself():
    turn = turn_of("llama.cpp", chat_template_kwargs=b'{"a":1}', max_tokens=b"500")
    answer = json.dumps({"prompt": PROMPT}).encode()
    (path, body), (last_path, last) = run(turn, answer)
    assert path == "/apply-template"
    kwargs = {"chat_template_kwargs": {"a": 1}}
    assert body == {"messages": json.loads(MESSAGES), **kwargs}
    assert last_path == "/v1/completions"
    assert last == {
        "model": "m",
        "temperature": 0.5,
        "stop": ["END"],
        "max_tokens": 380,
        "stream": True,
        "stream_options": {"include_usage": True},
        "prompt": f"{PROMPT}{KEPT}\n</think>\n\n",
        "add_special_tokens": False,
    }


def test_vllm_tells_the_prompt_by_its_tokens():
    (first, body), (second, tokens), (path, last) = vllm(turn_of(max_tokens=b"500"))
    assert (first, second, path) == ("/tokenize", "/detokenize", "/v1/completions")
    assert body["messages"] == json.loads(MESSAGES)
    assert body["model"] == tokens["model"] == "m"
    assert tokens["tokens"] == [1, 2, 3]
    assert last["prompt"] == f"{PROMPT}{KEPT}\n</think>\n\n"
    assert last["max_tokens"] == 380
    assert "messages" not in last


@pytest.mark.parametrize(
    ("members", "told", "max_tokens"),
    [
        pytest.param({}, {"max_model_len": 4096}, 4096 - 3 - 120 - 256, id="the rest"),
        pytest.param({"max_tokens": b"null"}, {"max_model_len": 9}, 1, id="no room"),
        pytest.param({}, {}, None, id="not told"),
        pytest.param({"max_tokens": b"200"}, {"max_model_len": 4096}, 80, id="limit"),
        pytest.param(
            {"max_tokens": b"9", "max_completion_tokens": b"200"}, {}, 80, id="newer"
        ),
        pytest.param(
            {"max_tokens": b"200", "max_completion_tokens": b"null"}, {}, 80, id="older"
        ),
    ],
)
def test_the_answer_may_be_as_long_as_in_a_chat(members, told, max_tokens):
    *_, (_, last) = vllm(turn_of(**members), **told)
    assert last.get("max_tokens") == max_tokens
    assert "max_completion_tokens" not in last


@pytest.mark.parametrize(
    ("members", "kwargs"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"chat_template_kwargs": b"null"}, {}, id="null"),
        pytest.param(
            {"reasoning_effort": b'"high"'},
            {"reasoning_effort": "high", "enable_thinking": True},
            id="effort",
        ),
        pytest.param(
            {"reasoning_effort": b'"none"', "chat_template_kwargs": b'{"a":1}'},
            {"a": 1, "reasoning_effort": "none", "enable_thinking": False},
            id="no effort",
        ),
        pytest.param(
            {
                "reasoning_effort": b'"low"',
                "chat_template_kwargs": b'{"enable_thinking":null}',
            },
            {"reasoning_effort": "low", "enable_thinking": None},
            id="told by the client",
        ),
    ],
)
def test_vllms_template_gets_what_a_chat_hands_it(members, kwargs):
    (_, body), *_ = vllm(turn_of(**members))
    assert body["chat_template_kwargs"] == kwargs


def test_what_only_a_chat_can_ask_for_is_left_out():
    chat_only = {
        "tools": b"[]",
        "tool_choice": b'"none"',
        "response_format": b'{"type":"text"}',
        "logprobs": b"true",
        "top_logprobs": b"3",
        "chat_template": b'"t"',
        "reasoning_effort": b'"low"',
    }
    (_, body), *_, (_, last) = vllm(turn_of(**chat_only))
    assert not chat_only.keys() & last.keys()
    assert body["chat_template"] == "t"


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        pytest.param(
            "a\n", f"a\n<think>\n{KEPT}\n</think>\n\n", id="left to the model"
        ),
        pytest.param("a<think>", f"a<think>{KEPT}\n</think>\n\n", id="open"),
        pytest.param("a[THINK]", f"a[THINK]{KEPT}\n[/THINK]\n\n", id="other tags"),
    ],
)
def test_the_block_is_closed_as_it_was_opened(prompt, text):
    *_, (_, last) = vllm(turn_of(), prompt)
    assert last["prompt"] == text


def test_a_closed_block_is_not_taken_for_an_open_one():
    assert block("<think>\n\n</think>\n\n")[0] == "<think>\n"


@pytest.mark.parametrize(
    "answer",
    [b"", b"[]", b"<html>", b'{"error":"no"}', b'{"prompt":5}', b'{"prompt":null}'],
)
def test_an_odd_answer_is_an_error_in_words(answer):
    with pytest.raises(WireError, match="wanted `prompt` in the engine's answer"):
        run(turn_of("llama.cpp"), answer)


@pytest.mark.parametrize(
    "answer", [b"", b'{"prompt":"x"}', b'{"tokens":["a"]}', b'{"tokens":[1.5]}']
)
def test_odd_tokens_are_an_error_in_words(answer):
    with pytest.raises(WireError, match="wanted `tokens` in the engine's answer"):
        run(turn_of(), answer)


@pytest.mark.parametrize("engine", NAMES)
def test_it_fits_engines_that_render(engine):
    assert Completion().fits(turn_of(engine)) is (engine in ("llama.cpp", "vllm"))


@pytest.mark.parametrize(
    ("turn", "fits"),
    [
        pytest.param(turn_of(has_tools=True), False, id="tools"),
        pytest.param(
            turn_of(messages=b'[{"content":[{"type":"image_url"}]}]'), False, id="image"
        ),
        pytest.param(
            turn_of(messages=b'[{"content":"an \\"image_url\\""}]'), True, id="a word"
        ),
        pytest.param(
            turn_of(response_format=b'{"type":"json_object"}'), False, id="form"
        ),
        pytest.param(
            turn_of(response_format=b'{"type":"json_schema","json_schema":"text"}'),
            False,
            id="form of that name",
        ),
        pytest.param(turn_of(response_format=b'{ "type": "text" }'), True, id="text"),
        pytest.param(turn_of(response_format=b"null"), True, id="no form"),
    ],
)
def test_it_fits_what_text_can_answer(turn, fits):
    assert Completion().fits(turn) is fits


def test_it_fits_no_request_without_messages():
    turn = Turn(engine="vllm", members={"prompt": b'""'}, kept=KEPT, spent_tokens=0)
    assert not Completion().fits(turn)
