"""What a request of any dialect says about its turn, besides the prompt."""

import re
from typing import Any

import msgspec

_KEEP_ALIVE = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNIT_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_STREAMED_BY_DEFAULT = ("ollama_chat", "ollama_generate")


class Asked(msgspec.Struct, frozen=True):
    """The frame of one request."""

    model: str = ""  # "" if not named
    streamed: bool = False
    max_tokens: int | None = None
    keep_alive_s: float | None = None  # how long an idle model may stay; None: not told
    metadata: bytes = b""  # JSON
    prompt_cache_key: bytes = b""  # JSON


class _Body(msgspec.Struct, gc=False):
    model: Any = None
    stream: Any = None
    max_tokens: Any = None
    max_completion_tokens: Any = None
    max_output_tokens: Any = None
    n_predict: Any = None
    options: Any = None
    keep_alive: Any = None
    metadata: msgspec.Raw = msgspec.Raw(b"")
    prompt_cache_key: msgspec.Raw = msgspec.Raw(b"")


_decode = msgspec.json.Decoder(_Body).decode


def read_asked(body: bytes, api: str) -> Asked:
    """Return the frame of a request; an empty one for what is no JSON object.

    Example:
        >>> asked = read_asked(b'{"model":"m","keep_alive":"5m"}', "ollama_chat")
        >>> asked.streamed, asked.keep_alive_s
        (True, 300.0)
    """
    try:
        fields = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Asked()
    options = fields.options if isinstance(fields.options, dict) else {}
    limits = (
        fields.max_completion_tokens,
        fields.max_tokens,
        fields.max_output_tokens,
        fields.n_predict,
        options.get("num_predict"),
    )
    streamed = fields.stream
    if streamed is None:
        streamed = api in _STREAMED_BY_DEFAULT
    return Asked(
        model=fields.model if isinstance(fields.model, str) else "",
        streamed=streamed is True,
        max_tokens=next((n for n in limits if type(n) is int and n > 0), None),
        keep_alive_s=_seconds(fields.keep_alive),
        metadata=bytes(fields.metadata),
        prompt_cache_key=bytes(fields.prompt_cache_key),
    )


def _seconds(value: Any) -> float | None:
    """Read Ollama's durations: seconds, or "5m"; negative ones mean for ever."""
    if type(value) is int or type(value) is float:
        return float(value) if value >= 0 else None
    if isinstance(value, str) and (match := _KEEP_ALIVE.fullmatch(value)):
        return float(match[1]) * _UNIT_S[match[2]]
    return None
