"""`scripts/diff.py`, the way a person and a CI job run it."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import io
from mitmproxy.test import tflow

from prefix.conversations import Conversation, Step, answered, conversation

SCRIPT = Path(__file__).parents[1] / "scripts" / "diff.py"

type Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command; return its exit code and what it printed."""
    monkeypatch.setenv("COLUMNS", "200")
    spec = importlib.util.spec_from_file_location("diff_command", SCRIPT)
    assert spec
    assert spec.loader
    command = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(command)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        code = command.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def pair(folder: Path, one: bytes, other: bytes) -> tuple[Path, Path]:
    paths = folder / "a.json", folder / "b.json"
    for path, raw in zip(paths, (one, other), strict=True):
        path.write_bytes(raw)
    return paths


def spoilt() -> Conversation:
    later = answered(conversation("chat"))
    later.steps[3].text = "It has two hundred words, says the secret."
    return later


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages", "ollama_chat"])
def test_an_append_exits_with_0_and_says_so(
    run: Run, tmp_path: Path, dialect: str
) -> None:
    talk = conversation(dialect)
    count = len(
        json.loads(talk.body())[("input" if dialect == "responses" else "messages")]
    )
    code, out, _ = run(*pair(tmp_path, talk.body(), answered(talk).body()))
    assert code == 0
    added = {"responses": 4}.get(dialect, 2)
    assert out.startswith(
        f"B = A + {added} messages, the first {count} byte-identical."
    )


def test_a_break_exits_with_1_and_tells_no_text(run: Run, tmp_path: Path) -> None:
    paths = pair(tmp_path, conversation("chat").body(), spoilt().body())
    code, out, _ = run(*paths)
    assert code == 1
    assert "history_edited/text" in out
    assert "messages[7].content" in out
    assert "Never rewrite a message that was sent." in out
    assert "secret" not in out
    assert "secret" not in run(*paths, "--json")[1]


def test_excerpts_stand_side_by_side(run: Run, tmp_path: Path) -> None:
    paths = pair(tmp_path, conversation("chat").body(), spoilt().body())
    _, out, _ = run(*paths, "--excerpts")
    (line,) = [line for line in out.splitlines() if "180 words" in line]
    assert "two hundred words" in line


def test_machines_get_the_record_and_the_verdict(run: Run, tmp_path: Path) -> None:
    talk = conversation("chat")
    code, out, _ = run(*pair(tmp_path, talk.body(), answered(talk).body()), "--json")
    record = json.loads(out)
    assert code == 0
    assert record["append_only"]
    assert record["verdict"].startswith("B = A + 2 messages")
    assert record["raw"]["bytes"] == len(answered(talk).body())


def test_another_task_is_told_apart_from_a_rewrite(run: Run, tmp_path: Path) -> None:
    talk = conversation("chat")
    task = conversation("chat")
    task.steps = [Step("user", "Write a changelog.")]
    code, out, _ = run(*pair(tmp_path, talk.body(), task.body()))
    assert code == 1
    assert out.startswith("B is another task under the head of A: ")


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        pytest.param(b'{"a":1}', b'{"a":2}', "no request of a known dialect", id="no"),
        pytest.param(b'{"messages":[', b"{}", "truncated after 13 bytes", id="cut"),
        pytest.param(b"\xff", b"\xff", "not JSON", id="garbage"),
        pytest.param(b"", b"", "empty body", id="empty"),
        pytest.param(
            b'{"messages":[],"messages":[]}', b"{}", "duplicate key", id="duplicate"
        ),
        pytest.param(
            conversation("chat").body(),
            conversation("responses").body(),
            "speaks chat",
            id="dialects",
        ),
    ],
)
def test_unusable_bodies_exit_with_2_and_get_a_byte_diff(
    run: Run, tmp_path: Path, one: bytes, other: bytes, reason: str
) -> None:
    code, out, err = run(*pair(tmp_path, one, other))
    assert (code, out) == (2, "")
    assert reason in err
    assert "as bytes: " in err


def test_bodies_may_have_any_name_and_captures_too(run: Run, tmp_path: Path) -> None:
    talk = conversation("chat")
    paths = [tmp_path / name for name in ("before", "after.txt")]
    for path, raw in zip(paths, (talk.body(), answered(talk).body()), strict=True):
        path.write_bytes(raw)
    code, out, _ = run(*paths)
    assert (code, out.partition(",")[0]) == (0, "B = A + 2 messages")
    captures = [tmp_path / "one", tmp_path / "other"]
    for path in captures:
        with path.open("wb") as file:
            flow = tflow.tflow(resp=True)
            flow.request.method, flow.request.path = "POST", "/v1/chat/completions"
            flow.request.content = talk.body()
            io.FlowWriter(file).add(flow)
    code, out, _ = run(*captures, "--json")
    assert (code, len(json.loads(out))) == (0, 2)


def test_breaks_can_be_read_in_eighty_columns(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    paths = pair(tmp_path, conversation("chat").body(), spoilt().body())
    rows = [line for line in run(*paths)[1].splitlines() if line.startswith("│")]
    assert all(len(row) <= 80 for row in rows)
    cells = [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]
    assert [row[0] for row in cells] == ["history_edited/text", "messages[7].content"]
    assert len(cells[0]) == 6
    assert all(value.replace(",", "").isdigit() for value in cells[0][1:])


def test_missing_files_and_empty_folders_exit_with_2(run: Run, tmp_path: Path) -> None:
    assert run(tmp_path / "none.json", tmp_path / "none.json")[0] == 2
    assert run(tmp_path)[0] == 2
    (tmp_path / "x.flow").write_bytes(b"no capture")
    code, _, err = run(tmp_path / "x.flow")
    assert code == 2
    assert "no mitmproxy capture" in err


def two_threads() -> list[bytes]:
    talk = conversation("chat")
    other = conversation("chat")
    for step in other.steps:
        step.text = f"Other {step.text}"
        for call in step.calls:
            call.result = f"Other result: {call.arguments}"
    return [
        talk.body(),
        other.body(),
        answered(talk).body(),
        answered(other).body(),
        spoilt().body(),
    ]


def folder_of(folder: Path, bodies: list[bytes], **index: Any) -> Path:
    for number, raw in enumerate(bodies):
        (folder / f"{number:03}.json").write_bytes(raw)
    if index:
        rows = [{"n": n, "t": 100.0 + n, **index} for n in range(len(bodies))]
        (folder / "index.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


@pytest.mark.parametrize(
    "index",
    [
        {},
        {
            "path": "/v1/chat/completions",
            "headers": {"User-Agent": "some/1"},
            "status": 200,
            "error": None,
        },
    ],
    ids=["bare", "indexed"],
)
def test_a_folder_is_read_as_threads(
    run: Run, tmp_path: Path, index: dict[str, Any]
) -> None:
    folder = folder_of(tmp_path, two_threads(), **index)
    code, out, _ = run("--json", folder)
    rows = json.loads(out)
    assert code == 1
    assert [row["index"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["previous"] for row in rows] == [None, None, 0, 1, 2]
    assert [row["thread"] for row in rows] == ["a1", "a2", "a1", "a2", "a1"]
    assert [row["append_only"] for row in rows] == [True, True, True, True, False]
    assert rows[0]["name"].endswith("/000.json")
    assert rows[0]["agent"] == ("some" if index else "")


def test_threads_and_habits_are_shown_to_people(run: Run, tmp_path: Path) -> None:
    code, out, _ = run(folder_of(tmp_path, two_threads()))
    assert code == 1
    assert "history_edited/text at messages[7].content" in out
    assert "history_edited/text x1" in out
    assert "secret" not in out


def test_a_folder_of_appends_exits_with_0(run: Run, tmp_path: Path) -> None:
    assert run(folder_of(tmp_path, two_threads()[:4]))[0] == 0


def test_bodies_that_cannot_be_read_do_not_hide_the_others(
    run: Run, tmp_path: Path
) -> None:
    bodies = two_threads()
    bodies[1] = bodies[1][:50]
    code, out, _ = run("--json", folder_of(tmp_path, bodies[:3]))
    rows = json.loads(out)
    assert code == 0
    assert rows[1]["problem"] == "JSON truncated after 50 bytes"
    assert rows[2]["previous"] == 0
    assert run(folder_of(tmp_path, bodies[:3]))[0] == 0


def test_a_capture_is_read_like_a_folder(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.flow"
    with path.open("wb") as file:
        writer = io.FlowWriter(file)
        for number, raw in enumerate(two_threads()):
            flow = tflow.tflow(resp=True)
            flow.request.method = "POST"
            flow.request.path = "/v1/chat/completions"
            flow.request.content = raw
            flow.request.timestamp_start = 100.0 + number
            writer.add(flow)
        writer.add(tflow.tflow(resp=True))  # no request to an engine
        phase2 = tflow.tflow(resp=True)
        phase2.request.method = "POST"
        phase2.request.path = "/v1/chat/completions"
        phase2.metadata["trackside.guard"] = {"v": 1, "phase1": "x"}
        writer.add(phase2)
    code, out, _ = run("--json", path)
    assert code == 1
    assert [row["previous"] for row in json.loads(out)] == [None, None, 0, 1, 2]


def test_several_captures_are_one_line_of_requests(run: Run, tmp_path: Path) -> None:
    bodies = two_threads()
    folders = []
    for name, part in (("one", bodies[:2]), ("two", bodies[2:])):
        folder = tmp_path / name
        folder.mkdir()
        folders.append(folder_of(folder, part))
    _, out, _ = run("--json", *folders)
    assert [row["previous"] for row in json.loads(out)] == [None, None, 0, 1, 2]
