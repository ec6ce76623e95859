"""Render the prompt, close the reasoning in it, and complete it as plain text.

For engines that continue no message but complete any text. Tool calls would come
back as text, so it is only for requests without tools.
"""

from collections.abc import Generator

import msgspec

from trackside.handoff.body import Members, join
from trackside.handoff.strategy import THINK, Call, Calls, Turn, limited, streamed
from trackside.wire.errors import WireError

PATH = "/v1/completions"

_CHAT_ONLY = {
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "chat_template_kwargs",
    "reasoning_effort",
    "reasoning_format",
    "max_completion_tokens",
}
_RENDERED = ("messages", "chat_template_kwargs", "reasoning_effort")


class _Rendered(msgspec.Struct):
    prompt: str


class _Tokenised(msgspec.Struct):
    tokens: list[int]


class Completion:
    """Phase 2 by `/v1/completions` behind a rendered prompt."""

    def fits(self, turn: Turn) -> bool:
        """See `Strategy.fits`."""
        renders = turn.engine in ("llama.cpp", "vllm")
        return renders and not turn.has_tools and "messages" in turn.members

    def calls(self, turn: Turn) -> Calls:
        """See `Strategy.calls`."""
        if turn.engine == "llama.cpp":
            prompt = yield from _apply_template(turn.members)
        else:
            prompt = yield from _detokenise(turn.members)
        members = limited(turn.members, turn.spent_tokens)
        if "max_completion_tokens" in members:
            members["max_tokens"] = members["max_completion_tokens"]
        members = {k: v for k, v in streamed(members).items() if k not in _CHAT_ONLY}
        text = prompt + reopened(prompt) + turn.kept + THINK[1]
        members["prompt"] = msgspec.json.encode(text)
        # The rendered text carries the template's own start token.
        members["add_special_tokens"] = b"false"
        return Call(PATH, join(members), reads="text")


def reopened(prompt: str) -> str:
    r"""Return the opening tag if the generation prompt left the block to the model.

    Example:
        >>> reopened("<|im_start|>assistant\n")
        '<think>\n'
        >>> reopened("<|im_start|>assistant\n<think>\n")
        ''
    """
    return "" if prompt.rstrip().endswith(THINK[0].rstrip()) else THINK[0]


def _apply_template(members: Members) -> Generator[Call, bytes, str]:
    body = {key: members[key] for key in _RENDERED if key in members}
    answer = yield Call("/apply-template", join(body))
    return _read(answer, _Rendered).prompt


def _detokenise(members: Members) -> Generator[Call, bytes, str]:
    model = {"model": members["model"]} if "model" in members else {}
    body = {key: members[key] for key in _RENDERED[:2] if key in members}
    answer = yield Call("/tokenize", join({**model, **body}))
    tokens = msgspec.json.encode(_read(answer, _Tokenised).tokens)
    answer = yield Call("/detokenize", join({**model, "tokens": tokens}))
    return _read(answer, _Rendered).prompt


def _read[T](answer: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.DecodeError as error:
        wanted = kind.__struct_fields__[0]  # type: ignore[attr-defined]
        raise WireError(f"wanted `{wanted}` in the engine's answer: {error}") from error
