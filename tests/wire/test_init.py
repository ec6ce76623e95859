import pytest

from trackside.wire import DIALECTS, dialect_of


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        ("/v1/chat/completions", "chat"),
        ("/chat/completions", "chat"),
        ("/api/v0/chat/completions", "chat"),
        ("/openai/deployments/m/chat/completions?api-version=1", "chat"),
        ("/v1/chat/completions/", "chat"),
        ("/v1/chat/completions/control", None),
        ("/v1/chat/completions/render", None),
        ("/v1/models?next=/chat/completions", None),
        ("/v1/completions", "completions"),
        ("/completions", "completions"),
        ("/beta/completions", "completions"),
        ("/completion", "llama_completion"),
        ("/v1/responses", "responses"),
        ("/openai/responses?api-version=1", "responses"),
        ("/v1/responses/resp_1", None),
        ("/v1/responses/resp_1/cancel", None),
        ("/v1/responses/compact", None),
        ("/v1/messages", "messages"),
        ("/anthropic/v1/messages?beta=true", "messages"),
        ("/v1/messages/count_tokens", None),
        ("/v1/messages/batches", None),
        ("/v1/threads/t_1/messages", None),
        ("/api/chat", "ollama_chat"),
        ("/api/generate", "ollama_generate"),
        ("/ollama/api/chat/", "ollama_chat"),
        ("/api/v1/chat", None),
        ("/api/embed", None),
        ("/generate", None),
        ("/apply-template", None),
        ("", None),
    ],
)
def test_the_path_tells_the_dialect(path, dialect):
    assert dialect_of(path) == dialect
    assert dialect is None or dialect in DIALECTS
