from __future__ import annotations

import json

import pytest

from trackside.prefix.hints import Hints, read_hints, read_session


@pytest.mark.parametrize(
    ("headers", "hints"),
    [
        pytest.param({}, Hints(), id="none"),
        pytest.param(
            {
                "user-agent": "claude-cli/2.1.283 (external, cli)",
                "x-claude-code-session-id": "s",
                "x-claude-code-agent-id": "w",
            },
            Hints("claude-cli", "s", "w"),
            id="claude",
        ),
        pytest.param(
            {"x-claude-code-request-class": "auxiliary"}, Hints(kind="side"), id="aux"
        ),
        pytest.param(
            {"x-claude-code-request-class": "main"}, Hints(), id="claude-main"
        ),
        pytest.param(
            {
                "session-id": "root",
                "thread-id": "child",
                "x-codex-turn-metadata": '{"request_kind":"turn"}',
            },
            Hints(session="root", thread="child"),
            id="codex",
        ),
        pytest.param(
            {"x-codex-turn-metadata": '{"request_kind":"compaction"}'},
            Hints(kind="compaction"),
            id="codex-compaction",
        ),
        pytest.param({"x-codex-turn-metadata": "{oops"}, Hints(), id="broken"),
        pytest.param(
            {"x-openai-subagent": "review"}, Hints(kind="side"), id="subagent"
        ),
        pytest.param(
            {"x-session-id": "s", "x-session-affinity": "s"},
            Hints(session="s", thread="s"),
            id="opencode",
        ),
        pytest.param({"x-session-affinity": "n"}, Hints(session="n"), id="nanobot"),
        pytest.param({"x-affinity": "v"}, Hints(session="v"), id="vibe"),
        pytest.param(
            {"x-client-request-id": "new-each-time"}, Hints(), id="request-id"
        ),
    ],
)
def test_headers_of_known_agents_are_understood(
    headers: dict[str, str], hints: Hints
) -> None:
    assert read_hints(headers) == hints


SESSION = "0e37df36-f698-4ce5-8d2a-1b2c3d4e5f60"


@pytest.mark.parametrize(
    ("user", "session"),
    [
        pytest.param(f"user_1_account__session_{SESSION}", SESSION, id="name"),
        pytest.param(json.dumps({"session_id": "s"}), "s", id="json"),
        pytest.param("somebody", "", id="neither"),
        pytest.param("[1]", "", id="list"),
        pytest.param(7, "", id="number"),
    ],
)
def test_a_session_is_read_from_the_user_id(user: object, session: str) -> None:
    members = {"metadata": json.dumps({"user_id": user}).encode()}
    assert read_session(members) == session


@pytest.mark.parametrize("metadata", [b"", b"null", b"{", b"[" * 100_000, b"\xff"])
def test_nonsense_in_members_tells_nothing(metadata: bytes) -> None:
    assert read_session({"metadata": metadata, "prompt_cache_key": b"7"}) == ""
