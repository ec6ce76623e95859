"""The agents: how each is configured, called, and told to write and to read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agents.play import CONTENT, FILE, TASK
from agents.speech import MODEL

KEY = "none"
CTX_TOKENS = 128_000
OUTPUT_TOKENS = 8_000


class Agent(Protocol):
    """One agent of the npm registry."""

    @property
    def package(self) -> str:
        """Its name there."""
        ...

    @property
    def dialect(self) -> str:
        """What it speaks to the engine."""
        ...

    def command(self, cache: Path) -> Sequence[str | Path]:
        """Return what runs it on the task, from the folder it was installed in."""
        ...

    def configure(self, home: Path, url: str) -> Mapping[str, str]:
        """Write its settings below a home of its own; return more environment."""
        ...

    def call(self, step: int, folder: str) -> tuple[str, Mapping[str, Any]]:
        """Return the tool call of a step; see `agents.play.Calls`."""
        ...


@dataclass(frozen=True)
class QwenCode:
    """qwen-code, over OpenAI chat."""

    package: str = "@qwen-code/qwen-code"
    dialect: str = "chat"

    def command(self, cache: Path) -> Sequence[str | Path]:
        """See `Agent.command`."""
        script = cache / "node_modules" / self.package / "cli.js"
        return ["node", script, "--yolo", "-p", TASK]

    def configure(self, home: Path, url: str) -> Mapping[str, str]:
        """See `Agent.configure`."""
        settings = {
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "openai"}},
            "telemetry": {"enabled": False},
        }
        _write(home / ".qwen" / "settings.json", json.dumps(settings))
        return {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_MODEL": MODEL,
        }

    def call(self, step: int, folder: str) -> tuple[str, Mapping[str, Any]]:
        """See `Agent.call`."""
        path = {"file_path": f"{folder}/{FILE}"}
        if step:
            return "read_file", path
        return "write_file", {**path, "content": CONTENT}


@dataclass(frozen=True)
class OpenCode:
    """opencode, over Anthropic messages."""

    package: str = "opencode-ai"
    dialect: str = "messages"

    def command(self, cache: Path) -> Sequence[str | Path]:
        """See `Agent.command`: what an install script would have linked."""
        found = sorted(cache.glob("node_modules/opencode-*/bin/opencode"))
        return [*found[:1], "run", "--model", f"local/{MODEL}", TASK]

    def configure(self, home: Path, url: str) -> Mapping[str, str]:
        """See `Agent.configure`."""
        model = {
            "name": MODEL,
            "reasoning": True,
            "limit": {"context": CTX_TOKENS, "output": OUTPUT_TOKENS},
        }
        provider = {
            "npm": "@ai-sdk/anthropic",
            "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
            "models": {MODEL: model},
        }
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "permission": "allow",
            "provider": {"local": provider},
        }
        _write(home / ".config" / "opencode" / "opencode.json", json.dumps(settings))
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }

    def call(self, step: int, folder: str) -> tuple[str, Mapping[str, Any]]:
        """See `Agent.call`."""
        path = {"filePath": f"{folder}/{FILE}"}
        return ("read", path) if step else ("write", {"content": CONTENT, **path})


@dataclass(frozen=True)
class Codex:
    """codex, over OpenAI responses."""

    package: str = "@openai/codex"
    dialect: str = "responses"

    def command(self, cache: Path) -> Sequence[str | Path]:
        """See `Agent.command`."""
        script = cache / "node_modules" / self.package / "bin" / "codex.js"
        sandbox = ("--skip-git-repo-check", "--sandbox", "danger-full-access")
        return ["node", script, "exec", *sandbox, TASK]

    def configure(self, home: Path, url: str) -> Mapping[str, str]:
        """See `Agent.configure`."""
        settings = f"""
model = "{MODEL}"
model_provider = "local"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.local]
name = "local"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
request_max_retries = 0
stream_max_retries = 0
"""
        _write(home / ".codex" / "config.toml", settings)
        return {"CODEX_HOME": str(home / ".codex"), "LOCAL_KEY": KEY}

    def call(self, step: int, folder: str) -> tuple[str, Mapping[str, Any]]:
        """See `Agent.call`."""
        write = f"printf '{CONTENT.rstrip()}\\n' > {FILE}"
        return "exec_command", {"cmd": f"cat {FILE}" if step else write}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


AGENTS: dict[str, Agent] = {
    "qwen-code": QwenCode(),
    "opencode": OpenCode(),
    "codex": Codex(),
}
