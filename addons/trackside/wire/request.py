"""What a request asks for, in any dialect, read without building its messages."""

import re
from typing import Any

import msgspec

from trackside.wire import conversation
from trackside.wire.effort import Thinking, read_effort
from trackside.wire.errors import WireError
from trackside.wire.leaves import count_of, list_of, object_of, text_of
from trackside.wire.respell import decode_leniently

_EMPTY_LIST = re.compile(rb"\[\s*\]")
_LOGPROBS = "message.output_text.logprobs"
_LIMITS: dict[str, tuple[str, ...]] = {
    "chat": ("max_completion_tokens", "max_tokens"),
    "responses": ("max_output_tokens",),
    "messages": ("max_tokens",),
    "completions": ("max_tokens", "n_predict"),
    "llama_completion": ("n_predict", "max_tokens"),
    "ollama_chat": ("options.num_predict",),
    "ollama_generate": ("options.num_predict",),
}
_OF_SEVERAL = ("chat", "completions", "llama_completion")
_TEXT_DIALECTS = ("completions", "llama_completion", "ollama_generate")


class Request(msgspec.Struct, frozen=True):
    """The facts of one request."""

    dialect: str
    model: str  # "" if not named
    stream: bool  # Ollama's own API streams unless told not to
    n: int  # answers asked for, to all prompts
    has_tools: bool
    tool_choice: str | None  # auto, none, required; "named" for one tool or some
    max_tokens: int | None  # None: not told, or no limit
    max_tokens_key: str | None  # the member that said so; a dot leads into an object
    include_usage: bool  # the client gets usage at the end of the stream
    continuous_usage: bool  # the client wants usage on every chunk
    logprobs: bool
    stop_words: bool  # text may end the answer
    json_schema: bool  # the answer must have a form: a schema, a grammar, JSON
    images: bool
    last_role: str | None  # None if there is no message, or it has none
    effort: str | None  # "none": thinking is off; None: not told
    budget_tokens: int | None  # for thinking; None: not told
    server_held: bool  # a part of the turn is known only to the server


class _Body(Thinking, gc=False, kw_only=True):
    messages: msgspec.Raw = msgspec.Raw(b"")
    input: msgspec.Raw = msgspec.Raw(b"")
    prompt: msgspec.Raw = msgspec.Raw(b"")
    tools: msgspec.Raw = msgspec.Raw(b"")
    model: Any = None
    stream: Any = None
    n: Any = None
    n_cmpl: Any = None
    tool_choice: Any = None
    max_completion_tokens: Any = None
    max_tokens: Any = None
    max_output_tokens: Any = None
    n_predict: Any = None
    options: Any = None
    stream_options: Any = None
    logprobs: Any = None
    top_logprobs: Any = None
    n_probs: Any = None
    include: Any = None
    stop: Any = None
    stop_sequences: Any = None
    response_format: Any = None
    text: Any = None
    output_format: Any = None
    format: Any = None
    json_schema: Any = None
    grammar: Any = None
    structured_outputs: Any = None
    guided_json: Any = None
    images: Any = None
    previous_response_id: Any = None
    conversation: Any = None
    background: Any = None


_decode_body = msgspec.json.Decoder(_Body).decode


def parse(dialect: str, body: bytes) -> Request:
    """Read a request body, in O(its length) without building its messages.

    Raises WireError if it is not a JSON object, with a list of messages where the
    dialect demands one.

    Parameters:
        dialect: a key of `DIALECTS`.

    Example:
        >>> parse("chat", b'{"model": "m", "messages": [{"role": "user"}]}').last_role
        'user'
    """
    try:
        fields = decode_leniently(_decode_body, body)
    except msgspec.ValidationError as error:
        raise WireError(f"{dialect} request: {error}, wanted a JSON object") from error
    items, last_role = _read_items(dialect, fields)
    max_tokens, max_tokens_key = _read_limit(dialect, fields)
    options = object_of(fields.stream_options)
    is_openai = dialect in ("chat", "completions")
    effort, budget_tokens = read_effort(fields)
    return Request(
        dialect=dialect,
        model=text_of(fields.model),
        stream=fields.stream is True
        or (fields.stream is None and dialect.startswith("ollama")),
        n=_read_n(dialect, fields),
        has_tools=_has_items(fields.tools),
        tool_choice=_read_tool_choice(fields.tool_choice),
        max_tokens=max_tokens,
        max_tokens_key=max_tokens_key,
        include_usage=not is_openai or options.get("include_usage") is True,
        continuous_usage=options.get("continuous_usage_stats") is True,
        logprobs=_has_logprobs(dialect, fields),
        stop_words=bool(fields.stop or fields.stop_sequences),
        json_schema=_has_form(fields),
        images=conversation.may_have_images(body)
        and (
            bool(list_of(fields.images))
            or b'"multimodal_data"' in bytes(fields.prompt)
            or conversation.has_images(items)
        ),
        last_role=last_role,
        effort=effort,
        budget_tokens=budget_tokens,
        server_held=dialect == "responses" and _is_held(fields, items),
    )


def _read_items(dialect: str, body: _Body) -> tuple[list[msgspec.Raw], str | None]:
    """Return the messages and who spoke last."""
    if dialect in _TEXT_DIALECTS:
        return [], None
    if dialect == "responses":
        if bytes(body.input).startswith(b'"'):
            return [], "user"
        items = conversation.read_items(body.input) or []
    else:
        found = conversation.read_items(body.messages)
        if found is None and dialect != "ollama_chat":  # where none loads the model
            got = bytes(body.messages)[:40].decode("utf-8", "replace") or "none"
            raise WireError(f"{dialect} request: got messages {got}, wanted a list")
        items = found or []
    return items, conversation.read_role(items[-1]) if items else None


def _read_limit(dialect: str, body: _Body) -> tuple[int | None, str | None]:
    for key in _LIMITS[dialect]:
        outer, _, name = key.rpartition(".")
        values = object_of(getattr(body, outer)) if outer else None
        value = getattr(body, name) if values is None else values.get(name)
        if (tokens := count_of(value)) is not None:
            return tokens, key
    return None, None


def _read_n(dialect: str, body: _Body) -> int:
    if dialect not in _OF_SEVERAL:
        return 1
    n = next((n for n in (body.n, body.n_cmpl) if type(n) is int), 1)
    prompts = conversation.read_items(body.prompt) or []
    # token ids make one prompt, in llama.cpp with texts between them
    is_one = any(bytes(prompt)[:1] in b"-0123456789" for prompt in prompts)
    return n if is_one else n * max(1, len(prompts))


def _has_items(raw: msgspec.Raw) -> bool:
    text = bytes(raw)
    return text.startswith(b"[") and not _EMPTY_LIST.fullmatch(text)


def _read_tool_choice(value: Any) -> str | None:
    if not isinstance(value, dict):
        return text_of(value) or None
    kind = value.get("type")  # Anthropic's are objects, too
    if kind == "any":
        return "required"
    return kind if kind in ("auto", "none") else "named"


def _has_logprobs(dialect: str, body: _Body) -> bool:
    if dialect == "completions" and type(body.logprobs) is int:
        return True  # 0: of the token chosen
    is_wanted = body.logprobs or body.top_logprobs or body.n_probs
    return bool(is_wanted) or _LOGPROBS in list_of(body.include)


def _has_form(body: _Body) -> bool:
    openai = object_of(body.response_format).get("type")
    responses = object_of(object_of(body.text).get("format")).get("type")
    return any(kind not in (None, "text") for kind in (openai, responses)) or any(
        (
            body.format,  # Ollama
            body.output_format,  # Anthropic
            object_of(body.output_config).get("format"),  # Anthropic, newer
            body.json_schema,  # llama.cpp
            body.grammar,  # llama.cpp
            body.structured_outputs,  # vLLM
            body.guided_json,  # vLLM, older
        )
    )


def _is_held(body: _Body, items: list[msgspec.Raw]) -> bool:
    """Look for what the body only refers to, and for turns that outlive the client."""
    is_held = body.previous_response_id or body.conversation or body.background
    is_prompt = bytes(body.prompt).startswith(b"{")
    return bool(is_held) or is_prompt or conversation.has_type(items, "item_reference")
