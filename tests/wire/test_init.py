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
        ("/v1/completions", None),
        ("/v1/mychat/completions", None),
        ("", None),
    ],
)
def test_the_path_tells_the_dialect(path, dialect):
    assert dialect_of(path) == dialect
    assert dialect is None or dialect in DIALECTS
