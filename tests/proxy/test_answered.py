"""What the diff takes from responses, streamed or whole, live or from a capture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from mitmproxy import flow as mitmflow
from mitmproxy.test import tflow

from dialects import DIALECTS
from mitm import ROOT, Proxy, mitmdump, run_mitmdump
from prefix.conversations import WRITERS, Conversation, Step, answered, conversation
from scripted import SSE, Asked, Reply, scripted, stream
from trackside.proxy.answered import Answered, ending_of
from trackside.proxy.flows import read_requests
from trackside.wire.pieces import (
    Content,
    Failure,
    Keepalive,
    Piece,
    Reasoning,
    Start,
    ToolCall,
    Usage,
)

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "ollama_chat": "/api/chat",
}


def thinking() -> Any:
    """Return a script that reasons in every dialect, each response with its own id."""
    ids = count(1)

    def script(asked: Asked) -> Reply | None:
        name = next((n for n, path in PATHS.items() if asked.path == path), None)
        if name is None:
            return None
        if name == "chat":
            return Reply(stream(["Hm."], ["Yes."]), headers=dict(SSE))
        own = b'"resp_%d"' % next(ids)
        if name == "responses" and not asked.json.get("stream"):
            told = {"object": "response", "status": "completed", "output": []}
            raw = json.dumps({"id": "resp_1", **told}).encode()
            headers = {"Content-Type": "application/json"}
            return Reply(raw.replace(b'"resp_1"', own), headers=headers)
        dialect = DIALECTS[name]
        events = (e.replace(b'"resp_1"', own) for e in dialect.stream(["Hm."], ["Yes"]))
        return Reply(events, headers=dict(dialect.kind))

    return script


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("answered")
    with (
        scripted(thinking()) as engine,
        mitmdump(engine.url, folder, script="diff.py") as proxy,
    ):
        yield proxy


def ask(proxy: Proxy, talk: Conversation) -> str:
    """Send a request; return the id that its response has in the Responses API."""
    url = proxy.url + PATHS[talk.dialect]
    told = httpx.post(url, content=talk.body(), timeout=30)
    assert told.status_code == 200
    return told.text.partition('"id":')[2].lstrip(' "').partition('"')[0]


@pytest.mark.parametrize("dialect", WRITERS)
def test_reasoning_that_does_not_come_back_is_told_live(
    proxy: Proxy, dialect: str
) -> None:
    talk = conversation(dialect)
    talk.more = {"stream": True}
    ask(proxy, talk)
    kept = answered(talk)
    ask(proxy, kept)
    forgot = answered(kept)
    forgot.steps[-1].reasoning = ""
    ask(proxy, forgot)
    line = proxy.wait_for(r"append-only, reasoning not sent back")
    assert "#3 " in line
    told = [line for line in proxy.log.splitlines() if "not sent back" in line]
    assert len(told) == 1 + [*WRITERS].index(dialect)


def going_on(talk: Conversation, response: str, *, streams: bool) -> Conversation:
    later = conversation("responses")
    later.system = talk.system
    later.steps = [Step("user", "Go on.")]
    later.more = {"stream": streams, "previous_response_id": response}
    return later


def test_responses_are_gone_on_from_by_their_id(tmp_path: Path) -> None:
    talk = conversation("responses")
    talk.more = {"stream": True}
    with (
        scripted(thinking()) as engine,
        mitmdump(engine.url, tmp_path, script="diff.py") as proxy,
    ):
        response = ask(proxy, talk)
        for streams in (True, False, True):
            response = ask(proxy, going_on(talk, response, streams=streams))
        talk.system += "Today is Monday."
        ask(proxy, going_on(talk, response, streams=True))
        proxy.wait_for(r"diff thread a1 #5 .* at instructions.*, chained by id")
        ask(proxy, going_on(talk, "resp_0", streams=True))
        proxy.wait_for(r"diff thread a2 #1 .*, server held history")
        flows = proxy.stop()
    records = [flow.metadata["trackside.diff"] for flow in flows]
    assert [r["previous"] for r in records] == [
        None,
        *(flow.id for flow in flows[:4]),
        None,
    ]
    assert [r["append_only"] for r in records] == [True] * 4 + [False, True]

    # The capture tells the same, to the proxy as to the command.
    again = run_mitmdump(
        tmp_path,
        *("-nr", str(tmp_path / "out.flow")),
        *("-s", str(ROOT / "addons" / "diff.py")),
    )
    lines = [line for line in proxy.log.splitlines() if "diff thread" in line]
    assert len(lines) == 7  # of six turns and of one thread
    for line in lines:
        assert line.partition("diff thread")[2].split(", one")[0] in again.stdout
    ids = [f"resp_{number}" for number in range(1, 7)]
    captured = list(read_requests(tmp_path / "out.flow"))
    assert [one.ending.response_id for one in captured] == ids


LEFT = "Client disconnected."


@pytest.mark.parametrize(
    ("pieces", "error", "abandoned", "reasoned"),
    [
        pytest.param([Start("r", "m", 0)], LEFT, True, None, id="silent"),
        pytest.param([Keepalive("comment")], LEFT, True, None, id="kept-alive"),
        pytest.param([Reasoning("Hm", "thinking")], LEFT, False, True, id="reasons"),
        pytest.param([Content("Yes")], LEFT, False, False, id="answers"),
        pytest.param([ToolCall(0, "c", "run", "")], LEFT, False, False, id="calls"),
        pytest.param([Failure("full", 503)], LEFT, False, False, id="fails"),
        pytest.param([], "server closed connection", False, None, id="engine-died"),
        pytest.param([], None, False, None, id="nothing"),
    ],
)
def test_a_turn_is_abandoned_if_its_client_left_before_the_first_token(
    pieces: list[Piece], error: str | None, abandoned: bool, reasoned: bool | None
) -> None:
    flow, answer = tflow.tflow(resp=True), Answered()
    flow.error = mitmflow.Error(error) if error else None
    answer.read(pieces)
    end = ending_of(flow, 9.0, answer)
    assert (end.is_abandoned, end.has_reasoned) == (abandoned, reasoned)


def test_what_the_engine_counts_and_its_id_are_taken() -> None:
    ids: list[str] = []
    answer = Answered(ids.append)
    early = Usage(5, None, None, None, None, final=False)
    answer.read([Start("resp_7", "m", 0), early])
    assert answer.prompt_tokens is None
    answer.read([Usage(90, 3, None, 80, None, final=True)])
    end = ending_of(tflow.tflow(resp=True), 9.0, answer)
    assert (ids, end.response_id, end.prompt_tokens) == (["resp_7"], "resp_7", 90)
