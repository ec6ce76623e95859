"""An Anthropic messages request as the chat request that engines make of it.

Engines that speak both dialects render a messages request as chat; what is rendered
alike is found in the cache. Where they differ it is done as the engine does it.
Sources: llama.cpp tools/server/server-chat.cpp, entrypoints/anthropic/serving.py of
vLLM and of SGLang, Ollama 0.33 anthropic/anthropic.go and openai/openai.go (all 2026),
https://docs.anthropic.com/en/api/messages.
"""

from typing import Any

import msgspec

from trackside.handoff.body import Members, values
from trackside.handoff.strategy import Engine, reasoning_key
from trackside.wire.errors import WireError

type Object = dict[str, Any]

_SAME = ("model", "temperature", "top_p", "top_k", "max_tokens", "chat_template_kwargs")
_BILLING = "x-anthropic-billing-header:"
"""Begins what Claude Code tells of itself; it ends in a hash of each request."""

_NO_HASH = "fffff"
_LEVELS_OF_OLLAMA = {level: level for level in ("low", "medium", "high", "max")}
_LEVELS_OF_OLLAMA["xhigh"] = "high"
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def to_chat(members: Members, engine: Engine) -> Members:
    """Return the members of the chat request that asks for the same.

    Raises:
        WireError: something in the messages has no counterpart, or is malformed.

    Example:
        >>> to_chat({"messages": b'[{"role":"user","content":"Hi"}]'}, "openai")
        {'messages': b'[{"role":"user","content":"Hi"}]'}
    """
    try:
        return _translate(values(members), engine)
    except (AttributeError, KeyError, TypeError) as error:
        raise WireError(f"messages request, not translatable: {error!r}") from error


def _translate(body: Object, engine: Engine) -> Members:
    chat: Object = {key: body[key] for key in _SAME if key in body}
    messages = _system(body.get("system"), engine)
    for message in body["messages"]:
        messages += _message(message, engine)
    chat["messages"] = messages
    if "stop_sequences" in body:
        chat["stop"] = body["stop_sequences"]
    if tools := body.get("tools"):
        chat["tools"] = [_tool(tool) for tool in tools]
    if choice := body.get("tool_choice"):
        chat["tool_choice"] = _choice(choice, engine)
        if choice.get("disable_parallel_tool_use"):
            chat["parallel_tool_calls"] = False
    if effort := _effort(body, engine):
        chat["reasoning_effort"] = effort
    return {key: msgspec.json.encode(value) for key, value in chat.items()}


def _effort(body: Object, engine: Engine) -> Any:
    """Return the effort in the words of chat, which Ollama takes otherwise there."""
    effort = (body.get("output_config") or {}).get("effort")
    if engine != "ollama":
        return effort
    is_plain = (body.get("thinking") or {}).get("type") == "enabled"
    return None if is_plain else _LEVELS_OF_OLLAMA.get(str(effort))


def _system(system: Any, engine: Engine) -> list[Object]:
    if not system:
        return []
    if isinstance(system, str):
        return [{"role": "system", "content": _billed(system, engine)}]
    texts = [block["text"] for block in system if block["type"] == "text"]
    if engine == "vllm":
        texts = [text for text in texts if not text.startswith(_BILLING)]
    between = "\n" if engine == "sglang" else ""
    content = between.join(_billed(text, engine) for text in texts)
    return [{"role": "system", "content": content}] if content else []


def _billed(text: str, engine: Engine) -> str:
    """Return Claude Code's own line as llama.cpp has it: with no request's hash."""
    at = text.find("cch=", len(_BILLING)) + len("cch=")
    ends = text[at + len(_NO_HASH) : at + len(_NO_HASH) + 1] == ";"
    if engine != "llama.cpp" or not text.startswith(_BILLING) or at < 4 or not ends:
        return text
    return text[:at] + _NO_HASH + text[at + len(_NO_HASH) :]


def _message(message: Object, engine: Engine) -> list[Object]:
    """Return a message's chat messages: tool results stand apart from the rest."""
    role, content = message["role"], message["content"]
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    parts: list[Object] = []
    calls: list[Object] = []
    results: list[Object] = []
    thoughts: list[str] = []
    for block in content:
        match block["type"]:
            case "text":
                parts.append({"type": "text", "text": block["text"]})
            case "thinking":
                thoughts.append(block["thinking"])
            case "redacted_thinking":
                pass
            case "image":
                parts.append(_image(block["source"]))
            case "tool_use":
                calls.append(_call(block))
            case "tool_result":
                results.append(_result(block, engine))
            case kind:
                raise WireError(f"messages request, no chat counterpart of {kind!r}")
    own: Object = {"role": role, "content": _content(parts, engine)}
    if calls:
        own["tool_calls"] = calls
    if thoughts:
        own[reasoning_key(engine)] = "".join(thoughts)
    said = [own] if parts or calls or thoughts else []
    return [*said, *results] if engine == "llama.cpp" else [*results, *said]


def _content(parts: list[Object], engine: Engine) -> Any:
    """Return plain text where there is nothing else.

    Ollama makes a message of each part, and drops the reasoning beside several.
    """
    is_text = all(part["type"] == "text" for part in parts)
    if is_text and (len(parts) < 2 or engine == "ollama"):
        return "".join(part["text"] for part in parts)
    return parts


def _image(source: Object) -> Object:
    url = source.get("url") or f"data:{source['media_type']};base64,{source['data']}"
    return {"type": "image_url", "image_url": {"url": url}}


def _call(block: Object) -> Object:
    arguments = msgspec.json.encode(block["input"]).decode()
    function = {"name": block["name"], "arguments": arguments}
    return {"id": block["id"], "type": "function", "function": function}


def _result(block: Object, engine: Engine) -> Object:
    content = block.get("content") or ""
    if not isinstance(content, str):
        parts = [
            _image(part["source"]) if part["type"] == "image" else part
            for part in content
        ]
        if any(part["type"] != "text" for part in parts):
            content = parts
        else:
            between = "" if engine in ("llama.cpp", "ollama") else "\n"
            content = between.join(part["text"] for part in parts)
    return {"role": "tool", "tool_call_id": block["tool_use_id"], "content": content}


def _tool(tool: Object) -> Object:
    if "input_schema" not in tool:
        raise WireError(f"messages request, tool of the server: {tool.get('type')!r}")
    function = {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "parameters": tool["input_schema"],
    }
    return {"type": "function", "function": function}


def _choice(choice: Object, engine: Engine) -> Any:
    if choice["type"] == "tool":
        if engine == "llama.cpp":  # knows no named choice
            return "required"
        return {"type": "function", "function": {"name": choice["name"]}}
    return _CHOICES[choice["type"]]
