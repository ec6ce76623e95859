"""One conversation, written as each dialect writes it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

type Json = dict[str, Any]

SYSTEM = (
    "You are a coding agent. Work in small steps and say what you did.\n"
    "# Environment\nPlatform: linux\nWorking directory: /home/me/project\n"
)
README = "# project\n" + "A tool that counts words in many files at once.\n" * 20
SOURCE = "def count(text):\n    return len(text.split())\n" * 15


def read_tool(name: str, about: str) -> Json:
    """Return the neutral form of a tool."""
    return {
        "name": name,
        "description": about,
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "A file."},
                "limit": {"type": "integer"},
            },
            "required": ["path"],
        },
    }


@dataclass
class Call:
    """A tool call and what it returned."""

    id: str
    name: str
    arguments: Json
    result: str
    spacing: str = ", "  # between arguments, where they are sent as a text


@dataclass
class Step:
    """What a user said, or what the model answered and called."""

    role: str
    text: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    image: bool = False


@dataclass
class Conversation:
    """A request before it is written down."""

    dialect: str
    system: str = SYSTEM
    tools: list[Json] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    more: Json = field(default_factory=dict)  # members beside the prompt
    edit: Callable[[Json], None] = lambda body: None

    def body(self) -> bytes:
        """Return the request."""
        written = copy.deepcopy({**WRITERS[self.dialect](self), **self.more})
        self.edit(written)
        return json.dumps(written, separators=(",", ":"), ensure_ascii=False).encode()


def conversation(dialect: str) -> Conversation:
    """Return a conversation of a few steps."""
    return Conversation(
        dialect,
        tools=[
            read_tool("read_file", "Read a file."),
            read_tool("list_files", "List a folder."),
            read_tool("run", "Run a command."),
        ],
        steps=[
            Step("user", "Count the words in README.md and fix count()."),
            Step(
                "assistant",
                "Let me look. ",
                "The user wants a count. I should read the file first.",
                [
                    Call(
                        "call_a1",
                        "read_file",
                        {"path": "README.md", "limit": 9},
                        README,
                    )
                ],
            ),
            Step(
                "assistant",
                "Now the source and the folder. ",
                "Both can be read at once.",
                [
                    Call("call_b1", "read_file", {"path": "count.py"}, SOURCE),
                    Call("call_b2", "list_files", {"path": "."}, "README.md\ncount.py"),
                ],
            ),
            Step("assistant", "There are 180 words. ", "Simple enough."),
            Step("user", "Good. Now make it fast.", image=True),
            Step(
                "assistant",
                "I will measure first. ",
                "Measure before changing anything.",
                [Call("call_c1", "run", {"path": "bench.py"}, "ran in 3 s")],
            ),
        ],
    )


def answered(talk: Conversation) -> Conversation:
    """Return the conversation one step later."""
    later = copy.deepcopy(talk)
    result = "done, all tests pass"
    later.steps.append(
        Step(
            "assistant",
            "Applying the change. ",
            "The split is the slow part.",
            [Call("call_d1", "run", {"path": "apply.py", "limit": 1}, result)],
        )
    )
    return later


def _arguments(call: Call) -> str:
    return json.dumps(call.arguments, separators=(call.spacing, ": "))


def _chat(talk: Conversation, *, ollama: bool = False) -> Json:
    messages: list[Json] = [{"role": "system", "content": talk.system}]
    for step in talk.steps:
        message: Json = {"role": step.role, "content": step.text}
        if step.image and ollama:
            message["images"] = ["aGVsbG8="]
        elif step.image:
            url = {"url": "data:image/png;base64,aGVsbG8="}
            message["content"] = [
                {"type": "text", "text": step.text},
                {"type": "image_url", "image_url": url},
            ]
        if step.reasoning:
            message["thinking" if ollama else "reasoning_content"] = step.reasoning
        if step.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": call.arguments if ollama else _arguments(call),
                    },
                }
                for call in step.calls
            ]
        messages.append(message)
        for call in step.calls:
            result: Json = {"role": "tool", "content": call.result}
            result |= {"tool_name": call.name} if ollama else {"tool_call_id": call.id}
            messages.append(result)
    tools = [{"type": "function", "function": tool} for tool in talk.tools]
    return {"model": "coder", "messages": messages, "tools": tools}


def _responses(talk: Conversation) -> Json:
    items: list[Json] = []
    for number, step in enumerate(talk.steps):
        if step.reasoning:
            summary = [{"type": "summary_text", "text": step.reasoning}]
            items.append(
                {"type": "reasoning", "id": f"rs_{number}", "summary": summary}
            )
        kind = "input_text" if step.role == "user" else "output_text"
        content: list[Json] = [{"type": kind, "text": step.text}]
        if step.image:
            url = "data:image/png;base64,aGVsbG8="
            content.append({"type": "input_image", "image_url": url})
        items.append(
            {
                "type": "message",
                "id": f"msg_{number}",
                "role": step.role,
                "content": content,
            }
        )
        items += [
            {
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": _arguments(call),
            }
            for call in step.calls
        ]
        items += [
            {"type": "function_call_output", "call_id": call.id, "output": call.result}
            for call in step.calls
        ]
    tools = [{"type": "function", **tool} for tool in talk.tools]
    told = {"model": "coder", "instructions": talk.system, "input": items}
    return {**told, "tools": tools}


def _messages(talk: Conversation) -> Json:
    messages: list[Json] = []
    for step in talk.steps:
        content: list[Json] = []
        if step.reasoning:
            thinking = {"type": "thinking", "thinking": step.reasoning}
            content.append({**thinking, "signature": "c2ln"})
        content.append({"type": "text", "text": step.text})
        if step.image:
            source = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}
            content.append({"type": "image", "source": source})
        content += [
            {
                "type": "tool_use",
                "id": call.id,
                "name": call.name,
                "input": call.arguments,
            }
            for call in step.calls
        ]
        messages.append({"role": step.role, "content": content})
        if step.calls:
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call.id,
                    "content": [{"type": "text", "text": call.result}],
                }
                for call in step.calls
            ]
            messages.append({"role": "user", "content": results})
    tools = [
        {
            "name": tool["name"],
            "description": tool["description"],
            "input_schema": tool["parameters"],
        }
        for tool in talk.tools
    ]
    return {
        "model": "coder",
        "max_tokens": 4096,
        "messages": messages,
        "system": [{"type": "text", "text": talk.system}],
        "tools": tools,
    }


def _ollama(talk: Conversation) -> Json:
    return {**_chat(talk, ollama=True), "options": {"num_ctx": 32768}}


WRITERS: dict[str, Callable[[Conversation], Json]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "ollama_chat": _ollama,
}
