"""The diff in a real mitmdump, in front of an engine that answers anything."""

from __future__ import annotations

import gzip
import importlib.util
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from mitmproxy import http
from mitmproxy.test import taddons, tflow

from mitm import Proxy, mitmdump, run_mitmdump
from prefix.conversations import Conversation, Step, answered, conversation
from scripted import SSE, Asked, Reply, Scripted, scripted, stream

ROOT = Path(__file__).parents[1]
CHAT = "/v1/chat/completions"


def answer(asked: Asked) -> Reply:
    if b'"stream":true' in asked.body:
        return Reply(stream(reasoning=["Hm."], content=["Yes."]), headers=dict(SSE))
    return Reply(b'{"choices":[]}')


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    # No engine that the guard would have stream what the client wants whole.
    with scripted(answer, server="uvicorn") as engine:
        yield engine


@pytest.fixture(scope="module")
def proxy(
    engine: Scripted, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("diff")
    with mitmdump(engine.url, folder, script="diff.py") as proxy:
        yield proxy


def post(proxy: Proxy, body: bytes, path: str = CHAT, **headers: str) -> httpx.Response:
    return httpx.post(proxy.url + path, content=body, headers=headers, timeout=30)


def ask(proxy: Proxy, talk: Conversation, **headers: str) -> httpx.Response:
    return post(proxy, talk.body(), **headers)


def records(flows: list[http.HTTPFlow]) -> list[dict[str, Any]]:
    return [flow.metadata["trackside.diff"] for flow in flows]


def test_turns_are_told_live_and_saved_with_the_flow(
    engine: Scripted, tmp_path: Path
) -> None:
    with mitmdump(engine.url, tmp_path, script="diff.py") as proxy:
        assert "diff: on, 256 MB kept for comparison, no text shown" in proxy.log
        talk = conversation("chat")
        talk.more = {"stream": True}
        ask(proxy, talk)
        proxy.wait_for(r"diff thread a1 #1 .*first request")
        talk = answered(talk)
        ask(proxy, talk)
        proxy.wait_for(r"diff thread a1 #2 .* 2 messages, 100 % reused, append-only")
        talk = answered(talk)
        talk.tools.reverse()
        ask(proxy, talk)
        proxy.wait_for(r"diff thread a1 #3 .* tools_reordered at tools\[0\]")
        flows = proxy.stop()
    assert [record["role"] for record in records(flows)] == ["first", "main", "main"]
    assert records(flows)[1]["previous"] == flows[0].id
    assert flows[2].comment.startswith("diff thread a1 #3 ")
    assert [flow.marked for flow in flows] == ["", "", ":warning:"]

    saved = tmp_path / "out.flow"
    again = run_mitmdump(
        tmp_path,
        *("-nr", str(saved), "-w", str(tmp_path / "again.flow")),
        *("-s", str(ROOT / "addons" / "diff.py")),
    )
    for line in proxy.log.splitlines():
        if "diff thread" in line:
            assert line.partition("diff thread")[2] in again.stdout


def test_the_figures_of_threads_and_agents_are_told_at_the_end(
    engine: Scripted, tmp_path: Path
) -> None:
    with mitmdump(engine.url, tmp_path, script="diff.py") as proxy:
        talk = conversation("chat")
        for number in range(3):
            talk.system = f"Be brief. It is 12:0{number}."
            ask(proxy, talk, **{"user-agent": "some/1"})
            talk = answered(talk)
        once = conversation("chat")
        once.steps = [Step("user", "Another thing, asked once.")]
        ask(proxy, once, **{"user-agent": "some/1"})
        proxy.wait_for(r"diff thread a2 #1")
        proxy.stop()
    told = [line.partition("diff ")[2] for line in proxy.log.splitlines()]
    told = [line for line in told if " turns, " in line]
    assert [line.partition(",")[0] for line in told] == [
        "thread a1: 3 turns",
        "agent some: 4 turns",
    ]
    for line in told:
        assert "0 % append-only" in line
        assert "clock changes in 2 of 2 turns, by the minute" in line


BODIES = [
    pytest.param(b"", id="empty"),
    pytest.param(b"hello \xff\xfe", id="garbage"),
    pytest.param(conversation("chat").body()[:-40], id="truncated"),
    pytest.param(b'{"messages":[],"messages":[]}', id="duplicate-keys"),
    pytest.param(b'{"messages":' + b"[" * 200_000 + b"]" * 200_000 + b"}", id="deep"),
    pytest.param(b'{"messages":[{"role":"user","content":"\xff"}]}', id="non-utf8"),
    pytest.param(b'{"messages":[{"content":"\\ud83d"}]}', id="lone-surrogate"),
    pytest.param(b'{"messages":[1,2,null,"a",[]]}', id="odd-messages"),
    pytest.param(b'{"messages":[],"tools":{"a":1}}', id="odd-tools"),
    pytest.param(b'{"messages":[{"role":["x"],"content":{"a":[]}}]}', id="odd-roles"),
]


@pytest.fixture(scope="module")
def suite(
    engine: Scripted, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("suite")
    with mitmdump(engine.url, folder, script="suite.py") as proxy:
        yield proxy


@pytest.mark.parametrize("addons", ["proxy", "suite"])
@pytest.mark.parametrize("body", BODIES)
def test_whatever_comes_is_forwarded_untouched(
    request: pytest.FixtureRequest, engine: Scripted, body: bytes, addons: str
) -> None:
    proxy: Proxy = request.getfixturevalue(addons)
    assert post(proxy, body).status_code == 200
    assert engine.chats[-1].body == body
    assert "Traceback" not in proxy.log


def test_compressed_bodies_are_read_and_forwarded_as_they_are(
    proxy: Proxy, engine: Scripted
) -> None:
    talk = conversation("chat")
    talk.steps[0].text = "A question that only compressed bodies ask."
    for step in (talk, answered(talk)):
        body = gzip.compress(step.body())
        post(proxy, body, **{"content-encoding": "gzip"})
        assert engine.asked[-1].body == body
    proxy.wait_for(r"diff thread \w+ #2 .* 2 messages, 100 % reused, append-only")
    post(proxy, b"no gzip", **{"content-encoding": "gzip"})
    proxy.wait_for("not compared: a body said to be gzip, but it is not")
    post(proxy, b"\x28\xb5\x2f\xfd", **{"content-encoding": "zstd"})
    proxy.wait_for("not compared: a body in zstd, which is not read here")


def test_a_gzip_bomb_is_not_blown_up(proxy: Proxy, engine: Scripted) -> None:
    bomb = gzip.compress(bytes(300 << 20), compresslevel=1)
    assert post(proxy, bomb, **{"content-encoding": "gzip"}).status_code == 200
    assert engine.asked[-1].body == bomb
    proxy.wait_for("grows beyond 256 MiB")


def test_fifty_megabytes_are_forwarded_and_diffed(
    proxy: Proxy, engine: Scripted
) -> None:
    text = "word " * 20_000
    steps = [
        {"role": role, "content": f"{n} {text}"}
        for n in range(250)
        for role in ("user", "assistant")
    ]
    bodies = [json.dumps({"messages": steps[:end]}).encode() for end in (-2, None)]
    for body in bodies:
        assert post(proxy, body).status_code == 200
        assert len(engine.asked[-1].body) == len(body) > 49_000_000
    proxy.wait_for(r"2 messages, 100 % reused, append-only")


def test_other_requests_are_left_alone(proxy: Proxy) -> None:
    httpx.get(proxy.url + "/v1/models", timeout=30)
    post(proxy, b'{"input":"a"}', path="/v1/embeddings")
    assert "embeddings" not in "".join(
        line for line in proxy.log.splitlines() if "diff" in line
    )


def test_requests_that_come_at_once_find_their_threads(
    engine: Scripted, tmp_path: Path
) -> None:
    talks = []
    for name in ("red", "green", "blue"):
        talk = conversation("chat")
        talk.steps = [Step("user", f"{name} words are to be counted, all of them.")]
        talks.append(talk)
    with mitmdump(engine.url, tmp_path, script="diff.py") as proxy:
        start = threading.Barrier(3)

        def work(talk: Conversation) -> None:
            start.wait(10)
            for _ in range(5):
                assert ask(proxy, talk).status_code == 200
                talk = answered(talk)

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(work, talks))
        flows = proxy.stop()
    found = records(flows)
    assert sorted(record["turn"] for record in found) == sorted([1, 2, 3, 4, 5] * 3)
    assert {record["thread"] for record in found} == {"a1", "a2", "a3"}
    colours: dict[str, set[str]] = {}
    for flow, record in zip(flows, found, strict=True):
        text = json.loads(flow.request.content or b"")["messages"][1]["content"]
        colours.setdefault(record["thread"], set()).add(text.split()[0])
    assert all(len(names) == 1 for names in colours.values())


def test_the_excerpts_are_opt_in(engine: Scripted, tmp_path: Path) -> None:
    options = ("--set", "diff_excerpts=true")
    with mitmdump(engine.url, tmp_path, *options, script="diff.py") as proxy:
        assert "excerpts shown" in proxy.log
        talk = conversation("chat")
        ask(proxy, talk)
        later = answered(talk)
        later.steps[3].text = "It has two hundred words."
        ask(proxy, later)
        proxy.wait_for(r"diff thread a1 #2")
        (row,) = records(proxy.stop())[1]["breaks"]
    assert "180 words" in row["old"]
    assert "two hundred words" in row["new"]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        pytest.param("diff_memory_mb=0", "diff_memory_mb: got 0", id="value"),
        pytest.param("diff_memory_mb=lots", "diff_memory_mb", id="type"),
        pytest.param("diff_memry_mb=9", "unknown option diff_memry_mb", id="name"),
    ],
)
def test_a_bad_option_stops_the_start(tmp_path: Path, option: str, words: str) -> None:
    done = run_mitmdump(
        tmp_path,
        *("-s", str(ROOT / "addons" / "diff.py"), "--set", option),
        *("--mode", "reverse:http://127.0.0.1:9", "--listen-port", "0"),
    )
    assert done.returncode != 0
    assert words in done.stdout + done.stderr


def addon_of_the_script() -> Any:
    script = ROOT / "addons" / "diff.py"
    spec = importlib.util.spec_from_file_location("diff_addon", script)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (addon,) = module.addons
    return addon


def read_from_a_file(body: bytes) -> http.HTTPFlow:
    flow = tflow.tflow(resp=True)
    flow.live = False
    flow.request.method, flow.request.path = "POST", CHAT
    flow.request.content = body
    return flow


def test_a_thread_that_is_dropped_for_memory_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    addon = addon_of_the_script()
    caplog.set_level("INFO")
    with taddons.context(addon, loadcore=False) as context:
        context.configure(addon, diff_memory_mb=1)
        for name in ("red", "green"):
            talk = conversation("chat")
            talk.system = f"{name} " * 130_000
            talk.steps = [Step("user", f"Count the {name} words.")]
            addon.request(read_from_a_file(talk.body()))
    told = "diff: memory is full (diff_memory_mb), gave up thread a1"
    assert caplog.messages.count(told) == 1


def test_the_figures_are_there_on_demand() -> None:
    addon = addon_of_the_script()
    with taddons.context(addon, loadcore=False) as context:
        context.configure(addon, diff_memory_mb=9)
        talk = conversation("chat")
        for _ in range(2):
            addon.request(read_from_a_file(talk.body()))
            talk = answered(talk)
        told = context.master.commands.execute("diff.statistics")
    assert [line.partition(",")[0] for line in told] == [
        "thread a1: 2 turns",
        "agent unnamed: 2 turns",
    ]
