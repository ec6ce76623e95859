"""Streams as engines write them, with and without what the guard asks for."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from wire.streams import DONE

FINGERPRINT = "vllm-0.32.0-30793846"


def dumped(data: Any) -> bytes:
    """An event as engines write it: no space between tokens, UTF-8 as it is."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return b"data: " + text.encode() + b"\n\n"


def llama_cpp(
    deltas: Iterable[dict[str, Any]],
    *,
    asked: bool,
    include_usage: bool,
    progress: bool = False,
    finish: str = "stop",
) -> Iterator[bytes]:
    """llama-server: timings are told once, or with `timings_per_token` (asked) always.

    Members come in this order; a prefill's progress comes behind its timings.
    """

    def event(choices: list[Any], **more: Any) -> bytes:
        head = {
            "created": 1796042024,
            "id": "chatcmpl-OesgkqpJ7bcaUgVn5lWTLheRNqt45S7Y",
            "model": "smol",
            "system_fingerprint": "b0-unknown",
            "object": "chat.completion.chunk",
        }
        return dumped({"choices": choices, **head, **more})

    def timings(n: int) -> dict[str, Any]:
        return {
            "cache_n": 3,
            "prompt_n": 627,
            "prompt_ms": 11550.711,
            "prompt_per_token_ms": 18.422186602870813,
            "predicted_n": n,
            "predicted_ms": 0.001 if n == 1 else n * 38.5,
        }

    def told(n: int) -> dict[str, Any]:
        return {"timings": timings(n)} if asked else {}

    role = {"role": "assistant", "content": None}
    first = {"finish_reason": None, "index": 0, "delta": role}
    if progress:
        read = {"total": 630, "cache": 3, "processed": 630, "time_ms": 11550}
        yield event([first], **told(0), prompt_progress=read)
    yield event([first], **told(1))
    n = 0
    for n, delta in enumerate(deltas, 1):
        yield event([{"finish_reason": None, "index": 0, "delta": delta}], **told(n))
    last = {"finish_reason": finish, "index": 0, "delta": {}}
    if include_usage:
        yield event([last])
        usage = {
            "completion_tokens": n,
            "prompt_tokens": 630,
            "total_tokens": 630 + n,
            "prompt_tokens_details": {"cached_tokens": 3},
        }
        yield event([], usage=usage, timings=timings(n))
    else:
        yield event([last], timings=timings(n))
    yield DONE


def vllm(
    deltas: Iterable[dict[str, Any]],
    *,
    asked: bool,
    include_usage: bool,
    has_parser: bool = True,
    has_stamp: bool = True,
    has_transfer: bool = False,
    finish: str = "stop",
) -> Iterator[bytes]:
    """vLLM: usage is told at the end, or (asked) on every chunk and at the end.

    The last text rides on the finish; the stamp is on the last event; from 0.33 on
    each chunk ends with `kv_transfer_params`.
    """
    tells_usage = asked or include_usage
    stamp = {"system_fingerprint": FINGERPRINT} if has_stamp else {}
    transfer = {"kv_transfer_params": None} if has_transfer else {}

    def event(choices: list[Any], **more: Any) -> bytes:
        head = {
            "id": "chatcmpl-915da541ceda5f87",
            "object": "chat.completion.chunk",
            "created": 1796042153,
            "model": "smol",
        }
        return dumped({**head, "choices": choices, **more})

    def counts(n: int) -> dict[str, Any]:
        usage = {"prompt_tokens": 25, "total_tokens": 25 + n, "completion_tokens": n}
        details = {"completion_tokens_details": {"reasoning_tokens": n}}
        return {**usage, **details} if has_parser else usage

    def running(n: int) -> dict[str, Any]:
        return {"usage": counts(n)} if asked else {}

    role = {"role": "assistant", "content": ""}
    first = {"index": 0, "delta": role, "logprobs": None, "finish_reason": None}
    nulls = {"prompt_token_ids": None, "prompt_text": None}
    yield event([first], **running(0), **nulls)
    *most, last = deltas
    for n, delta in enumerate(most, 1):
        choice = {"index": 0, "delta": delta, "logprobs": None}
        choice |= {"finish_reason": None, "token_ids": None}
        yield event([choice], **running(n), **transfer)
    n = len(most) + 1
    choice = {"index": 0, "delta": last, "logprobs": None}
    choice |= {"finish_reason": finish, "stop_reason": None, "token_ids": None}
    stamped = {} if tells_usage else stamp
    yield event([choice], **running(n), **stamped, **transfer)
    if tells_usage:
        cached = {"prompt_tokens_details": {"cached_tokens": 0}}
        yield event([], usage={**counts(n), **cached}, **stamp)
    yield DONE


def sglang(
    deltas: Iterable[dict[str, Any]],
    *,
    asked: bool,
    include_usage: bool,
    finish: str = "stop",
) -> Iterator[bytes]:
    """SGLang: as vLLM, but for `"usage":null` on tool-call chunks without the ask.

    The finish has no usage; the usage chunk is written with every member.
    """

    def event(choices: list[Any], **more: Any) -> bytes:
        head = {
            "id": "3f0c",
            "object": "chat.completion.chunk",
            "created": 1796042153,
            "model": "smol",
        }
        return dumped({**head, "choices": choices, **more})

    def counts(n: int) -> dict[str, Any]:
        usage = {"prompt_tokens": 25, "total_tokens": 25 + n, "completion_tokens": n}
        more = {"prompt_tokens_details": None, "reasoning_tokens": n}
        return {**usage, **more, "completion_tokens_details": {"reasoning_tokens": n}}

    def choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        nulls = {"logprobs": None, "finish_reason": finish, "matched_stop": None}
        return {"index": 0, "delta": delta, **nulls}

    role = {"reasoning_content": None, "role": "assistant", "content": ""}
    yield event([choice(role)], **({"usage": counts(0)} if asked else {}))
    n = 0
    for n, delta in enumerate(deltas, 1):
        told = {"usage": counts(n)} if asked else {}
        if "tool_calls" in delta:
            told = told or {"usage": None}
        yield event([choice(delta)], **told)
    yield event([choice({"reasoning_content": None}, finish)])
    if asked or include_usage:
        yield event([], usage=counts(n))
    yield DONE


def mlx_lm(
    deltas: Iterable[dict[str, Any]], *, finish: str = "stop"
) -> Iterator[bytes]:
    """mlx-lm: comments first, the role on every chunk, spaces between tokens."""

    def event(choices: list[Any], kind: str, **more: Any) -> bytes:
        head = {
            "id": "chatcmpl-95b69c0b",
            "system_fingerprint": "0.32.2",
            "object": kind,
            "model": "default_model",
            "created": 1796042693,
        }
        text = json.dumps({**head, "choices": choices, **more})
        return b"data: " + text.encode() + b"\n\n"

    yield b": keepalive 43/44\n\n"
    kind, deltas = "chat.completion.chunk", list(deltas)
    for delta in deltas:
        said = {"role": "assistant", **delta}
        yield event([{"index": 0, "finish_reason": None, "delta": said}], kind)
    last = {"index": 0, "finish_reason": finish, "delta": {"role": "assistant"}}
    yield event([last], kind)
    n = len(deltas)
    usage = {"prompt_tokens": 96, "completion_tokens": n, "total_tokens": 96 + n}
    usage["prompt_tokens_details"] = {"cached_tokens": 95}
    yield event([], "chat.completion", usage=usage)
    yield DONE


def text_completion(texts: Iterable[str]) -> Iterator[bytes]:
    """llama-server's `/v1/completions`: counts ride on the finish."""

    def event(text: str, finish: str | None = None, **more: Any) -> bytes:
        choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": finish}
        head = {"created": 1796041840, "model": "smol", "object": "text_completion"}
        return dumped({"choices": [choice], **head, **more, "id": "chatcmpl-aTrv"})

    texts = list(texts)
    for text in texts:
        yield event(text)
    n = len(texts)
    usage = {"completion_tokens": n, "prompt_tokens": 226, "total_tokens": 226 + n}
    usage["prompt_tokens_details"] = {"cached_tokens": 225}
    timings = {"cache_n": 225, "prompt_n": 1, "predicted_n": n, "predicted_ms": 172.9}
    yield event("", "stop", usage=usage, timings=timings)
    yield DONE


def text_stream(
    engine: str,
    texts: Iterable[str],
    *,
    asked: bool,
    stamp: str | None = FINGERPRINT,
    finish: str = "stop",
) -> Iterator[bytes]:
    """`/v1/completions` of an engine that is asked for its counts, or is not.

    Captured of vLLM and mlx-lm, written out from the sources of SGLang and Ollama.
    """
    write = dumped
    head: dict[str, Any] = {"id": "cmpl-1", "object": "text_completion", "created": 17}
    nulls: dict[str, Any] = {}
    behind: dict[str, Any] = {}
    if engine == "vllm":
        nulls = {"stop_reason": None, "prompt_token_ids": None, "token_ids": None}
    elif engine == "sglang":
        nulls, behind = {"matched_stop": None}, {"usage": None}
    elif engine == "ollama":
        head["system_fingerprint"] = "fp_ollama"
        zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        behind = {"usage": zeros} if asked else {}
    elif engine == "mlx-lm":
        head["system_fingerprint"] = "0.32.2"
        yield b": keepalive 43/44\n\n"

        def write(data: Any) -> bytes:
            return b"data: " + json.dumps(data).encode() + b"\n\n"

    *most, last = texts
    for text, reason in [*((text, None) for text in most), (last, finish)]:
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}
        told = behind
        if engine == "vllm" and reason and stamp and not asked:
            told = {"system_fingerprint": stamp}
        yield write({**head, "model": "smol", "choices": [choice | nulls], **told})
    if asked:
        counts = {"prompt_tokens": 90, "total_tokens": 99, "completion_tokens": 9}
        details = {"prompt_tokens_details": {"cached_tokens": 64}}
        end = {"system_fingerprint": stamp} if engine == "vllm" and stamp else {}
        kind = {"object": "chat.completion"} if engine == "mlx-lm" else {}
        usage = {"usage": {**counts, **details}}
        yield write({**head, **kind, "model": "smol", "choices": [], **usage, **end})
    yield DONE
