"""Prompts as the engine's own tokeniser has them: `/tokenize` and `/detokenize`.

Sources: vLLM 0.33 tokenize/protocol.py and chat_completion/protocol.py
(`build_chat_params`), SGLang 0.5.23 entrypoints/openai/serving_tokenize.py.
"""

from collections.abc import Generator

import msgspec

from trackside.handoff.body import Members, join, split
from trackside.handoff.strategy import Call
from trackside.wire.edit import add_members
from trackside.wire.errors import WireError

TAIL_TOKENS = 24
"""More than a generation prompt with the tag that opens the reasoning."""

_RENDERED = ("messages", "tools", "chat_template")
_RENDERED_BY_SGLANG = (
    "messages",
    "tools",
    "tool_choice",
    "reasoning_effort",
    "chat_template_kwargs",
)


class Tokens(msgspec.Struct):
    """The answer of `/tokenize`."""

    tokens: list[int]
    max_model_len: int | None = None
    token_strs: list[str] | None = None


class _Text(msgspec.Struct):
    prompt: str


class _TextOfSglang(msgspec.Struct):
    text: str


def prompt_of(members: Members) -> Generator[Call, bytes, Tokens]:
    """Return the prompt that vLLM renders of a chat request.

    Raises:
        WireError: the answer has no token ids.
    """
    body = {key: members[key] for key in _RENDERED if key in members}
    if body.get("tools", b"null") in (b"null", b"[]"):
        body.pop("tools", None)
    body["chat_template_kwargs"] = _template_kwargs(members)
    answer = yield Call("/tokenize", join({**_model(members), **body}))
    return read(answer, Tokens)


def tokens_of(text: str, members: Members) -> Generator[Call, bytes, Tokens]:
    """Return a text's tokens, and what each of them stands for."""
    body = {
        **_model(members),
        "prompt": msgspec.json.encode(text),
        "add_special_tokens": b"false",
        "return_token_strs": b"true",
    }
    return read((yield Call("/tokenize", join(body))), Tokens)


def text_of(tokens: list[int], members: Members) -> Generator[Call, bytes, str]:
    """Return the text of vLLM's tokens, special ones included."""
    body = {**_model(members), "tokens": msgspec.json.encode(tokens)}
    return read((yield Call("/detokenize", join(body))), _Text).prompt


def tail_in_sglang(members: Members) -> Generator[Call, bytes, str]:
    """Return how the prompt ends that SGLang renders of a chat request."""
    body = {key: members[key] for key in _RENDERED_BY_SGLANG if key in members}
    answer = yield Call("/v1/tokenize", join({**_model(members), **body}))
    tail = read(answer, Tokens).tokens[-TAIL_TOKENS:]
    body = {"tokens": msgspec.json.encode(tail), "skip_special_tokens": b"false"}
    answer = yield Call("/v1/detokenize", join({**_model(members), **body}))
    return read(answer, _TextOfSglang).text


def _model(members: Members) -> Members:
    return {"model": members["model"]} if "model" in members else {}


def _template_kwargs(members: Members) -> bytes:
    """Return what vLLM hands a chat's template: /tokenize itself knows no effort."""
    told = members.get("chat_template_kwargs", b"{}")
    kwargs = told if told.startswith(b"{") else b"{}"
    effort = members.get("reasoning_effort", b"null")
    if effort == b"null":
        return kwargs
    if b'"enable_thinking"' not in kwargs:
        kwargs = add_members(kwargs, {"enable_thinking": effort != b'"none"'})
    return join({**split(kwargs), "reasoning_effort": effort})


def read[T](answer: bytes, kind: type[T]) -> T:
    """Return what an engine's JSON answer says.

    Raises:
        WireError: it is no such thing.
    """
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        wanted = kind.__struct_fields__[0]  # type: ignore[attr-defined]
        raise WireError(f"wanted `{wanted}` in the engine's answer: {error}") from error
