import pytest

from trackside.handoff.engines import (
    NAMES,
    PROBES,
    by_answer,
    by_server,
    by_upstream,
)


@pytest.mark.parametrize(
    ("header", "engine"),
    [
        ("llama.cpp", "llama.cpp"),
        ("BaseHTTP/0.6 Python/3.12.1", "mlx-lm"),
        ("uvicorn", None),
        ("nginx", None),
        ("", None),
    ],
)
def test_a_server_header_may_name_the_engine(header, engine):
    assert by_server(header) == engine


MODELS = b'{"object":"list","data":[{"id":"m","owned_by":"%s"}]}'


@pytest.mark.parametrize(
    ("path", "status", "body", "engine"),
    [
        ("/props", 200, b'{"default_generation_settings":{}}', "llama.cpp"),
        ("/props", 404, b'{"default_generation_settings":{}}', None),
        ("/props", 200, b'{"detail":"no"}', None),
        ("/v1/models", 200, MODELS % b"llamacpp", "llama.cpp"),
        ("/v1/models", 200, MODELS % b"vllm", "vllm"),
        ("/v1/models", 200, MODELS % b"sglang", "sglang"),
        ("/v1/models", 200, MODELS % b"library", "ollama"),
        ("/v1/models", 200, MODELS % b"organization_owner", "lmstudio"),
        ("/v1/models", 200, MODELS % b"omlx", "omlx"),
        ("/v1/models", 200, MODELS % b"somebody", None),
        ("/v1/models", 200, b'{"data":[]}', None),
        ("/v1/models", 200, b'{"data":[5]}', None),
        ("/v1/models", 200, b'{"data":[{"owned_by":["vllm"]}]}', None),
        ("/version", 200, b'{"version":"0.33.0"}', "vllm"),
        ("/api/version", 200, b'{"version":"0.33.0"}', "ollama"),
        ("/version", 200, b'{"version":33}', None),
        ("/api/v0/models", 200, b'{"data":[]}', "lmstudio"),
        ("/api/v0/models", 200, b'{"error":"no"}', None),
    ],
)
def test_an_answer_may_name_the_engine(path, status, body, engine):
    assert path in PROBES
    assert engine is None or engine in NAMES
    assert by_answer(path, "uvicorn", status, body) == engine


@pytest.mark.parametrize("path", PROBES)
@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"null", b"5", b"\xff", b"[" * 200_000, b'{"data":{}}'],
    ids=lambda body: repr(body[:8]),
)
def test_odd_answers_name_none(path, body):
    expected = "lmstudio" if path == "/api/v0/models" and b"data" in body else None
    assert by_answer(path, "", 200, body) == expected


def test_the_header_counts_even_on_an_error():
    assert by_answer("/props", "llama.cpp", 401, b"") == "llama.cpp"


@pytest.mark.parametrize(
    ("upstream", "engine"),
    [
        ("https://api.deepseek.com:443", "deepseek"),
        ("https://API.DeepSeek.com", "deepseek"),
        ("https://api.deepseek.com.example:443", None),
        ("http://127.0.0.1:8000", None),
        ("", None),
    ],
)
def test_a_host_may_name_the_engine(upstream, engine):
    assert by_upstream(upstream) == engine
    assert engine not in NAMES  # it is no choice of `guard_engine`
