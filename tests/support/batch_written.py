"""Folders of batches, written by the writer of the journal, for tests of what reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.batch.journal.folder import BatchFile, RunFolder
from agent.batch.journal.writer import Journal
from tests.support.batch_journal import BEGAN, outcome, tasks
from wire import events
from wire.batch.journal_lines import Scored
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from supervisor.loop.loop import Loop
    from wire.batch.outcome import Score
    from wire.batch.task import Task

T0 = 1_760_000_000.0
"""The time of the first line, unless the clock is moved before."""


class WrittenBatch:
    """Writes one folder; `at` is the time of the next lines, in seconds after `T0`."""

    def __init__(
        self, path: Path, loop: Loop, *ids: str, given: Iterable[Task] = (), flags: dict[str, Any] | None = None
    ) -> None:
        """`flags` are those of the last start, as `batch.json` keeps them."""
        self.folder = RunFolder(path)
        self.path = path
        self.at = 0.0
        self._loop = loop
        self._journal: Journal | None = None
        path.mkdir(parents=True, exist_ok=True)
        listed = [*tasks(*ids), *given]
        settings = {"model": "m", "flags": flags or {}}
        self.folder.write_batch(BatchFile(version="1", created=BEGAN, tasks=len(listed), settings=settings))
        self.folder.write_tasks(listed)

    def open(self, jobs: int = 4, tasks: int = 0) -> None:
        """A batch process begins."""

        def fail(reason: str) -> None:
            raise AssertionError(reason)

        self._journal = Journal.open(self.path, self._loop, on_failure=fail, clock=lambda: T0 + self.at)
        self._journal.opened(version="0.1.0", tasks=tasks, jobs=jobs)

    @property
    def journal(self) -> Journal:
        assert self._journal is not None
        return self._journal

    def start(self, task: str, attempt: int = 1, node: str = "") -> None:
        """`node` is empty for a run on the machine of the batch."""
        self.journal.started(task, attempt, node=node)
        self.journal.sync()

    def finish(
        self, task: str, attempt: int = 1, status: TaskStatus = TaskStatus.OK, *, final: bool = True, **fields: Any
    ) -> None:
        self.journal.finished(outcome(task, attempt, status, **fields), final=final)
        self.journal.sync()

    def run(self, task: str, status: TaskStatus = TaskStatus.OK, *, seconds: float = 1.0, **fields: Any) -> None:
        """One attempt from its start to its end."""
        self.start(task, fields.get("attempt", 1), fields.get("node", ""))
        self.at += seconds
        self.finish(task, status=status, **{"duration_ms": int(1000 * seconds)} | fields)

    def kill(self) -> None:
        """The batch process ends without a word."""
        self.journal.close()
        self._journal = None

    def score(self, task: str, score: Score, attempt: int = 1) -> None:
        """A result is scored again."""
        self.journal.append(Scored, task=task, attempt=attempt, score=score)
        self.journal.sync()

    def close(self, reason: Any = "done", limit: str = "") -> None:
        self.journal.closed(reason, limit)
        self.kill()

    def write_events(self, task: str, *records: events.Record, attempt: int = 1, tail: bytes = b"") -> None:
        path = self.folder.events(task, attempt)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(map(events.encode, records)) + tail)


def said(text: str) -> events.AssistantMessage:
    return events.AssistantMessage((events.TextContent(text),), "2026-11-22T20:00:00Z")


def asked(text: str) -> events.UserMessage:
    return events.UserMessage((events.TextContent(text),), "2026-11-22T20:00:00Z")


def called(call: str, name: str, arguments: bytes, result: str, *, is_error: bool = False) -> list[events.Record]:
    from msgspec import Raw

    return [
        events.ToolCall(call, name, Raw(arguments)),
        events.TurnEnd("tool_use"),
        events.ToolResult(call, is_error, (events.TextContent(result),)),
    ]
