"""Recognising engines over real HTTP, and asking them things."""

from __future__ import annotations

import pytest
from mitmproxy.test import taddons, tflow

from scripted import Asked, Reply, scripted
from trackside.handoff.engines import PROBES
from trackside.proxy.engine import Engines, ask, credentials, path_for


@pytest.mark.parametrize(
    ("path", "body", "server", "engine"),
    [
        pytest.param("/props", b"{}", "llama.cpp", "llama.cpp", id="by header"),
        pytest.param(
            "/props",
            b'{"default_generation_settings":{}}',
            "nginx",
            "llama.cpp",
            id="llama.cpp behind a proxy",
        ),
        pytest.param(
            "/v1/models",
            b'{"data":[{"id":"m","owned_by":"vllm"}]}',
            "uvicorn",
            "vllm",
            id="vllm",
        ),
        pytest.param("/version", b'{"version":"0.33.0"}', "uvicorn", "vllm", id="old"),
        pytest.param(
            "/api/version", b'{"version":"0.33.0"}', "", "ollama", id="ollama"
        ),
        pytest.param("/api/v0/models", b'{"data":[]}', "", "lmstudio", id="lmstudio"),
        pytest.param(
            "/v1/models", b'{"data":"?"}', "uvicorn", None, id="something else"
        ),
        pytest.param("/v1/models", b"<html>", "nginx", None, id="no json"),
    ],
)
@pytest.mark.anyio
async def test_an_engine_is_recognised(
    path: str, body: bytes, server: str, engine: str | None
) -> None:
    def script(asked: Asked) -> Reply | None:
        return Reply(body) if asked.path == path else None

    with taddons.context(), scripted(script, server=server) as running:
        engines = Engines()
        assert await engines.recognise(running.url) == engine
        assert engines.get(running.url) == engine
        before = len(running.asked)
        await engines.recognise(running.url)
        assert len(running.asked) == before


@pytest.mark.parametrize(
    ("status", "again_s"),
    [pytest.param(404, 0.0, id="after a while"), pytest.param(503, 60.0, id="loading")],
)
@pytest.mark.anyio
async def test_what_is_not_recognised_is_asked_again(
    status: int, again_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trackside.proxy.engine.ASK_AGAIN_S", again_s)
    replies = iter([Reply(b"{}", status)] * len(PROBES))

    def script(asked: Asked) -> Reply:
        return next(replies, Reply(b'{"version":"0.33.0"}'))

    with taddons.context(), scripted(script, server="uvicorn") as running:
        engines = Engines()
        assert await engines.recognise(running.url) is None
        assert await engines.recognise(running.url) == "vllm"


@pytest.mark.anyio
async def test_an_engine_that_is_down_is_not_known() -> None:
    with taddons.context():
        assert await Engines().recognise("http://127.0.0.1:9") is None


@pytest.mark.anyio
async def test_error_statuses_are_answers() -> None:
    with taddons.context(), scripted(lambda _: None) as running:
        status, server, body = await ask(running.url, "/nothing", body=b"{}")
    assert (status, server, body) == (404, "llama.cpp", b'{"error":"no"}')
    assert running.asked[0].method == "POST"


def test_only_credentials_go_along() -> None:
    flow = tflow.tflow()
    flow.request.headers.update({"Authorization": "Bearer x", "Cookie": "y"})
    assert credentials(flow.request.headers) == {"authorization": "Bearer x"}


@pytest.mark.parametrize(
    ("own", "asked", "path"),
    [
        ("/v1/chat/completions", "/props", "/props"),
        ("/llama/v1/chat/completions?x=1", "/apply-template", "/llama/apply-template"),
        ("/llama/v1/chat/completions", "/v1/completions", "/llama/v1/completions"),
        ("/chat/completions", "/v1/chat/completions", "/chat/completions"),
        ("/chat/completions", "/v1/completions", "/v1/completions"),
    ],
)
def test_calls_go_where_the_clients_path_leads(own: str, asked: str, path: str) -> None:
    flow = tflow.tflow()
    flow.request.path = own
    assert path_for(flow, asked) == path
