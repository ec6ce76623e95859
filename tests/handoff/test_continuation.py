import json

import pytest

from trackside.handoff.continuation import FORMS, Continuation
from trackside.handoff.engines import NAMES
from trackside.handoff.strategy import Call, Turn
from trackside.wire.errors import WireError

MESSAGES = b'[ {"role":"user", "content":"\\u00e9?"} ]'
MEMBERS = {
    "model": b'"m"',
    "messages": MESSAGES,
    "max_tokens": b"500",
    "chat_template_kwargs": b'{"a":1}',
    "tools": b'[{"type":"function"}]',
    "seed": b"7",
}
KEPT = "\nSo it is Bob.\n\nEnough."
OPEN = {"continue_final_message": True, "add_generation_prompt": False}


def call_of(engine, members=MEMBERS):
    turn = Turn(engine=engine, members=members, kept=KEPT, spent_tokens=120)
    with pytest.raises(StopIteration) as done:
        next(Continuation().calls(turn))
    assert isinstance(done.value.value, Call)
    return done.value.value


@pytest.mark.parametrize(
    ("engine", "message", "extra"),
    [
        pytest.param(
            "llama.cpp",
            {"reasoning_content": KEPT, "content": ""},
            {**OPEN, "continue_final_message": "content"},
            id="llama.cpp",
        ),
        pytest.param("vllm", {"reasoning": KEPT, "content": ""}, OPEN, id="vllm"),
        pytest.param(
            "deepseek",
            {"reasoning_content": KEPT, "content": "", "prefix": True},
            {},
            id="deepseek",
        ),
        pytest.param(
            "omlx",
            {"reasoning_content": KEPT, "content": "", "partial": True},
            {},
            id="omlx",
        ),
        pytest.param(
            "openai",
            {"content": f"<think>{KEPT}\n</think>\n\n"},
            OPEN,
            id="openai",
        ),
    ],
)
def test_the_reasoning_is_closed_in_the_engines_own_form(engine, message, extra):
    call = call_of(engine)
    body = json.loads(call.body)
    is_beta = engine == "deepseek"
    assert call.path == f"/{'beta' if is_beta else 'v1'}/chat/completions"
    running = {"continuous_usage_stats": True} if engine == "vllm" else {}
    assert body.pop("messages") == [
        *json.loads(MESSAGES),
        {"role": "assistant", **message},
    ]
    assert body == {
        "model": "m",
        "max_tokens": 380,
        "chat_template_kwargs": {"a": 1},
        "tools": [{"type": "function"}],
        "seed": 7,
        "stream": True,
        "stream_options": {"include_usage": True, **running},
        **extra,
    }


@pytest.mark.parametrize("engine", FORMS)
def test_the_bytes_of_the_prompt_stay(engine):
    body = call_of(engine).body
    assert body.startswith(b'{"model":"m","messages":' + MESSAGES[:-1] + b",")
    assert MEMBERS["tools"] in body


def test_a_word_of_the_client_on_the_form_is_overruled():
    members = {**MEMBERS, "add_generation_prompt": b"true"}
    assert json.loads(call_of("vllm", members).body)["add_generation_prompt"] is False


def test_messages_of_another_shape_are_refused():
    turn = Turn(engine="vllm", members={"messages": b"{}"}, kept="x", spent_tokens=1)
    with pytest.raises(WireError, match="array of messages"):
        next(Continuation().calls(turn))


@pytest.mark.parametrize("engine", NAMES)
def test_it_fits_engines_that_have_a_form(engine):
    turn = Turn(engine=engine, members=MEMBERS, kept=KEPT, spent_tokens=0)
    expected = engine not in ("lmstudio", "mlx-lm")
    assert Continuation().fits(turn) is expected


def test_it_fits_no_request_without_messages():
    turn = Turn(engine="vllm", members={"prompt": b'""'}, kept=KEPT, spent_tokens=0)
    assert not Continuation().fits(turn)


def by_sglang(*answers):
    """Send in the answers, or throw them; return the calls, phase 2's at the end."""
    turn = Turn(engine="sglang", members=MEMBERS, kept=KEPT, spent_tokens=120)
    calls = Continuation().calls(turn)
    made = [next(calls)]
    for answer in answers:
        try:
            is_error = isinstance(answer, Exception)
            made.append(calls.throw(answer) if is_error else calls.send(answer))
        except StopIteration as done:
            made.append(done.value)
    return [(call.path, json.loads(call.body)) for call in made]


@pytest.mark.parametrize(
    ("tail", "content"),
    [
        pytest.param("assistant\n<think>\n", f"{KEPT}\n</think>\n\n", id="open"),
        pytest.param(
            "assistant\n", f"<think>{KEPT}\n</think>\n\n", id="left to the model"
        ),
        pytest.param("[THINK]", f"{KEPT}\n[/THINK]\n\n", id="other tags"),
    ],
)
def test_sglangs_prompt_is_gone_on_with_as_it_ends(tail, content):
    tokens = json.dumps({"tokens": list(range(100)), "count": 100, "max_model_len": 9})
    text = json.dumps({"text": tail})
    (path, asked), (tail_path, ids), (_, last) = by_sglang(
        tokens.encode(), text.encode()
    )
    assert (path, tail_path) == ("/v1/tokenize", "/v1/detokenize")
    assert asked["messages"] == json.loads(MESSAGES)
    assert asked["chat_template_kwargs"] == {"a": 1}
    assert "continue_final_message" not in asked
    assert ids["tokens"][-1] == 99
    assert ids["skip_special_tokens"] is False
    assert last["messages"][-1] == {"role": "assistant", "content": content}
    assert last["continue_final_message"] is True
    assert "add_generation_prompt" not in last


@pytest.mark.parametrize(
    "answer", [WireError("404"), OSError("gone"), b"{}", b'{"tokens":[[1]]}']
)
def test_an_older_sglang_is_taken_to_open_the_block(answer):
    *_, (_, last) = by_sglang(answer)
    assert last["messages"][-1]["content"] == f"{KEPT}\n</think>\n\n"


@pytest.mark.parametrize(
    ("engine", "prompt_tokens", "kept", "least"),
    [
        pytest.param("vllm", 100, "word " * 400, 200, id="told"),
        pytest.param("vllm", None, "word " * 400, 0, id="not told"),
        pytest.param("vllm", 100, "word " * 20, 0, id="too little to tell"),
        pytest.param("llama.cpp", 100, "word " * 400, 0, id="renders it itself"),
    ],
)
def test_vllm_shows_by_its_count_if_a_template_dropped_the_reasoning(
    engine, prompt_tokens, kept, least
):
    turn = Turn(
        engine=engine,
        members=MEMBERS,
        kept=kept.rstrip(),
        spent_tokens=120,
        prompt_tokens=prompt_tokens,
    )
    with pytest.raises(StopIteration) as done:
        next(Continuation().calls(turn))
    assert done.value.value.least_prompt_tokens == least


@pytest.mark.parametrize("engine", FORMS)
def test_only_omlx_shows_by_thinking_that_it_did_not_heed(engine):
    assert call_of(engine).may_reason is (engine != "omlx")


def test_ollama_is_given_content_that_is_not_empty():
    message = json.loads(call_of("ollama", MEMBERS).body)["messages"][-1]
    assert message == {"role": "assistant", "reasoning": KEPT, "content": " "}


def test_ollamas_own_chat_goes_on_in_its_own_way():
    members = {**MEMBERS, "options": b'{"num_predict":100,"seed":1}'}
    turn = Turn(
        engine="ollama",
        members=members,
        kept=KEPT,
        spent_tokens=30,
        dialect="ollama_chat",
    )
    assert Continuation().fits(turn)
    with pytest.raises(StopIteration) as done:
        next(Continuation().calls(turn))
    call = done.value.value
    body = json.loads(call.body)
    assert (call.path, call.reads) == ("/api/chat", "ollama_chat")
    assert body["messages"][-1] == {
        "role": "assistant",
        "thinking": KEPT,
        "content": " ",
    }
    assert body["options"] == {"num_predict": 70, "seed": 1}


def test_a_dialect_that_is_no_chat_is_not_fit():
    turn = Turn(
        engine="vllm",
        members={"prompt": b'"Hi"', "messages": b"[]"},
        kept=KEPT,
        spent_tokens=0,
        dialect="completions",
    )
    assert not Continuation().fits(turn)
