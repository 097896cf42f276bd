"""Journals of batches for `zot report`, and the events of a run for the page of its task."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.batch.journal.folder import RunFolder
from cli.report.batch.conversation import read_conversation
from cli.report.batch.figures import BatchPhase, TaskFigures
from cli.report.batch.journal_reader import outcome_at, read_batch
from cli.report.batch.page import render
from cli.report.batch.tables import Links
from cli.report.batch.task_page import TaskPage, render_task
from cli.report.input.recorded_run import InputError
from tests.fuzz.target import Target, with_file
from tests.fuzz.targets.batches import sealed, some_journals
from tests.support.batch_written import asked, called, said
from wire import events
from wire.batch.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def reports(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """A journal is refused with a line, or the pages of the batch and of its tasks are made."""
    run = RunFolder(folder)
    run.write_tasks(Task(id=task, prompt="p") for task in "abc")

    def take(data: bytes) -> None:
        for text in (data, sealed(data)):
            run.journal.write_bytes(text)
            try:
                batch = read_batch([run], 1e9)
            except InputError:
                continue
            assert batch.phase is not BatchPhase.RUNNING
            page = render(batch, Links("", {}), folder="f", pages_said="", written="", version="1")
            assert page.count("<script") == 2
            for task in batch.tasks:
                told = task.told
                ended = outcome_at(run.journal, told.offset) if told is not None else None
                assert "<script" not in render_task(TaskPage(task=task, outcome=ended, back="b", batch="f"))

    yield take


def some_streams() -> list[bytes]:
    records = [
        asked("mend it"),
        events.TurnStart(1),
        events.TextDelta("I lo"),
        said("I look"),
        *called("c1", "bash", b'{"command":"ls"}', "no", is_error=True),
        events.Retry(2, 3, 1.5, "rate limited", 429),
        events.CompactDone("all of it", 9, 1),
        events.Extension("guard", "blocked", "<script>"),
        events.Error("it broke"),
        events.Done(),
    ]
    lines = [events.encode(record) for record in records]
    return [b"".join(lines), b"".join(lines[:3])[:-9]]


@with_file("events")
def conversations(file: Path) -> None:
    """Whatever the events are, the task has a page."""
    shown = [(1, read_conversation(file))]
    page = render_task(TaskPage(task=TaskFigures("a"), prompt="p", conversations=shown, back="b", batch="f"))
    assert "<script" not in page
    page.encode()


TARGETS = (
    Target("batch_reports", some_journals, reports, in_suite=30, share=0.1),
    Target("batch_events", some_streams, conversations, in_suite=100, share=0.3),
)
