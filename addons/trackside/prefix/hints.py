"""What a client says of itself: agent, session, thread, kind of call. Evidence only."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SESSION = (
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-session-id",
    "x-session-affinity",
    "x-affinity",
    "conversation_id",
)
_THREAD = ("x-claude-code-agent-id", "thread-id", "x-amp-thread-id", "x-session-id")
_USER_SESSION = re.compile(r"_session_([0-9a-f-]{36})")
_KIND = ("x-claude-code-request-class", "x-openai-subagent")
# Calls a harness makes for itself, told by what it puts into these headers.
_COMPACTION = {"compaction", "compact"}
_SIDE = {"auxiliary", "review", "memory_consolidation"}


@dataclass(frozen=True, slots=True)
class Hints:
    """What headers and body members tell; "" where nothing is told."""

    agent: str = ""  # product name of the user agent
    session: str = ""  # shared by the threads of one run
    thread: str = ""  # of one thread
    kind: str = ""  # "side", "compaction" or ""

    def is_same_run(self, others: "Hints") -> bool:
        """Return whether both can be of one run: its session, or else its agent."""
        if self.session and others.session:
            return self.session == others.session
        return self.agent == others.agent


def read_hints(headers: Mapping[str, str]) -> Hints:
    """Return what the headers tell. Names must be in lower case.

    Example:
        >>> read_hints({"user-agent": "codex_exec/0.171.0 (Debian)", "thread-id": "t"})
        Hints(agent='codex_exec', session='', thread='t', kind='')
    """
    told = {headers.get(name, "") for name in _KIND}
    told.add(
        str(_json_object(headers.get("x-codex-turn-metadata")).get("request_kind"))
    )
    kind = ""
    if told & _COMPACTION or "x-claude-code-compaction" in headers:
        kind = "compaction"
    elif told & _SIDE or "x-openai-memgen-request" in headers:
        kind = "side"
    return Hints(
        agent=_agent(headers.get("user-agent", "")),
        session=_first(headers, _SESSION),
        thread=_first(headers, _THREAD),
        kind=kind,
    )


def read_session(members: Mapping[str, bytes]) -> str:
    """Return the session that the members of a body tell, or "".

    Example:
        >>> read_session({"prompt_cache_key": b'"9f"'})
        '9f'
    """
    key = members.get("prompt_cache_key", b"")
    told = key[1:-1].decode("utf-8", "replace") if key.startswith(b'"') else ""
    return _clean(_user_session(members.get("metadata", b"")) or told)


def _agent(user_agent: str) -> str:
    return _clean(user_agent.split("/")[0].split(" ")[0][:40])


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return _clean(next((headers[name] for name in names if headers.get(name)), ""))


def _clean(text: str) -> str:
    """Return text that can be saved anywhere: clients may send any bytes."""
    return text.encode("utf-8", "replace").decode()


def _user_session(metadata: bytes) -> str:
    """Read the session out of `metadata.user_id`: JSON, or a name that ends in it."""
    user = _json_object(metadata).get("user_id")
    if not isinstance(user, str):
        return ""
    if match := _USER_SESSION.search(user):
        return match[1]
    return str(_json_object(user).get("session_id") or "")


def _json_object(text: str | bytes | None) -> dict[str, Any]:
    try:
        value = json.loads(text or b"{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
