"""Errors that come as JSON, in a stream or as a body, in the forms engines use."""

from typing import Any

import msgspec

from trackside.wire.chunk import Chunk
from trackside.wire.pieces import Failure


def read_failure(chunk: Chunk) -> Failure | None:
    """Return the error that `chunk` reports, or None.

    Forms: `{"error": {"message", "code", "type"}}`, `{"error": "text"}` (mlx-lm,
    Ollama), `{"object": "error", "message", "code"}` (SGLang, older vLLM) and
    `{"detail": …}` (FastAPI).
    """
    error = chunk.error
    if error:
        if isinstance(error, dict):
            code = _code(error.get("code"))
            code = _code(error.get("type")) if code is None else code
            return Failure(_text(error.get("message", error)), code)
        return Failure(_text(error), _code(chunk.code))
    if chunk.object == "error":
        return Failure(_text(chunk.message), _code(chunk.code))
    if chunk.detail and chunk.choices is None:
        return Failure(_text(chunk.detail), None)
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _code(value: Any) -> str | int | None:
    return value if type(value) is str or type(value) is int else None
