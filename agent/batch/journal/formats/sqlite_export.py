"""A batch as a sqlite database, for questions that take more than a filter. `TABLES` has its tables."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Any

import msgspec

from agent.batch.journal.errors import FolderError
from supervisor.home.files import sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent.batch.journal.results import BatchResults
    from wire.batch.outcome import Outcome

ROWS = 500
"""Attempts written at once."""
TABLES = """
CREATE TABLE batch (              -- what batch.json has; values are JSON
    name TEXT PRIMARY KEY, value TEXT NOT NULL
);
CREATE TABLE tasks (              -- each task of the tasks file, in its order
    position INTEGER PRIMARY KEY, -- from 1
    id TEXT NOT NULL UNIQUE,
    prompt TEXT NOT NULL,
    task TEXT NOT NULL            -- all of it, as JSON
);
CREATE TABLE attempts (           -- each attempt that has ended
    task TEXT NOT NULL, attempt INTEGER NOT NULL,
    is_final INTEGER NOT NULL,    -- 1: this is the outcome of the task
    status TEXT NOT NULL, reason TEXT NOT NULL, text TEXT NOT NULL, is_cut INTEGER NOT NULL,
    answer TEXT,                  -- JSON; null without an output schema
    steps INTEGER NOT NULL, cost_usd REAL, -- null: not known
    duration_ms INTEGER NOT NULL, paused_ms INTEGER NOT NULL, requests INTEGER NOT NULL, rate_limited INTEGER NOT NULL,
    started TEXT NOT NULL, ended TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL, session TEXT NOT NULL,
    exit_status INTEGER, cpu_s REAL NOT NULL, memory_peak_bytes INTEGER NOT NULL,
    setup_exit_status INTEGER, check_exit_status INTEGER, diff TEXT NOT NULL, digest TEXT NOT NULL,
    meta TEXT NOT NULL            -- JSON
);
CREATE INDEX attempts_by_task ON attempts (task, attempt);
CREATE TABLE usage (              -- tokens of each attempt, by kind: input, output, cache_read, cache_write
    task TEXT NOT NULL, attempt INTEGER NOT NULL, kind TEXT NOT NULL, tokens INTEGER NOT NULL
);
CREATE INDEX usage_by_task ON usage (task, attempt);
CREATE TABLE extension_costs (    -- what each extension cost in each attempt; all columns are in cost as JSON, too
    task TEXT NOT NULL, attempt INTEGER NOT NULL, extension TEXT NOT NULL,
    state TEXT NOT NULL, cpu_ms INTEGER NOT NULL, rss_peak_bytes INTEGER NOT NULL, calls INTEGER NOT NULL,
    errors INTEGER NOT NULL, timeouts INTEGER NOT NULL, blocks INTEGER NOT NULL, restarts INTEGER NOT NULL,
    cost TEXT NOT NULL
);
CREATE INDEX extension_costs_by_task ON extension_costs (task, attempt);
CREATE VIEW results AS            -- the outcome of each task that is done, in the order of the tasks
    SELECT attempts.* FROM attempts LEFT JOIN tasks ON tasks.id = attempts.task WHERE is_final
    ORDER BY tasks.position IS NULL, tasks.position;
"""


def write_sqlite(results: BatchResults, path: Path) -> None:
    """Writes the database whole in the place of the file that is there. Raises `FolderError`, `JournalError`."""
    new = path.with_name(f".{path.name}.new")
    try:
        new.unlink(missing_ok=True)
        connection = sqlite3.connect(new, isolation_level=None)
        try:
            # Nobody sees the file before it is whole, so no write of it needs to be safe.
            connection.execute("PRAGMA journal_mode=OFF")
            connection.execute("PRAGMA synchronous=OFF")
            connection.executescript("BEGIN;" + TABLES)
            _fill(connection, results)
            connection.execute("COMMIT")
        finally:
            connection.close()
        fd = os.open(new, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(new, path)
        sync_folder(path.parent)
    except (sqlite3.Error, OSError, OverflowError) as error:  # OverflowError: a number of more than 64 bits
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise FolderError(f"{path}: cannot be written: {why}") from None
    finally:
        new.unlink(missing_ok=True)


def _fill(connection: sqlite3.Connection, results: BatchResults) -> None:
    batch = results.folder.read_batch()
    facts = {} if batch is None else msgspec.to_builtins(batch)
    _insert(connection, "batch", [(name, _json(value)) for name, value in facts.items()])
    for position, task in enumerate(results.folder.read_tasks(), 1):
        _insert(connection, "tasks", [(position, _text(task.id), _text(task.prompt), _json(task))])
    for some in _in_parts(results.attempts()):
        _insert(connection, "attempts", [_attempt(one, is_final) for one, is_final in some])
        _insert(connection, "usage", [row for one, _ in some for row in _usage(one)])
        _insert(connection, "extension_costs", [row for one, _ in some for row in _extensions(one)])


def _in_parts(attempts: Iterator[tuple[Outcome, bool]]) -> Iterator[list[tuple[Outcome, bool]]]:
    part = []
    for one in attempts:
        part.append(one)
        if len(part) == ROWS:
            yield part
            part = []
    yield part


def _insert(connection: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        places = ",".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608


def _attempt(one: Outcome, is_final: bool) -> tuple[Any, ...]:
    answer = None if isinstance(one.answer, msgspec.UnsetType) else bytes(one.answer).decode("utf-8", "replace")
    return (
        *(one.id, one.attempt, is_final, one.status.value, _text(one.reason), _text(one.text), one.is_cut, answer),
        *(one.steps, one.cost_usd, one.duration_ms, one.paused_ms, one.requests, one.rate_limited),
        *(one.started, one.ended, one.provider, one.model, one.session),
        *(one.exit_status, one.cpu_s, one.memory_peak_bytes),
        *(one.setup and one.setup.exit_status, one.check and one.check.exit_status, one.diff, one.digest),
        _json(one.meta),
    )


def _usage(one: Outcome) -> Iterator[tuple[Any, ...]]:
    for kind, tokens in msgspec.structs.asdict(one.usage).items():
        yield one.id, one.attempt, kind, tokens


def _extensions(one: Outcome) -> Iterator[tuple[Any, ...]]:
    for name, cost in one.extensions.items():
        counts = (cost.calls, cost.errors, cost.timeouts, cost.blocks, cost.restarts)
        yield one.id, one.attempt, name, cost.state, cost.cpu_ms, cost.rss_peak_bytes, *counts, _json(cost)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _text(text: str) -> str:
    """sqlite's own functions end a text at a NUL."""
    return text.replace("\0", "\ufffd")
