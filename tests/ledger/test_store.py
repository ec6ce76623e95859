"""The ledger on disk: nothing committed is lost, and traffic never waits for it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger.story import Story
from trackside.ledger import store as storing
from trackside.ledger.schema import APPLICATION_ID, MIGRATIONS
from trackside.ledger.store import Store, read_ledger
from trackside.ledger.turn import turn_record

ADDONS = Path(__file__).parents[2] / "addons"
TESTS = Path(__file__).parents[1]


def record(flow: str = "f1", **more: Any) -> dict[str, Any]:
    return {**turn_record(Story().turn("a1", 0)), "flow": flow, **more}


def wait_until(is_so: Callable[[], bool], limit_s: float = 10.0) -> None:
    end = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def test_what_is_put_is_read_back(tmp_path: Path) -> None:
    path, said = tmp_path / "turns.sqlite", []
    store = Store(str(path), say=said.append)
    records = [record(f"f{i}", started_at=float(i)) for i in range(700)]
    for one in records:
        store.put(one)
    store.put({**records[3], "agent": "revised"})
    store.close()
    back = list(read_ledger(path))
    assert [one["flow"] for one in back] == [f"f{i}" for i in range(700)]
    assert back[3]["agent"] == "revised"
    assert {k: v for k, v in records[5].items() if k != "chunks"} == back[5]
    assert said == []
    with sqlite3.connect(path) as connection:
        row = connection.execute("SELECT fault, cache_state FROM turns LIMIT 1")
        assert row.fetchone() == ("none", "cold")
        mode = connection.execute("PRAGMA journal_mode").fetchone()
    assert mode == ("wal",)


WRITER = """
import sys
from ledger.test_store import record
from trackside.ledger.store import Store
name, count = sys.argv[2], int(sys.argv[3])
store = Store(sys.argv[1], say=lambda text: print(text, file=sys.stderr))
for number in range(count):
    store.put(record(f"{name}-{number}"))
store.close()
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join(map(str, (ADDONS, TESTS)))
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, path, name, str(count)],
        env={**os.environ, "PYTHONPATH": paths},
        stderr=subprocess.PIPE,
    )


def test_several_proxies_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "turns.sqlite"
    writers = [writer(path, name, 200) for name in ("one", "two")]
    for process in writers:
        _, words = process.communicate(timeout=60)
        assert (process.returncode, words) == (0, b"")
    assert len(list(read_ledger(path))) == 400


def test_a_killed_proxy_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    path = tmp_path / "turns.sqlite"
    process = writer(path, "one", 10**6)

    def count() -> int:
        try:
            with sqlite3.connect(path, timeout=5) as connection:
                return int(
                    connection.execute("SELECT count(*) FROM turns").fetchone()[0]
                )
        except sqlite3.OperationalError:
            return 0  # not made yet

    wait_until(lambda: count() > 100, 40)
    seen = count()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert count() >= seen
    store = Store(str(path), say=pytest.fail)
    store.put(record("after"))
    store.close()
    assert "after" in {one["flow"] for one in read_ledger(path)}


def test_a_locked_file_is_said_once_and_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "LOCKED_S", 0.05)
    monkeypatch.setattr(storing, "RETRY_S", 0.05)
    path, said = tmp_path / "turns.sqlite", []
    first = Store(str(path), say=said.append)
    first.put(record("f0"))
    first.close()
    lock = sqlite3.connect(path, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    store = Store(str(path), say=said.append)
    for number in range(1, 4):
        store.put(record(f"f{number}"))
    wait_until(lambda: len(said) == 1)
    assert "can't be written, will try again: database is locked" in said[0]
    time.sleep(0.3)  # several attempts
    assert len(said) == 1
    lock.execute("COMMIT")
    lock.close()
    wait_until(lambda: len(said) == 2)
    assert "written again, 0 turns were dropped" in said[1]
    store.close()
    assert len(list(read_ledger(path))) == 4


def test_text_that_is_no_unicode_costs_its_batch_and_not_the_ledger(
    tmp_path: Path,
) -> None:
    path, said = tmp_path / "turns.sqlite", []
    store = Store(str(path), say=said.append)
    store.put(record("bad", agent="\udcff"))
    wait_until(lambda: len(said) == 1)
    store.put(record("good"))
    store.close()
    assert "1 turns were left out" in said[0]
    assert [one["flow"] for one in read_ledger(path)] == ["good"]


def test_a_full_queue_drops_records_and_says_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "LOCKED_S", 0.05)
    monkeypatch.setattr(storing, "RETRY_S", 0.05)
    monkeypatch.setattr(storing, "MOST_WAITING", 5)
    path, said = tmp_path / "turns.sqlite", []
    Store(str(path), say=said.append).close()
    lock = sqlite3.connect(path, isolation_level=None)
    lock.execute("CREATE TABLE IF NOT EXISTS x (y)")
    lock.execute("DROP TABLE x")
    lock.execute("BEGIN EXCLUSIVE")
    store = Store(str(path), say=said.append)
    store.put(record("first"))
    wait_until(lambda: len(said) == 1)
    for number in range(12):
        store.put(record(f"f{number}"))
    lock.execute("COMMIT")
    lock.close()
    wait_until(lambda: len(said) == 2)
    assert "7 turns were dropped" in said[1]
    store.close()


FULL = """
import resource, signal, sys, time
from ledger.test_store import record
from trackside.ledger import store as storing
storing.RETRY_S = 0.1
said = []
store = storing.Store(sys.argv[1], say=said.append)
store.put(record("small"))
time.sleep(0.3)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, -1))
for number in range(400):
    store.put(record(f"f{number}", agent="x" * 5000))
time.sleep(0.5)
print(len(said), said)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, -1))
time.sleep(0.5)
store.close()
print(len(said), said)
"""


def test_a_full_disk_is_said_once_and_written_later(tmp_path: Path) -> None:
    path = tmp_path / "turns.sqlite"
    paths = os.pathsep.join(map(str, (ADDONS, TESTS)))
    done = subprocess.run(
        [sys.executable, "-c", FULL, path],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    full, later = done.stdout.splitlines()
    assert full.startswith("1 "), (full, done.stderr)
    assert later.startswith("2 ")
    assert len(list(read_ledger(path))) == 401


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"no database at all" * 99, "no SQLite file", id="text"),
        pytest.param("CREATE TABLE x (y)", "another program", id="another program's"),
        pytest.param(
            f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 99",
            "version is 99",
            id="from the future",
        ),
    ],
)
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(
    tmp_path: Path, content: bytes | str, says: str
) -> None:
    path = tmp_path / "x.sqlite"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        with sqlite3.connect(path) as connection:
            connection.executescript(content)
    before = path.read_bytes()
    with pytest.raises(OSError, match=says):
        Store(str(path), say=pytest.fail)
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match=says):
        list(read_ledger(path))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="unable to open"):
        Store(str(tmp_path / "none" / "x.sqlite"), say=pytest.fail)


def test_an_older_ledger_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "turns.sqlite"
    store = Store(str(path), say=pytest.fail)
    store.put(record("old"))
    store.close()
    more = (*MIGRATIONS, "ALTER TABLE turns ADD COLUMN later TEXT DEFAULT 'x'")
    monkeypatch.setattr("trackside.ledger.schema.MIGRATIONS", more)
    store = Store(str(path), say=pytest.fail)
    store.put(record("new"))
    store.close()
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT flow, later FROM turns ORDER BY flow")
        assert rows.fetchall() == [("new", "x"), ("old", "x")]
