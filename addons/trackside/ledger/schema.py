"""The ledger's tables, and how older ones are brought up to date."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE turns (
        flow TEXT PRIMARY KEY,
        run TEXT,
        started_at REAL NOT NULL,
        upstream TEXT, engine TEXT, api TEXT, model TEXT,
        agent TEXT, session TEXT, thread TEXT, role TEXT, turn_index INTEGER,
        ttfb_s REAL, ttft_s REAL, duration_s REAL, output_tokens_per_s REAL,
        in_flight INTEGER, request_bytes INTEGER,
        prompt_tokens INTEGER, completion_tokens INTEGER, reasoning_tokens INTEGER,
        cached_tokens INTEGER, estimate_tokens INTEGER, expected_tokens INTEGER,
        cache_state TEXT, cache_source TEXT,
        fault TEXT, cause TEXT, confidence TEXT, runner_up TEXT,
        lost_tokens INTEGER, lost_s REAL, verdict TEXT,
        end_by TEXT, end_stage TEXT, finish_reason TEXT,
        guard_phase INTEGER,
        record TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX turns_by_start ON turns (started_at);
    CREATE INDEX turns_by_thread ON turns (agent, session, thread, started_at);
    """,
)
"""Statements that lead from version i to version i + 1."""

APPLICATION_ID = 0x74726B73  # "trks"


class SchemaError(ValueError):
    """A file that is no ledger, or one of a later version."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a ledger up to date, in one transaction; an empty file becomes one.

    Raises:
        SchemaError: it is no ledger, or a newer program wrote it.
        sqlite3.Error: it could not be read or written.
    """
    if version_of(connection) == len(MIGRATIONS):
        return
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another proxy may have done it while this one waited.
        for statements in MIGRATIONS[version_of(connection) :]:
            for statement in statements.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of a ledger, 0 for an empty file. See `migrate`."""
    try:
        # In this order: another process may be making the ledger in between, and
        # whoever sees its tables must see that they are ours.
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise SchemaError("it is no SQLite file") from error
    if owner != APPLICATION_ID and tables:
        raise SchemaError("it is a SQLite file of another program")
    if version > len(MIGRATIONS):
        raise SchemaError(
            f"its version is {version}, this program knows up to {len(MIGRATIONS)}"
        )
    return int(version)


def insert(
    connection: sqlite3.Connection, records: Iterable[Mapping[str, Any]]
) -> None:
    """Write turn records in one transaction; a turn that is there is replaced."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for record in records:
            row = _row(record)
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            connection.execute(
                f"INSERT OR REPLACE INTO turns ({names}) VALUES ({marks})",
                tuple(row.values()),
            )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    usage, cache, verdict = record["usage"], record["cache"], record["verdict"]
    end, same = (
        record["end"],
        (
            *(
                "flow",
                "run",
                "started_at",
                "upstream",
                "engine",
                "api",
                "model",
                "agent",
            ),
            *("session", "thread", "role", "ttfb_s", "ttft_s", "duration_s"),
            *("output_tokens_per_s", "in_flight", "request_bytes"),
        ),
    )
    return {
        **{name: record[name] for name in same},
        "turn_index": record["index"],
        **{
            f"{name}_tokens": usage[name]
            for name in ("prompt", "completion", "reasoning")
        },
        "cached_tokens": cache["cached_tokens"],
        "estimate_tokens": record["estimate"]["prompt_tokens"],
        "expected_tokens": cache["expected_tokens"],
        "cache_state": cache["state"],
        "cache_source": cache["source"],
        **{
            name: verdict[name]
            for name in (
                *("fault", "cause", "confidence", "runner_up"),
                *("lost_tokens", "lost_s"),
            )
        },
        "verdict": verdict["text"],
        "end_by": end["by"],
        "end_stage": end["stage"],
        "finish_reason": end["finish_reason"],
        "guard_phase": (record["guard"] or {}).get("phase"),
        # Chunk times are for a replay, and only captures can be replayed.
        "record": json.dumps({k: v for k, v in record.items() if k != "chunks"}),
    }
