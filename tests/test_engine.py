import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from asking import streamed, wait_until
from conftest import LOOP, ROOT
from engine import Engine
from prompts import LOOPING

SCRIPT = ROOT / "scripts" / "engine.py"
EMBEDDED: list[str] = []
RECORDED = ["--capture", str(LOOP)]
BOTH = pytest.mark.parametrize(
    "options",
    [pytest.param(EMBEDDED, id="embedded"), pytest.param(RECORDED, id="recorded")],
)


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


@pytest.mark.parametrize(
    ("options", "number"),
    [
        pytest.param(EMBEDDED, signal.SIGTERM, id="embedded, terminated"),
        pytest.param(RECORDED, signal.SIGINT, id="recorded, interrupted"),
    ],
)
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
