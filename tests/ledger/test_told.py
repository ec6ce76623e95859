"""What each engine tells of a turn, in the shapes it was captured or documented in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trackside.ledger.account import Account, Counts
from trackside.ledger.clocks import Clocks, read_clocks
from trackside.proxy.turned import known
from trackside.wire import DIALECTS


def sse(*events: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(e).encode() + b"\n\n" for e in events)


def named(*events: dict[str, Any]) -> bytes:
    return b"".join(
        f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events
    )


def openai(text: str = "delta", **last: Any) -> bytes:
    """Return one token, a finish, and a last event with what is to be told."""
    said = {"delta": {"content": "Hi"}} if text == "delta" else {"text": "Hi"}
    end = {"delta": {}} if text == "delta" else {"text": ""}
    return sse(
        {"id": "1", "choices": [{"index": 0, **said}]},
        {"id": "1", "choices": [{"index": 0, **end, "finish_reason": "stop"}]},
        {"id": "1", "choices": [], **last},
    )


def counts(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    total = {"prompt_tokens": prompt, "completion_tokens": completion}
    return {"usage": {**total, "total_tokens": prompt + completion, **more}}


def cached(tokens: int | None) -> dict[str, Any]:
    return {"prompt_tokens_details": {"cached_tokens": tokens}}


def messages(start: dict[str, Any], end: dict[str, Any]) -> bytes:
    delta = {"type": "text_delta", "text": "Hi"}
    return named(
        {"type": "message_start", "message": {"id": "m", "usage": start}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end},
        {"type": "message_stop"},
    )


def responses(**told: Any) -> bytes:
    return named(
        {"type": "response.output_text.delta", "delta": "Hi", "item_id": "a"},
        {"type": "response.completed", "response": {"status": "completed", **told}},
    )


TIMINGS = {
    **{"cache_n": 225, "prompt_n": 1, "prompt_ms": 1500.0},
    **{"predicted_n": 14, "predicted_ms": 172.9, "predicted_per_second": 75.2},
}
DURATIONS = {
    **{"total_duration": 5_000_000_000, "load_duration": 2_000_000_000},
    **{"prompt_eval_duration": 1_500_000_000, "eval_duration": 1_000_000_000},
}
OLLAMA = {"done": True, "done_reason": "stop", "prompt_eval_count": 90, "eval_count": 9}
OMLX = {
    **{"model_load_duration": 7.0, "time_to_first_token": 3.0, "total_time": 9.0},
    **{"prompt_eval_duration": 2.5, "generation_duration": 2.0},
    **{"prompt_tokens_per_second": 36.0, "generation_tokens_per_second": 21.0},
}
NONE = Clocks()


@pytest.mark.parametrize(
    ("api", "body", "expected", "clocks"),
    [
        pytest.param(
            "chat",
            openai(**counts(90, 9, **cached(64))),
            Counts(90, 9, None, 64),
            NONE,
            id="OpenAI",
        ),
        pytest.param(
            "chat",
            openai(**counts(90, 9, **cached(0))),
            Counts(90, 9, None, 0),
            NONE,
            id="zero is zero",
        ),
        pytest.param(
            "chat",
            openai(**counts(90, 9, prompt_tokens_details=None)),
            Counts(90, 9, None, None),
            NONE,
            id="null is unknown",
        ),
        pytest.param(
            "chat",
            openai(**counts(90, 9, **cached(None))),
            Counts(90, 9, None, None),
            NONE,
            id="null inside is unknown",
        ),
        pytest.param(
            "chat",
            openai(
                **counts(90, 9, completion_tokens_details={"reasoning_tokens": 5}),
                metrics={
                    **{"time_to_first_token_ms": 250.0, "queue_time_ms": 50.0},
                    **{"generation_time_ms": 90.0, "mean_itl_ms": 10.0},
                    "tokens_per_second": 40.0,
                },
            ),
            Counts(90, 9, 5, None),
            Clocks(first_token_s=0.25, queue_s=0.05, tokens_per_s=40.0),
            id="vLLM, metrics",
        ),
        pytest.param(
            "chat",
            openai(**counts(90, 9, reasoning_tokens=5, **cached(64))),
            Counts(90, 9, 5, 64),
            NONE,
            id="SGLang",
        ),
        pytest.param(
            "chat",
            openai(timings=TIMINGS),
            Counts(226, 14, None, 225),
            Clocks(prefill_s=1.5, tokens_per_s=75.2),
            id="llama.cpp, timings alone",
        ),
        pytest.param(
            "chat",
            openai(
                **counts(90, 9, prompt_cache_hit_tokens=64, prompt_cache_miss_tokens=26)
            ),
            Counts(90, 9, None, 64),
            NONE,
            id="DeepSeek",
        ),
        pytest.param(
            "chat",
            openai(**counts(90, 9, **cached(64), **OMLX)),
            Counts(90, 9, None, 64),
            Clocks(2.5, 3.0, 7.0, None, 21.0),
            id="oMLX",
        ),
        pytest.param(
            "chat",
            openai(**counts(90, 9, cached_tokens=64)),
            Counts(90, 9, None, 64),
            NONE,
            id="oMLX, older",
        ),
        pytest.param(
            "chat",
            b": keepalive 1/2\n\n" + openai(object="c", **counts(90, 9, **cached(64))),
            Counts(90, 9, None, 64),
            NONE,
            id="mlx-lm",
        ),
        pytest.param(
            "chat",
            openai(
                **counts(90, 9),
                stats={"time_to_first_token": 0.4, "tokens_per_second": 51.0},
            ),
            Counts(90, 9, None, None),
            Clocks(first_token_s=0.4, tokens_per_s=51.0),
            id="LM Studio",
        ),
        pytest.param(
            "completions",
            openai("text", **counts(90, 9, **cached(64))),
            Counts(90, 9, None, 64),
            NONE,
            id="text completions",
        ),
        pytest.param(
            "llama_completion",
            sse(
                {"content": "Hi", "stop": False},
                {
                    **{"content": "", "stop": True, "stop_type": "eos"},
                    **{"tokens_evaluated": 226, "tokens_predicted": 14},
                    "timings": TIMINGS,
                },
            ),
            Counts(226, 14, None, 225),
            Clocks(prefill_s=1.5, tokens_per_s=75.2),
            id="llama.cpp's own",
        ),
        pytest.param(
            "messages",
            messages(
                {"input_tokens": 6, "cache_read_input_tokens": 84, "output_tokens": 0},
                {"output_tokens": 9},
            ),
            Counts(90, 9, None, 84),
            NONE,
            id="Anthropic, llama.cpp",
        ),
        pytest.param(
            "messages",
            messages(
                {"input_tokens": 90, "output_tokens": 0},
                {
                    **{"input_tokens": 6, "output_tokens": 9},
                    **{"cache_creation_input_tokens": 20},
                    "cache_read_input_tokens": 64,
                },
            ),
            Counts(90, 9, None, 64),
            NONE,
            id="Anthropic, vLLM",
        ),
        pytest.param(
            "messages",
            messages(
                {
                    **{"input_tokens": 3, "output_tokens": 1},
                    **{"cache_creation_input_tokens": 7},
                    "cache_read_input_tokens": 80,
                },
                {"output_tokens": 9},
            ),
            Counts(90, 9, None, 80),
            NONE,
            id="Anthropic, its own",
        ),
        pytest.param(
            "messages",
            messages({"input_tokens": 90, "output_tokens": 0}, {"output_tokens": 9}),
            Counts(90, 9, None, None),
            NONE,
            id="Anthropic, no cache told",
        ),
        pytest.param(
            "responses",
            responses(
                usage={
                    **{"input_tokens": 90, "output_tokens": 9, "total_tokens": 99},
                    "input_tokens_details": {"cached_tokens": 64},
                    "output_tokens_details": {"reasoning_tokens": 5},
                }
            ),
            Counts(90, 9, 5, 64),
            NONE,
            id="Responses",
        ),
        pytest.param(
            "ollama_chat",
            json.dumps({**OLLAMA, "message": {"content": "Hi"}, **DURATIONS}).encode()
            + b"\n",
            Counts(90, 9, None, None),
            Clocks(prefill_s=1.5, load_s=2.0),
            id="Ollama",
        ),
        pytest.param(
            "ollama_generate",
            json.dumps(
                {**OLLAMA, "response": "Hi", "prompt_eval_cached_count": 0}
            ).encode(),
            Counts(90, 9, None, 0),
            NONE,
            id="Ollama, newer: nothing cached",
        ),
    ],
)
def test_all_that_an_engine_tells_is_read(
    api: str, body: bytes, expected: Counts, clocks: Clocks
) -> None:
    account, reader = Account(), DIALECTS[api].reader()
    for message in (*reader.feed(body), *reader.flush()):
        account.see(message.pieces, 1.0)
    assert account.counts == expected
    read = read_clocks(account.timings, nanoseconds=api.startswith("ollama"))
    assert read == clocks


@pytest.mark.parametrize(
    ("engine", "api", "told", "expected"),
    [
        ("ollama", "responses", 0, None),
        ("ollama", "responses", 64, 64),
        ("ollama", "ollama_chat", 0, 0),
        ("vllm", "responses", 0, 0),
        (None, "responses", 0, 0),
    ],
)
def test_a_zero_that_is_only_written_is_unknown(
    engine: str | None, api: str, told: int, expected: int | None
) -> None:
    assert known(Counts(90, 9, None, told), engine, api).cached == expected
