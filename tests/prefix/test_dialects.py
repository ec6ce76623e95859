from __future__ import annotations

import pytest

from prefix.conversations import WRITERS, conversation
from trackside.prefix.dialects import recognise_members, recognise_path
from trackside.prefix.spans import decode_members


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/chat/completions", "chat"),
        ("/api/v0/chat/completions/", "chat"),
        ("/v1/responses?x=1", "responses"),
        ("/v1/messages", "messages"),
        ("/v1/messages?beta=true", "messages"),
        ("/v1/completions", "completions"),
        ("/api/chat", "ollama_chat"),
        ("/api/generate", "ollama_generate"),
        ("/v1/messages/count_tokens", None),
        ("/v1/models", None),
        ("/v1/responses/resp_1/cancel", None),
    ],
)
def test_endpoints_speak_their_dialect(path: str, name: str | None) -> None:
    dialect = recognise_path(path)
    assert (dialect and dialect.name) == name


@pytest.mark.parametrize("name", WRITERS)
def test_bodies_tell_their_dialect(name: str) -> None:
    members = decode_members(conversation(name).body())
    dialect = recognise_members({key: bytes(raw) for key, raw in members.items()})
    assert dialect is not None
    assert dialect.name == name


@pytest.mark.parametrize(
    ("members", "name"),
    [
        pytest.param({"prompt": b'"a"'}, "completions", id="completions"),
        pytest.param(
            {"prompt": b'"a"', "keep_alive": b"5"}, "ollama_generate", id="generate"
        ),
        pytest.param({"input": b'"a"', "model": b'"e"'}, None, id="embeddings"),
        pytest.param({"query": b'"a"'}, None, id="unknown"),
    ],
)
def test_short_bodies_tell_their_dialect(
    members: dict[str, bytes], name: str | None
) -> None:
    dialect = recognise_members(members)
    assert (dialect and dialect.name) == name
