import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from conftest import LOOP, ROOT, Played
from engine import Engine
from prompts import HEALTHY, LOOPING

CHAT = "/v1/chat/completions"
SCRIPT = ROOT / "scripts" / "engine.py"
EMBEDDED: list[str] = []
RECORDED = ["--capture", str(LOOP)]
BOTH = pytest.mark.parametrize(
    "options",
    [pytest.param(EMBEDDED, id="embedded"), pytest.param(RECORDED, id="recorded")],
)


def ask(engine: Engine, messages: Any, max_tokens: int, **more: Any) -> Any:
    """Ask in one piece; return the choice and the usage."""
    body = {"messages": messages, "temperature": 0, "max_tokens": max_tokens, **more}
    answer = httpx.post(engine.url + CHAT, json=body, timeout=60).json()
    return answer["choices"][0], answer["usage"]


def streamed(engine: Engine, messages: Any, max_tokens: int) -> Iterator[Any]:
    """Ask for a stream and yield its chunks; leaves when it is closed."""
    body = {"messages": messages, "max_tokens": max_tokens, "stream": True}
    with httpx.stream("POST", engine.url + CHAT, json=body, timeout=60) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))


def wait_until(true: Callable[[], bool], limit_s: float = 20) -> None:
    """Wait for something to become true; fail when it does not."""
    end_s = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < end_s, "waited too long"
        time.sleep(0.02)


def answers(url: str) -> bool:
    """Say whether something listens there."""
    port = int(url.rpartition(":")[2])
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def run(
    *options: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the script to its end."""
    command = [sys.executable, str(SCRIPT), *options]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=env
    )


# The embedded engine


def test_it_reasons_and_its_cache_knows_the_prompt_again(engine: Engine) -> None:
    messages = LOOPING[0].messages
    first, _ = ask(engine, messages, max_tokens=24)
    assert first["message"]["reasoning_content"].strip()
    assert first["message"]["content"] == ""
    _, usage = ask(engine, messages, max_tokens=1)
    cached_tokens = usage["prompt_tokens_details"]["cached_tokens"]
    assert cached_tokens >= usage["prompt_tokens"] - 1


def test_a_closed_reasoning_is_continued_from_the_cache(engine: Engine) -> None:
    messages = list(LOOPING[1].messages)
    choice, _ = ask(engine, messages, max_tokens=64)
    reasoning = choice["message"]["reasoning_content"]
    messages += [{"role": "assistant", "reasoning_content": reasoning, "content": ""}]
    more = {"continue_final_message": "content", "add_generation_prompt": False}
    choice, usage = ask(engine, messages, max_tokens=8, **more)
    assert choice["message"]["content"].strip()
    cached_tokens = usage["prompt_tokens_details"]["cached_tokens"]
    assert cached_tokens >= 0.9 * usage["prompt_tokens"]


@pytest.mark.parametrize("prompt", HEALTHY[:2], ids=lambda prompt: prompt.name)
def test_a_healthy_prompt_ends_its_reasoning_by_itself(
    engine: Engine, prompt: Any
) -> None:
    choice, _ = ask(engine, prompt.messages, max_tokens=200)
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["reasoning_content"].strip()
    assert choice["message"]["content"].strip()


def test_a_looping_prompt_loops(engine: Engine) -> None:
    (prompt,) = (prompt for prompt in LOOPING if prompt.name == "parts-of-a-bicycle")
    choice, _ = ask(engine, prompt.messages, max_tokens=96)
    assert choice["finish_reason"] == "length"
    reasoning = choice["message"]["reasoning_content"]
    assert reasoning.count(reasoning[-24:]) >= 8


def test_the_slot_is_idle_soon_after_a_client_leaves(engine: Engine) -> None:
    stream = streamed(engine, LOOPING[0].messages, max_tokens=4000)
    for _ in range(5):
        next(stream)
    assert engine.busy_slots() == 1
    stream.close()
    wait_until(lambda: engine.busy_slots() == 0)


# The recorded one


def test_a_recording_is_played_and_continued(played: Played) -> None:
    engine = played()
    recorded = json.loads(LOOP.read_text())
    for phase in ("phase1", "phase2"):
        body = recorded[phase]["request"]
        response = httpx.post(engine.url + CHAT, json=body)
        assert response.status_code == 200
        assert response.text == "".join(text for _, text in recorded[phase]["chunks"])
    assert engine.model == "SmolLM2-135M-Instruct"


def test_the_shipped_recording_loops_and_then_answers(played: Played) -> None:
    recorded = json.loads(LOOP.read_text())
    said: dict[str, str] = {"reasoning_content": "", "content": ""}
    for phase in ("phase1", "phase2"):
        response = httpx.post(played().url + CHAT, json=recorded[phase]["request"])
        for line in response.text.splitlines():
            if line.startswith("data: {"):
                for choice in json.loads(line.removeprefix("data: "))["choices"]:
                    for kind in said:
                        said[kind] += choice["delta"].get(kind) or ""
                    last = choice["finish_reason"]
    assert said["reasoning_content"].count(said["reasoning_content"][-24:]) >= 3
    assert said["content"].strip()
    assert last == "stop"


def test_no_chunk_is_played_before_its_time(played: Played) -> None:
    pace = 0.1
    chunks = json.loads(LOOP.read_text())["phase2"]["chunks"]
    body = json.loads(LOOP.read_text())["phase2"]["request"]
    engine = played(pace=pace)
    host = engine.url.removeprefix("http://")
    with closing(http.client.HTTPConnection(host)) as client:
        sent_s = time.monotonic()
        client.request("POST", CHAT, json.dumps(body))
        response = client.getresponse()
        for recorded_s, text in chunks:
            assert response.read(len(text.encode())).decode() == text
            # The clocks of two processes are the same one, up to its resolution.
            assert time.monotonic() - sent_s >= recorded_s * pace - 0.02


def test_a_recording_stops_when_the_client_leaves(played: Played) -> None:
    engine = played(pace=100)
    stream = streamed(engine, [{"role": "user", "content": "Hi"}], max_tokens=1)
    with closing(http.client.HTTPConnection(engine.url[7:])) as client:
        body = {"stream": True, "messages": [{"role": "user", "content": "Hi"}]}
        client.request("POST", CHAT, json.dumps(body))
        client.getresponse()
        assert engine.busy_slots() == 1
    wait_until(lambda: engine.busy_slots() == 0)
    stream.close()


# The process


@BOTH
def test_it_ends_with_its_parent(options: list[str]) -> None:
    """The parent is killed, so that it can end nothing itself."""
    parent = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, signal, subprocess, sys\n"
            "child = subprocess.Popen(sys.argv[1:], stdout=-1, text=True)\n"
            "print(child.stdout.readline(), flush=True)\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n",
            sys.executable,
            str(SCRIPT),
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert parent.returncode == -signal.SIGKILL
    word, url, *_ = parent.stdout.split()
    assert word == "ready"
    wait_until(lambda: not answers(url))


def test_it_does_not_start_for_a_parent_that_is_gone() -> None:
    result = run(*RECORDED, "--parent", "1234567")
    assert result.returncode == 0
    assert not answers(result.stdout.split()[1])


@BOTH
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_even_while_a_stream_runs(
    options: list[str], number: signal.Signals
) -> None:
    command = [sys.executable, str(SCRIPT), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        _, url, _, model = process.stdout.readline().split()
        engine = Engine(url, model, process.pid)
        stream = streamed(engine, LOOPING[0].messages, max_tokens=4000)
        next(stream)
        process.send_signal(number)
        assert process.wait(5) == 0
        stream.close()


@BOTH
def test_a_taken_port_is_said_in_one_sentence(options: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run(*options, "--port", str(port))
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert "already in use" in line
    assert str(port) in line


def test_without_the_wheel_it_names_the_recording(tmp_path: Path) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('no such wheel')\n")
    result = run(env={"PYTHONPATH": str(tmp_path)})
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert "--capture" in line


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(["--capture", "/no/such"], "No such file", id="no capture"),
        pytest.param(["--capture", __file__], "is no capture", id="not a capture"),
        pytest.param(["--template", "/no/such"], "No such file", id="no template"),
        pytest.param(["--port", "70000"], "invalid port", id="port"),
        pytest.param(["--parallel", "0"], "invalid count", id="no slots"),
        pytest.param(["--ctx", "-1"], "invalid count", id="context"),
        pytest.param([*RECORDED, "--pace", "nan"], "invalid factor", id="pace"),
    ],
)
def test_what_it_cannot_use_is_told(options: list[str], says: str) -> None:
    result = run(*options)
    assert result.returncode == 2
    assert says in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_an_engine_that_dies_leaves_its_last_words(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="is no capture"),
        Engine.start(capture=Path(__file__)),
    ):
        pass
    nothing = tmp_path / "no weights.jinja"
    nothing.write_text("{% unfinished")
    with pytest.raises(RuntimeError), Engine.start(template=nothing):
        pass
