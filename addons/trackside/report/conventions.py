"""A turn in the words of OpenTelemetry's conventions for generative AI.

What they have no name for is prefixed `trackside.`.

Source: OpenTelemetry semantic conventions v1.41.0, gen-ai metrics and spans.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from trackside.report.tables import context_of

type Record = Mapping[str, Any]
type Attributes = dict[str, str | int | float | bool | list[str]]

_OPERATIONS = {
    "completions": "text_completion",
    "llama_completion": "text_completion",
    "ollama_generate": "text_completion",
}
_PROVIDERS = {"messages": "anthropic", "ollama_chat": "ollama"}

_SECONDS = tuple(0.01 * 2**n for n in range(18))
_FIRST_TOKEN_S = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0),
    *(2.5, 5.0, 7.5, 10.0),
    # Beyond the conventions' own: a refill on a machine at home takes minutes.
    *(20.0, 40.0, 60.0, 120.0, 300.0, 600.0),
)
_TOKENS = tuple(4**n for n in range(14))
_TOKEN_S = (*(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5),)


class Instrument(msgspec.Struct, frozen=True):
    """One metric."""

    unit: str
    description: str
    bounds: tuple[float, ...] | None = None  # of a histogram; None for a counter


INSTRUMENTS: dict[str, Instrument] = {
    "gen_ai.client.operation.duration": Instrument(
        "s", "From the request to the last piece.", _SECONDS
    ),
    "gen_ai.client.operation.time_to_first_chunk": Instrument(
        "s",
        "From the request to the first byte of a streamed response.",
        _FIRST_TOKEN_S,
    ),
    "gen_ai.client.token.usage": Instrument(
        "{token}", "Tokens of a turn, as the engine counts.", _TOKENS
    ),
    "gen_ai.server.time_to_first_token": Instrument(
        "s", "To the first reasoning, content or tool-call piece.", _FIRST_TOKEN_S
    ),
    "gen_ai.server.time_per_output_token": Instrument(
        "s", "Behind the first token.", _TOKEN_S
    ),
    "trackside.turns": Instrument("{turn}", "Turns, by cache state and end."),
    "trackside.prompt.tokens": Instrument(
        "{token}", "Prompt tokens, from the cache or prefilled."
    ),
    "trackside.refill.tokens": Instrument(
        "{token}", "Tokens prefilled again, by whose fault it was."
    ),
    "trackside.refill.duration": Instrument(
        "s", "Seconds spent on them, by the learned speed of the prefill."
    ),
    "trackside.resend.duration": Instrument(
        "s", "Seconds burnt by requests that were sent again."
    ),
    "trackside.guard.trips": Instrument("{trip}", "Runaways that were stopped."),
    "trackside.guard.saved_tokens": Instrument(
        "{token}", "Tokens spared, up to the requests' own limits."
    ),
}
"""All metrics, by name."""


class Measure(msgspec.Struct, frozen=True):
    """One value of one metric."""

    name: str  # a key of INSTRUMENTS
    value: float
    attributes: Attributes


def measures(record: Record) -> Iterator[Measure]:
    """Yield what a turn adds to the metrics; phase 2 is part of its phase 1."""
    guard = record["guard"] or {}
    if guard.get("phase") == 2:
        return
    common = _common(record)
    for name, value in (
        ("gen_ai.client.operation.duration", record["duration_s"]),
        ("gen_ai.client.operation.time_to_first_chunk", record["ttfb_s"]),
        ("gen_ai.server.time_to_first_token", record["ttft_s"]),
        ("gen_ai.server.time_per_output_token", _inverse(record)),
    ):
        if value is not None:
            yield Measure(name, value, common)
    usage, cache, verdict = record["usage"], record["cache"], record["verdict"]
    for kind, tokens in (("input", usage["prompt"]), ("output", usage["completion"])):
        if tokens is not None:
            told = {**common, "gen_ai.token.type": kind}
            yield Measure("gen_ai.client.token.usage", tokens, told)
    state = {"trackside.cache.state": cache["state"], **_end(record)}
    yield Measure("trackside.turns", 1, {**common, **state})
    if (cached := cache["cached_tokens"]) is not None:
        prefilled = max(context_of(record) - cached, 0)
        for source, tokens in (("cache", cached), ("prefill", prefilled)):
            told = {**common, "trackside.source": source}
            yield Measure("trackside.prompt.tokens", tokens, told)
    for fault, tokens in verdict["lost"].items():
        told = {**common, "trackside.fault": fault}
        if verdict["cause"]:
            told["trackside.cause"] = verdict["cause"]
        yield Measure("trackside.refill.tokens", tokens, told)
        if verdict["lost_s"] and verdict["lost_tokens"]:
            share = tokens / verdict["lost_tokens"]
            yield Measure("trackside.refill.duration", verdict["lost_s"] * share, told)
    if record["resend"]:
        burnt_s = record["resend"]["burnt_s"]
        yield Measure("trackside.resend.duration", max(burnt_s, 0.0), common)
    if guard.get("tripped"):
        told = {**common, "trackside.guard.reason": guard["reason"] or "unknown"}
        yield Measure("trackside.guard.trips", 1, told)
        if guard["saved_tokens"]:
            yield Measure("trackside.guard.saved_tokens", guard["saved_tokens"], told)


def span_name(record: Record) -> str:
    """Return the name of a turn's span."""
    return f"{_operation(record)} {record['model']}".strip()


def span_attributes(record: Record) -> Attributes:
    """Return all that is told of one turn. Never any text of a prompt or an answer."""
    usage, cache, verdict = record["usage"], record["cache"], record["verdict"]
    guard, end = record["guard"] or {}, record["end"]
    told = {
        **_common(record),
        **_end(record),
        "gen_ai.conversation.id": record["session"] or None,
        "gen_ai.request.stream": record["streamed"],
        "gen_ai.response.finish_reasons": (
            [end["finish_reason"]] if end["finish_reason"] else None
        ),
        "gen_ai.response.time_to_first_chunk": record["ttfb_s"],
        "gen_ai.usage.input_tokens": usage["prompt"],
        "gen_ai.usage.output_tokens": usage["completion"],
        "gen_ai.usage.reasoning.output_tokens": usage["reasoning"],
        "gen_ai.usage.cache_read.input_tokens": usage["cached"],
        "http.response.status_code": record["status"],
        "trackside.flow": record["flow"],
        "trackside.thread": record["thread"],
        "trackside.turn.index": record["index"],
        "trackside.turn.role": record["role"],
        "trackside.ttft": record["ttft_s"],
        "trackside.in_flight": record["in_flight"],
        "trackside.cache.state": cache["state"],
        "trackside.cache.source": cache["source"],
        "trackside.cache.expected_tokens": cache["expected_tokens"],
        "trackside.verdict.fault": verdict["fault"],
        "trackside.verdict.cause": verdict["cause"],
        "trackside.verdict.confidence": verdict["confidence"],
        "trackside.verdict.lost_tokens": verdict["lost_tokens"],
        "trackside.verdict.text": verdict["text"],
        "trackside.guard.phase": guard.get("phase"),
        "trackside.guard.reason": guard.get("reason"),
    }
    return {name: value for name, value in told.items() if value is not None}


def _common(record: Record) -> Attributes:
    """Return what metrics are told by: nothing that grows with use."""
    server = urlsplit(record["upstream"])
    provider = record["engine"] or _PROVIDERS.get(record["api"], "openai")
    told: dict[str, str | int | None] = {
        "gen_ai.operation.name": _operation(record),
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": record["model"] or None,
        "gen_ai.agent.name": record["agent"] or None,
        "server.address": server.hostname,
        "server.port": server.port,
        "error.type": _error(record),
    }
    return {name: value for name, value in told.items() if value is not None}


def _end(record: Record) -> Attributes:
    end = record["end"]
    return {"trackside.end.by": end["by"], "trackside.end.stage": end["stage"]}


def _error(record: Record) -> str | None:
    """Return a short class of error: a status, a code, or who left."""
    end = record["end"]
    if end["by"] == "client":
        return "client_disconnected"
    if end["by"] != "error":
        return None
    status = record["status"]
    return str(status) if status and status >= 400 else "engine_failed"


def _operation(record: Record) -> str:
    return _OPERATIONS.get(record["api"], "chat")


def _inverse(record: Record) -> float | None:
    speed = record["output_tokens_per_s"]
    return 1 / speed if speed else None
