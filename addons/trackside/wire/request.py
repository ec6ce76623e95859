"""What a chat completion request asks for, read without building its messages."""

import re
from typing import Any

import msgspec

from trackside.wire.effort import Thinking, read_effort
from trackside.wire.errors import WireError
from trackside.wire.respell import decode_leniently

_EMPTY_LIST = re.compile(rb"\[\s*\]")
_IMAGE_TYPES = ("image_url", "input_image", "image")


class ChatRequest(msgspec.Struct, frozen=True):
    """The facts of one request."""

    model: str  # "" if not named
    stream: bool
    n: int  # answers asked for
    has_tools: bool
    tool_choice: str | None  # auto, none, required; "named" for one tool or some
    max_tokens: int | None
    max_tokens_key: str | None  # the member that said so
    include_usage: bool  # the client wants usage at the end of the stream
    continuous_usage: bool  # the client wants usage on every chunk
    logprobs: bool
    json_schema: bool  # the answer must have a form (`response_format`)
    images: bool
    last_role: str | None  # None if there is no message, or it has none
    effort: str | None  # "none": thinking is off; None: not told
    budget_tokens: int | None  # for thinking; None: not told


class _Body(Thinking, gc=False, kw_only=True):
    messages: list[msgspec.Raw]
    model: Any = None
    stream: Any = None
    n: Any = None
    tools: msgspec.Raw = msgspec.Raw(b"")
    tool_choice: Any = None
    max_completion_tokens: Any = None
    max_tokens: Any = None
    stream_options: Any = None
    logprobs: Any = None
    response_format: Any = None


class _Message(msgspec.Struct, gc=False):
    content: Any = None


class _Role(msgspec.Struct, gc=False):
    role: Any = None


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_role = msgspec.json.Decoder(_Role).decode


def parse(body: bytes) -> ChatRequest:
    """Read a request body, in O(its length) without building its messages.

    Raises WireError if it is not a JSON object with a list of messages.

    Example:
        >>> parse(b'{"model": "m", "messages": [{"role": "user"}]}').last_role
        'user'
    """
    try:
        fields = decode_leniently(_decode_body, body)
    except msgspec.ValidationError as error:
        raise WireError(
            f"chat request: {error}, wanted a JSON object with a list of messages"
        ) from error
    max_tokens, max_tokens_key = None, None
    for key in ("max_completion_tokens", "max_tokens"):
        value = getattr(fields, key)
        if max_tokens is None and type(value) is int:
            max_tokens, max_tokens_key = value, key
    options = _object(fields.stream_options)
    form = _object(fields.response_format).get("type")
    effort, budget_tokens = read_effort(fields)
    return ChatRequest(
        model=fields.model if isinstance(fields.model, str) else "",
        stream=fields.stream is True,
        n=fields.n if type(fields.n) is int else 1,
        has_tools=_has_items(fields.tools),
        tool_choice=_tool_choice(fields.tool_choice),
        max_tokens=max_tokens,
        max_tokens_key=max_tokens_key,
        include_usage=options.get("include_usage") is True,
        continuous_usage=options.get("continuous_usage_stats") is True,
        logprobs=bool(fields.logprobs),
        json_schema=form not in (None, "text"),
        images=_has_images(body, fields.messages),
        last_role=_role(fields.messages[-1]) if fields.messages else None,
        effort=effort,
        budget_tokens=budget_tokens,
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _has_items(raw: msgspec.Raw) -> bool:
    text = bytes(raw)
    return text.startswith(b"[") and not _EMPTY_LIST.fullmatch(text)


def _tool_choice(value: Any) -> str | None:
    return "named" if isinstance(value, dict) else _text(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _role(message: msgspec.Raw) -> str | None:
    try:
        return _text(_decode_role(message).role)
    except msgspec.DecodeError:
        return None


def _has_images(body: bytes, messages: list[msgspec.Raw]) -> bool:
    """Look for image parts; build the messages only if the word occurs at all."""
    if not any(f'"{kind}"'.encode() in body for kind in _IMAGE_TYPES):
        return False
    for message in messages:
        try:
            content = _decode_message(message).content
        except msgspec.DecodeError:
            continue
        if isinstance(content, list) and any(
            isinstance(part, dict) and part.get("type") in _IMAGE_TYPES
            for part in content
        ):
            return True
    return False
