"""Render the prompt, close the reasoning in it, and complete it as plain text.

For engines that continue no message but complete any text. What only a chat request
can ask for is lost on the way, so it is only for requests that ask for none of it.
Source: llama.cpp tools/server (2026-10); vLLM 0.33 completion/protocol.py,
tokenize/protocol.py and chat_completion/protocol.py (`build_chat_params`).
"""

from collections.abc import Generator

import msgspec

from trackside.handoff import raw, text
from trackside.handoff.body import Members, join, split
from trackside.handoff.strategy import Call, Calls, Turn, limited, streamed
from trackside.wire.edit import add_members
from trackside.wire.errors import WireError

PATH = "/v1/completions"

_CHAT_ONLY = {
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "chat_template",
    "chat_template_kwargs",
    "reasoning_effort",
    "reasoning_format",
    "max_completion_tokens",
    "logprobs",  # a number here, and told in another shape
    "top_logprobs",
}
_MEDIA = (b'"image_url"', b'"input_audio"', b'"video_url"', b'"input_image"')
_RENDERED = ("messages", "chat_template", "chat_template_kwargs", "reasoning_effort")
_CLOSING_TOKENS = 256
"""Far more than the closing sentence and the tags around it."""


class _Rendered(msgspec.Struct):
    prompt: str


class _Tokenised(msgspec.Struct):
    tokens: list[int]
    max_model_len: int | None = None


class Completion:
    """Phase 2 by `/v1/completions` behind a rendered prompt."""

    def fits(self, turn: Turn) -> bool:
        """See `Strategy.fits`."""
        if turn.dialect in text.PATHS:
            return text.fits(turn)
        if turn.dialect in raw.PATHS:
            has_tools = turn.has_tools and turn.dialect == "ollama_chat"
            return not has_tools and "model" in turn.members
        messages = turn.members.get("messages")
        if messages is None or turn.engine not in ("llama.cpp", "vllm"):
            return False
        has_media = any(kind in messages for kind in _MEDIA)
        form = turn.members.get("response_format", b"null")
        has_form = form.startswith(b"{") and split(form).get("type") != b'"text"'
        return not (turn.has_tools or has_media or has_form)

    def calls(self, turn: Turn) -> Calls:
        """See `Strategy.calls`."""
        if turn.dialect in text.PATHS:
            return text.continued(turn)
        if turn.dialect in raw.PATHS:
            return (yield from raw.calls(turn))
        members = limited(turn.members, turn.spent_tokens)
        if members.get("max_completion_tokens", b"null") != b"null":
            members["max_tokens"] = members["max_completion_tokens"]
        if turn.engine == "llama.cpp":
            prompt = yield from _apply_template(turn.members)
        else:
            prompt, room_tokens = yield from _detokenise(turn.members)
            if members.get("max_tokens", b"null") == b"null" and room_tokens:
                # Here vLLM's own default is 16 tokens, for a chat it is all there are.
                room_tokens -= turn.spent_tokens + _CLOSING_TOKENS
                members["max_tokens"] = b"%d" % max(1, room_tokens)
        members = {k: v for k, v in streamed(members).items() if k not in _CHAT_ONLY}
        opener, closer = text.block(prompt)
        closed = f"{prompt}{opener}{turn.kept}{closer}"
        members["prompt"] = msgspec.json.encode(closed)
        # The rendered text carries the template's own start token.
        members["add_special_tokens"] = b"false"
        return Call(PATH, join(members), reads="completions")


def _apply_template(members: Members) -> Generator[Call, bytes, str]:
    body = {key: members[key] for key in _RENDERED if key in members}
    answer = yield Call("/apply-template", join(body))
    return _read(answer, _Rendered).prompt


def _detokenise(members: Members) -> Generator[Call, bytes, tuple[str, int]]:
    """Return the prompt's text, and how many tokens may follow it (0: not told)."""
    model = {"model": members["model"]} if "model" in members else {}
    body = {key: members[key] for key in _RENDERED[:2] if key in members}
    body["chat_template_kwargs"] = _template_kwargs(members)
    answer = yield Call("/tokenize", join({**model, **body}))
    told = _read(answer, _Tokenised)
    tokens = msgspec.json.encode(told.tokens)
    answer = yield Call("/detokenize", join({**model, "tokens": tokens}))
    room_tokens = max(0, (told.max_model_len or 0) - len(told.tokens))
    return _read(answer, _Rendered).prompt, room_tokens


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


def _read[T](answer: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.DecodeError as error:
        wanted = kind.__struct_fields__[0]  # type: ignore[attr-defined]
        raise WireError(f"wanted `{wanted}` in the engine's answer: {error}") from error
