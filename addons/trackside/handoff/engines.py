"""Which engine answers, told from what it says about itself.

Source: the engines' own servers (llama.cpp /props, vLLM and SGLang /version and
`owned_by`, Ollama /api/version, LM Studio /api/v0/models, mlx-lm's `Server` header).
"""

from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import urlsplit

import msgspec

from trackside.handoff.strategy import Engine

PROBES = ("/props", "/v1/models", "/version", "/api/version", "/api/v0/models")
"""Asked in this order, until an answer names the engine."""

NAMES: tuple[Engine, ...] = tuple(
    name for name in get_args(Engine.__value__) if name != "deepseek"
)
"""What `guard_engine` may say; DeepSeek's own API is told by its host alone."""

_HOSTS: Mapping[str, Engine] = {"api.deepseek.com": "deepseek"}

_OWNERS: Mapping[str, Engine] = {
    "llamacpp": "llama.cpp",
    "vllm": "vllm",
    "sglang": "sglang",
    "library": "ollama",
    "organization_owner": "lmstudio",
    "omlx": "omlx",
}


def by_upstream(upstream: str) -> Engine | None:
    """Tell the engine from where it is asked, as "scheme://host:port".

    Example:
        >>> by_upstream("https://api.deepseek.com:443")
        'deepseek'
        >>> by_upstream("http://127.0.0.1:8000")
    """
    return _HOSTS.get(urlsplit(upstream).hostname or "")


def by_server(header: str) -> Engine | None:
    """Tell the engine from a response's `Server` header, if that names one.

    Example:
        >>> by_server("llama.cpp")
        'llama.cpp'
        >>> by_server("BaseHTTP/0.6 Python/3.12.1")
        'mlx-lm'
        >>> by_server("uvicorn")
    """
    if header.startswith("llama.cpp"):
        return "llama.cpp"
    return "mlx-lm" if header.startswith("BaseHTTP/") else None


def by_answer(path: str, server: str, status: int, body: bytes) -> Engine | None:
    """Tell the engine from its answer to a probe, or None.

    Example:
        >>> by_answer("/version", "uvicorn", 200, b'{"version": "0.33.0"}')
        'vllm'
    """
    if engine := by_server(server):
        return engine
    try:
        told: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    if status != 200 or not isinstance(told, dict):
        return None
    if path == "/props" and "default_generation_settings" in told:
        return "llama.cpp"
    if path == "/v1/models":
        models = told.get("data")
        first = models[0] if isinstance(models, list) and models else None
        owner = first.get("owned_by") if isinstance(first, dict) else None
        return _OWNERS.get(owner) if isinstance(owner, str) else None
    if path in ("/version", "/api/version") and isinstance(told.get("version"), str):
        return "vllm" if path == "/version" else "ollama"
    return "lmstudio" if path == "/api/v0/models" and "data" in told else None
