"""How hard a request asks the model to think, in every form that engines accept."""

from typing import Any

import msgspec

from trackside.wire.leaves import object_of

_OFF = frozenset({"none", "off", "disabled"})


class Thinking(msgspec.Struct, gc=False, kw_only=True):
    """The members of a request body that speak of thinking, unchecked."""

    reasoning_effort: Any = None  # OpenAI, vLLM, SGLang, llama.cpp, DeepSeek, Ollama
    reasoning: Any = None  # OpenRouter, Responses, SGLang; a word: LM Studio
    chat_template_kwargs: Any = None  # vLLM, SGLang, llama.cpp, mlx-lm, oMLX
    output_config: Any = None  # Anthropic
    think: Any = None  # Ollama
    thinking: Any = None  # Anthropic, DeepSeek, GLM
    enable_thinking: Any = None  # Qwen, mlx-vlm
    thinking_budget: Any = None  # Qwen, oMLX, mlx-vlm
    thinking_token_budget: Any = None  # vLLM
    thinking_budget_tokens: Any = None  # llama.cpp
    reasoning_budget_tokens: Any = None  # llama.cpp
    max_thinking_tokens: Any = None  # SGLang


def read_effort(body: Thinking) -> tuple[str | None, int | None]:
    """Return the effort named and the token budget for thinking, None if not told.

    The effort is in lower case and "none" where thinking is switched off. A switch
    that says off wins over a level, and one that says on tells no level.

    Example:
        >>> read_effort(Thinking(reasoning={"effort": "High", "max_tokens": 2000}))
        ('high', 2000)
    """
    kwargs = object_of(body.chat_template_kwargs)
    reasoning = object_of(body.reasoning)
    thinking = object_of(body.thinking)
    budget = _budget(
        thinking.get("budget_tokens"),
        reasoning.get("max_tokens"),
        body.thinking_budget,
        body.thinking_token_budget,
        body.thinking_budget_tokens,
        body.reasoning_budget_tokens,
        body.max_thinking_tokens,
        kwargs.get("thinking_budget"),
    )
    switches = (
        kwargs.get("enable_thinking"),
        kwargs.get("thinking"),
        body.enable_thinking,
        body.think,
        body.thinking,
        reasoning.get("enabled"),
        thinking.get("type") != "disabled",
        budget != 0,
    )
    levels = (
        body.reasoning_effort,
        reasoning.get("effort"),
        kwargs.get("reasoning_effort"),
        object_of(body.output_config).get("effort"),
        body.think,
        body.reasoning,
    )
    words = [word.lower() for word in levels if isinstance(word, str) and word]
    is_off = any(switch is False for switch in switches)
    if is_off or (words and words[0] in _OFF):
        return "none", budget
    return next((word for word in words if word != "on"), None), budget


def _budget(*values: Any) -> int | None:
    """Return the first budget told. Negative ones mean no limit."""
    return next((v for v in values if type(v) is int and v >= 0), None)
