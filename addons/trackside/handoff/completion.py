"""Render the prompt, close the reasoning in it, and complete it as plain text.

For engines that continue no message but complete any text. What only a chat request
can ask for is lost on the way, so it is only for requests that ask for none of it.
Source: llama.cpp tools/server (2026-10); vLLM 0.33 completion/protocol.py; Ollama 0.33
openai/openai.go (`FromCompleteRequest`).
"""

from collections.abc import Generator

import msgspec

from trackside.handoff import raw, text
from trackside.handoff.body import Members, has_media, join, split
from trackside.handoff.strategy import Call, Calls, Turn, limited, streamed
from trackside.handoff.tokenised import prompt_of, read, text_of

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
_RENDERED = ("messages", "chat_template", "chat_template_kwargs", "reasoning_effort")
_CLOSING_TOKENS = 256
"""Far more than the closing sentence and the tags around it."""


class _Rendered(msgspec.Struct):
    prompt: str


class Completion:
    """Phase 2 by `/v1/completions` behind a rendered prompt."""

    def fits(self, turn: Turn) -> bool:
        """See `Strategy.fits`."""
        if turn.dialect in text.PATHS:
            # Ollama puts the prompt into a message: reasoning would be the user's.
            return turn.engine != "ollama" and text.fits(turn)
        if turn.dialect in raw.PATHS:
            has_tools = turn.has_tools and turn.dialect == "ollama_chat"
            return not has_tools and "model" in turn.members
        messages = turn.members.get("messages")
        if messages is None or turn.engine not in ("llama.cpp", "vllm"):
            return False
        form = turn.members.get("response_format", b"null")
        has_form = form.startswith(b"{") and split(form).get("type") != b'"text"'
        return not (turn.has_tools or has_media(messages) or has_form)

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
            told = yield from prompt_of(turn.members)
            prompt = yield from text_of(told.tokens, turn.members)
            if members.get("max_tokens", b"null") == b"null" and told.max_model_len:
                # Here vLLM's own default is 16 tokens, for a chat it is all there are.
                used_tokens = len(told.tokens) + turn.spent_tokens + _CLOSING_TOKENS
                room_tokens = told.max_model_len - used_tokens
                members["max_tokens"] = b"%d" % max(1, room_tokens)
        members = {k: v for k, v in streamed(members).items() if k not in _CHAT_ONLY}
        closed = prompt + text.closed_block(prompt, turn.kept)
        members["prompt"] = msgspec.json.encode(closed)
        # The rendered text carries the template's own start token.
        members["add_special_tokens"] = b"false"
        return Call(PATH, join(members), reads="completions")


def _apply_template(members: Members) -> Generator[Call, bytes, str]:
    body = {key: members[key] for key in _RENDERED if key in members}
    answer = yield Call("/apply-template", join(body))
    return read(answer, _Rendered).prompt
