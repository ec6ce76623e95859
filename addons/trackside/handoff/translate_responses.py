"""An OpenAI responses request as the chat request that engines make of it.

Sources: llama.cpp tools/server/server-chat.cpp (2026), vLLM 0.33
entrypoints/openai/responses, Ollama 0.33 openai/responses.go and openai.go,
https://platform.openai.com/docs/api-reference/responses.
"""

from typing import Any

import msgspec

from trackside.handoff.body import Members, values
from trackside.handoff.strategy import Engine, reasoning_key
from trackside.wire.errors import WireError

type Object = dict[str, Any]

_OTHER = {
    *("input", "instructions", "tools", "tool_choice", "text", "reasoning"),
    *("max_output_tokens", "max_tool_calls", "previous_response_id", "conversation"),
    *("include", "store", "background", "truncation", "prompt", "stream", "metadata"),
    *("service_tier", "prompt_cache_key", "safety_identifier", "client_metadata"),
}
"""Members that chat knows under another name, or not at all."""

_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")


def to_chat(members: Members, engine: Engine) -> Members:
    """Return the members of the chat request that asks for the same.

    Raises:
        WireError: the engine holds a part of the request itself, or something in it
            has no counterpart or is malformed.

    Example:
        >>> to_chat({"input": b'"Hi"', "max_output_tokens": b"9"}, "openai")
        {'messages': b'[{"role":"user","content":"Hi"}]', 'max_tokens': b'9'}
    """
    try:
        return _translate(values(members), engine)
    except (AttributeError, KeyError, TypeError) as error:
        raise WireError(f"responses request, not translatable: {error!r}") from error


def _translate(body: Object, engine: Engine) -> Members:
    for key in ("previous_response_id", "conversation", "prompt"):
        if body.get(key):
            raise WireError(f"responses request, {key}: the engine holds its history")
    chat: Object = {key: body[key] for key in body if key not in _OTHER}
    chat["messages"] = _messages(body, engine)
    if body.get("max_output_tokens") is not None:
        chat["max_tokens"] = body["max_output_tokens"]
    # Other tools are the server's own; engines leave them out as well.
    tools = [
        _tool(tool, engine)
        for tool in body.get("tools") or ()
        if tool.get("type") == "function"
    ]
    if tools:
        chat["tools"] = tools
        chat["tool_choice"] = _choice(body.get("tool_choice") or "auto")
    if effort := (body.get("reasoning") or {}).get("effort"):
        chat["reasoning_effort"] = effort
    form = (body.get("text") or {}).get("format") or {}
    if form.get("type") == "json_schema":
        schema = {k: v for k, v in form.items() if k != "type"}
        chat["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif form.get("type", "text") != "text":
        chat["response_format"] = form
    return {key: msgspec.json.encode(value) for key, value in chat.items()}


def _messages(body: Object, engine: Engine) -> list[Object]:
    messages: list[Object] = []
    if body.get("instructions") is not None:
        messages.append({"role": "system", "content": body["instructions"]})
    given = body["input"]
    if isinstance(given, str):
        return [*messages, {"role": "user", "content": given}]
    for item in given:
        _add(messages, item, engine)
    return messages


def _add(messages: list[Object], item: Object, engine: Engine) -> None:
    """Add an item; those of one assistant turn become one message."""
    match item.get("type", "message"):
        case "message":
            content = _content(item["content"], engine)
            if item["role"] != "assistant":
                messages.append({"role": item["role"], "content": content})
                return
            own = _own(messages)
            own["content"] = _joined(own["content"], content, engine)
        case "reasoning":
            parts = item.get("content") or item.get("summary") or ()
            if text := "".join(part["text"] for part in parts):
                _own(messages)[reasoning_key(engine)] = text
        case "function_call":
            function = {"name": item["name"], "arguments": item["arguments"]}
            call = {"id": item["call_id"], "type": "function", "function": function}
            _own(messages).setdefault("tool_calls", []).append(call)
        case "function_call_output":
            output = _content(item["output"], engine)
            told = {"role": "tool", "tool_call_id": item["call_id"], "content": output}
            messages.append(told)
        case kind:
            raise WireError(f"responses request, no chat counterpart of {kind!r}")


def _own(messages: list[Object]) -> Object:
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": ""})
    return messages[-1]


def _content(content: Any, engine: Engine) -> Any:
    """Return plain text where there is nothing else, as templates like it best.

    Ollama makes a message of each part, and drops the reasoning beside several.
    """
    if isinstance(content, str):
        return content
    parts = [_part(part) for part in content]
    is_text = all(part["type"] == "text" for part in parts)
    if is_text and (len(parts) == 1 or engine == "ollama"):
        return "".join(part["text"] for part in parts)
    return parts


def _joined(before: Any, content: Any, engine: Engine) -> Any:
    if not before:
        return content
    are_texts = isinstance(before, str) and isinstance(content, str)
    if are_texts and engine == "ollama":
        return f"{before}{content}"
    return _parts(before) + _parts(content)


def _parts(content: Any) -> list[Object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)


def _part(part: Object) -> Object:
    if part["type"] in _TEXTS:
        return {"type": "text", "text": part["text"]}
    if part["type"] == "input_image":
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    raise WireError(f"responses request, no chat counterpart of {part['type']!r}")


def _tool(tool: Object, engine: Engine) -> Object:
    function = {key: value for key, value in tool.items() if key != "type"}
    if engine == "llama.cpp":  # its default, which templates may show the model
        function.setdefault("strict", True)
    return {"type": "function", "function": function}


def _choice(choice: Any) -> Any:
    if isinstance(choice, str):
        return choice
    return {"type": "function", "function": {"name": choice["name"]}}
