"""Outcomes and journals for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.batch.journal.folder import BatchFile, RunFolder
from agent.batch.journal.writer import JOURNAL, Journal
from wire.batch.journal_lines import AnyLine, encode_line
from wire.batch.outcome import Outcome, TaskStatus
from wire.batch.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from supervisor.loop.loop import Loop

BEGAN, ENDED = "2026-11-22T20:00:00.000Z", "2026-11-22T20:00:01.500Z"


def outcome(task: str, attempt: int = 1, status: TaskStatus = TaskStatus.OK, **fields: Any) -> Outcome:
    given = {"cost_usd": 0.5, "started": BEGAN, "ended": ENDED, "duration_ms": 1500} | fields
    return Outcome(id=task, attempt=attempt, status=status, **given)


def open_journal(folder: Path, loop: Loop) -> Journal:
    """A journal whose failure fails the test."""

    def fail(reason: str) -> None:
        raise AssertionError(reason)

    return Journal.open(folder, loop, on_failure=fail, clock=lambda: 1.5e9)


def write_lines(folder: Path, lines: Iterable[AnyLine]) -> Path:
    """A journal with exactly these lines."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / JOURNAL
    path.write_bytes(b"".join(map(encode_line, lines)))
    return path


def ran(folder: Path, loop: Loop, *outcomes: Outcome, final: bool = True) -> None:
    """Appends one start of a batch in which these attempts were made, each in a commit of its own."""
    journal = open_journal(folder, loop)
    journal.opened(version="1", tasks=len(outcomes), jobs=2)
    for one in outcomes:
        journal.started(one.id, one.attempt, one.digest, one.node or "")
        journal.sync()
        journal.finished(one, final=final)
        journal.sync()
    journal.closed("done")
    journal.close()


def run_folder(path: Path, loop: Loop, tasks: Iterable[Task], *outcomes: Outcome) -> RunFolder:
    """The folder of a batch of these tasks, in which these attempts were final."""
    folder = RunFolder(path)
    path.mkdir(parents=True, exist_ok=True)
    given = list(tasks)
    folder.write_batch(BatchFile(version="1", created=BEGAN, tasks=len(given), settings={"model": "m"}))
    folder.write_tasks(given)
    ran(path, loop, *outcomes)
    return folder


def tasks(*ids: str) -> list[Task]:
    return [Task(id=one, prompt=f"do {one}") for one in ids]
