"""scripts/loops.py: rows, exit codes and the copies it shows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import loops
from loop_texts import PARAGRAPH, PROSE

SCRIPT = Path(__file__).parents[1] / "scripts" / "loops.py"


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*args):
        monkeypatch.setattr(sys, "argv", ["loops.py", *map(str, args)])
        code = loops.main()
        out, err = capsys.readouterr()
        return code, out, err

    return run


def rows(out):
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    (folder / "healthy.txt").write_text(PROSE)
    (folder / "loop.txt").write_text(PROSE + PARAGRAPH * 30)
    traces = [{"id": "a", "text": PROSE}, {"id": 2, "text": PROSE + PARAGRAPH * 30}]
    lines = "\n".join(json.dumps({**trace, "more": 1}) for trace in traces)
    (folder / "traces.jsonl").write_text(lines + "\n\n")
    return folder


def test_rows_say_where_it_tripped(folder, run):
    code, out, _ = run(folder / "traces.jsonl", "--json")
    healthy, loop = rows(out)
    assert code == 1
    assert healthy["id"] == "a"
    assert not healthy["tripped"]
    assert healthy["trip_char"] is healthy["start_char"] is healthy["detector"] is None
    assert loop["id"] == 2
    assert loop["detector"] in ("cycles", "staleness")
    assert abs(loop["start_char"] - len(PROSE)) <= len(PARAGRAPH)
    assert len(PROSE) < loop["trip_char"] < len(PROSE) + 12 * len(PARAGRAPH)
    assert loop["copies"] >= 2
    assert loop["chars"] == len(PROSE + PARAGRAPH * 30)


def test_healthy_text_exits_with_0(folder, run):
    code, out, _ = run(folder / "healthy.txt")
    assert code == 0
    assert "1520" in out


def test_a_budget_trips_by_tokens(folder, run):
    code, out, _ = run(folder / "healthy.txt", "--json", "--budget", 100)
    [row] = rows(out)
    assert code == 1
    assert row["detector"] == "budget"
    assert 300 < row["trip_char"] < 600
    assert row["start_char"] is None


def test_explain_shows_the_copies(folder, run):
    _, out, _ = run(folder / "loop.txt", "--explain")
    assert "first copy, from" in out
    assert "second copy, from" in out


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("none.txt", None, "No such file", id="missing"),
        pytest.param("bad.jsonl", b'{"id": 1}', "line 1: got", id="row"),
        pytest.param("bad.txt.xz", b"text", "not xz", id="xz"),
        pytest.param("bad.flow", b"text", "no mitmproxy capture", id="capture"),
    ],
)
def test_unusable_files_exit_with_2_and_say_why(tmp_path, run, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    code, _, err = run(tmp_path / name, "--json")
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_it_is_a_command(folder):
    command = [sys.executable, str(SCRIPT), str(folder / "loop.txt"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert rows(done.stdout)[0]["tripped"]
