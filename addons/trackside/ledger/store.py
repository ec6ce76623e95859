"""The ledger on disk: one thread writes it, so that traffic never waits for it.

Several processes may write to one file: SQLite's write-ahead log keeps what is
committed, whatever process is killed. Power loss may cost the last moments.
"""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trackside.ledger.schema import SchemaError, insert, migrate, version_of

type Record = Mapping[str, Any]

MOST_WAITING = 10_000
"""Records kept while the file can't be written; then the newest are dropped."""

BATCH = 500
LOCKED_S = 1.0
RETRY_S = 2.0
CLOSING_S = 5.0


class Store:
    """Writes turn records to a SQLite file.

    Parameters:
        path: of the file, which is made if need be.
        say: told, from the writing thread, what a person should know: each trouble
            once, and that it is over.

    Raises:
        OSError: the file can't be a ledger.
    """

    def __init__(self, path: str, *, say: Callable[[str], None]) -> None:
        self.path = path
        self._say = say
        self._waiting: queue.Queue[Record | None] = queue.Queue()
        self._dropped = 0
        self._said: set[str] = set()
        self._is_troubled = False
        self._is_closing = threading.Event()
        _check(path)
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)
        self._thread.start()

    def put(self, record: Record) -> None:
        """Hand over a record and return at once."""
        if self._waiting.qsize() >= MOST_WAITING:
            self._dropped += 1
        else:
            self._waiting.put(record)

    def close(self) -> None:
        """Write what waits, for a few seconds at most."""
        self._is_closing.set()
        self._waiting.put(None)
        self._thread.join(CLOSING_S)

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        is_open = True
        while is_open:
            batch, is_open = self._batch()
            while batch:
                try:
                    connection = connection or _connect(self.path)
                    insert(connection, batch)
                except (sqlite3.Error, OSError, SchemaError) as error:
                    self._troubled(str(error))
                    if connection:
                        connection.close()
                        connection = None
                    if self._is_closing.wait(RETRY_S):
                        return
                except ValueError as error:  # text that is no Unicode
                    self._troubled(f"{len(batch)} turns were left out: {error}")
                    batch = []
                else:
                    batch = []
                    self._relieved()
        if connection:
            connection.close()

    def _batch(self) -> tuple[list[Record], bool]:
        """Wait for records; return them, and whether more may come."""
        first = self._waiting.get()
        batch = [] if first is None else [first]
        is_open = first is not None
        while is_open and len(batch) < BATCH and not self._waiting.empty():
            record = self._waiting.get()
            if record is None:
                is_open = False
            else:
                batch.append(record)
        return batch, is_open

    def _troubled(self, trouble: str) -> None:
        """Say a trouble, unless it was said: a disk may be full again and again."""
        if trouble not in self._said:
            self._said.add(trouble)
            self._is_troubled = True
            self._say(f"ledger {self.path} can't be written, will try again: {trouble}")

    def _relieved(self) -> None:
        """Say that all that had to wait is written."""
        if (self._is_troubled or self._dropped) and self._waiting.empty():
            lost, self._dropped, self._is_troubled = self._dropped, 0, False
            self._say(f"ledger {self.path} is written again, {lost} turns were dropped")


def read_ledger(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the turn records of a ledger in order of their start.

    Raises:
        ValueError: it is no ledger.
        OSError: it could not be read.
    """
    try:
        uri = f"file:{quote(str(path.resolve()))}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=LOCKED_S)) as connection:
            if version_of(connection) == 0:
                raise SchemaError("it is empty")
            rows = connection.execute("SELECT record FROM turns ORDER BY started_at")
            for (record,) in rows:
                yield json.loads(record)
    except SchemaError as error:
        raise ValueError(f"{path}: {error}") from error
    except sqlite3.Error as error:
        raise OSError(f"{path}: {error}") from error


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=LOCKED_S, isolation_level=None)
    try:
        migrate(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _check(path: str) -> None:
    """Refuse a file that can never be a ledger; one that is locked may be one."""
    try:
        with closing(sqlite3.connect(path, timeout=0)) as connection:
            version_of(connection)
    except SchemaError as error:
        raise OSError(f"{path}: {error}") from error
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise OSError(f"{path}: {error}") from error
