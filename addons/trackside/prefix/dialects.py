"""What each wire format keeps where, and what of it no prompt shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

CHAT = "chat"
RESPONSES = "responses"
MESSAGES = "messages"
COMPLETIONS = "completions"
OLLAMA_CHAT = "ollama_chat"
OLLAMA_GENERATE = "ollama_generate"

_EFFORT = {"reasoning_effort", "reasoning", "thinking", "think", "output_config"}
_TEMPLATE = {
    "chat_template",
    "chat_template_kwargs",
    "add_generation_prompt",
    "continue_final_message",
    "documents",
    "template",
    "suffix",
    "raw",
}
_LIMITS = {
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
    "n_predict",
    "thinking_budget",
    "thinking_token_budget",
}

PARAMETERS: Mapping[str, str] = MappingProxyType(
    {
        "model": "model",
        **dict.fromkeys(sorted(_TEMPLATE), "template_kwargs"),
        **dict.fromkeys(sorted(_EFFORT | {"enable_thinking"}), "effort"),
        "tool_choice": "tool_choice",
        "cache_salt": "salt",
        "lora": "salt",
        "adapter": "salt",
        "num_ctx": "num_ctx",
    }
)
"""Member -> sub of `params_changed`: what picks the cache or is rendered early."""

LIMITS = frozenset(_LIMITS | {"num_predict"})
"""Members that bound the answer and never reach the prompt."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One wire format, as far as the prompt is concerned."""

    name: str
    history: str  # member that holds the turns
    system: str | None  # member that holds the system text, if it has its own
    endings: tuple[str, ...]  # how the paths of its endpoints end
    message_keys: frozenset[str]  # keys of a message that a template may render
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Type of a part or item -> its keys that may reach the prompt."""
    is_open: bool = False  # engines hand keys they do not know to the template, too


_TEXT = frozenset({"type", "text"})
_CHAT_KEYS = frozenset(
    {
        *("role", "content", "name", "refusal", "prefix", "partial"),
        *("tool_calls", "function_call", "tool_name"),
        *("reasoning_content", "reasoning", "reasoning_details", "thinking"),
        *("audio", "images"),
    }
)
_RESPONSE_ITEMS = {
    "message": frozenset({"type", "role", "content", "name"}),
    "function_call": frozenset({"type", "name", "arguments", "namespace"}),
    "custom_tool_call": frozenset({"type", "name", "input"}),
    "function_call_output": frozenset({"type", "output"}),
    "custom_tool_call_output": frozenset({"type", "output"}),
    "reasoning": frozenset({"type", "summary", "content"}),
    "input_text": _TEXT,
    "output_text": _TEXT,
    "summary_text": _TEXT,
    "reasoning_text": _TEXT,
}
_BLOCKS = {
    "text": _TEXT,
    "thinking": frozenset({"type", "thinking"}),
    "tool_use": frozenset({"type", "name", "input"}),
    "tool_result": frozenset({"type", "content", "is_error"}),
}

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        dialect.name: dialect
        for dialect in (
            Dialect(
                CHAT,
                "messages",
                None,
                ("/chat/completions",),
                _CHAT_KEYS,
                {"text": _TEXT},
                is_open=True,
            ),
            Dialect(
                RESPONSES,
                "input",
                "instructions",
                ("/responses",),
                frozenset({"type", "role", "content", "name"}),
                _RESPONSE_ITEMS,
            ),
            Dialect(
                MESSAGES,
                "messages",
                "system",
                ("/messages",),
                frozenset({"role", "content"}),
                _BLOCKS,
            ),
            Dialect(
                OLLAMA_CHAT,
                "messages",
                None,
                ("/api/chat",),
                _CHAT_KEYS,
            ),
            Dialect(
                COMPLETIONS,
                "prompt",
                None,
                ("/v1/completions", "/completions"),
                frozenset(),
            ),
            Dialect(
                OLLAMA_GENERATE,
                "prompt",
                "system",
                ("/api/generate",),
                frozenset(),
            ),
        )
    }
)
"""The dialects by name. Longer endings stand before those they end with."""


def recognise_path(path: str) -> Dialect | None:
    """Return the dialect an endpoint speaks, or None for every other endpoint.

    Example:
        >>> recognise_path("/v1/chat/completions?beta=1").name
        'chat'
        >>> recognise_path("/v1/embeddings") is None
        True
    """
    bare = path.partition("?")[0].rstrip("/")
    for dialect in DIALECTS.values():
        if bare.endswith(dialect.endings):
            return dialect
    return None


_ANTHROPIC_MARKS = (b'"tool_use"', b'"tool_result"', b'"input_schema"', b'"thinking"')
_RESPONSES_MEMBERS = {"instructions", "store", "include", "reasoning", "stream"}
_OLLAMA_MEMBERS = {"options", "keep_alive", "think", "context"}
_OPENAI_MEMBERS = {"stream_options", "max_tokens", "max_completion_tokens"}


def recognise_members(members: Mapping[str, bytes]) -> Dialect | None:
    """Return the dialect of a body of unknown path from its members, or None.

    `members` maps a name to the bytes of its value. O(bytes) at worst.

    Example:
        >>> recognise_members({"input": b"[]", "instructions": b'""'}).name
        'responses'
        >>> recognise_members({"input": b'"a text to embed"'}) is None
        True
    """
    names = members.keys()
    if "messages" in members:
        if "system" in members or _is_anthropic(members):
            return DIALECTS[MESSAGES]
        if _OLLAMA_MEMBERS & names and not _OPENAI_MEMBERS & names:
            return DIALECTS[OLLAMA_CHAT]
        return DIALECTS[CHAT]
    if "prompt" in members:
        return DIALECTS[OLLAMA_GENERATE if _OLLAMA_MEMBERS & names else COMPLETIONS]
    if "input" in members and _RESPONSES_MEMBERS & names:
        return DIALECTS[RESPONSES]
    return None


def _is_anthropic(members: Mapping[str, bytes]) -> bool:
    if b'"tool_calls"' in members["messages"]:
        return False
    told = members["messages"] + members.get("tools", b"")
    return any(mark in told for mark in _ANTHROPIC_MARKS)
