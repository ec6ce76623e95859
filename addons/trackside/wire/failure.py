"""Errors that come as JSON, in a stream or as a body, in the forms engines use."""

from typing import Any

import msgspec

from trackside.wire.pieces import Failure


class Complaint(msgspec.Struct, gc=False, kw_only=True):
    """The members of an event or a body that may tell of an error, unchecked."""

    error: Any = None
    object: Any = None
    type: Any = None
    message: Any = None
    detail: Any = None
    code: Any = None


def read_failure(
    said: Complaint, *, is_answer: bool = False, is_error: bool = False
) -> Failure | None:
    """Return the error that `said` reports, or None.

    Forms: `{"error": {"message", "code", "type"}}`, `{"error": "text"}` (mlx-lm,
    Ollama), `{"object": "error", "message", "code"}` (SGLang, older vLLM), the same
    with `type` (Responses), and `{"detail": …}` (FastAPI).

    Parameters:
        is_answer: it has what answers have, so a `detail` is no error.
        is_error: the name of the event says that it is one, so a bare `message`
            will do (llama.cpp's Anthropic route).
    """
    error = said.error
    if error:
        if isinstance(error, dict):
            code = _code(error.get("code"))
            code = _code(error.get("type")) if code is None else code
            return Failure(_text(error.get("message", error)), code)
        return Failure(_text(error), _code(said.code))
    if said.object == "error" or said.type == "error" or is_error:
        kind = None if said.type == "error" else _code(said.type)
        code = _code(said.code)
        return Failure(_text(said.message), kind if code is None else code)
    if said.detail and not is_answer:
        return Failure(_text(said.detail), None)
    return None


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _code(value: Any) -> str | int | None:
    return value if type(value) is str or type(value) is int else None
