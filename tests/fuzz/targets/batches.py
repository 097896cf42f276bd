"""Journals of batches, as a start of the batch goes on with them: read, cut where they are torn, written to, shown."""

from __future__ import annotations

import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.batch.journal import reader, writer
from agent.batch.journal.errors import JournalError
from agent.batch.journal.folder import RunFolder
from agent.batch.journal.formats import FORMATS
from agent.batch.journal.reader import read_journal
from agent.batch.journal.shards import BatchResults, read_shard
from agent.batch.journal.writer import Journal
from supervisor.loop.loop import Loop
from tests.fuzz.target import Target
from tests.support.batch_journal import outcome
from wire.batch.journal_lines import Closed, Finished, Opened, Paused, Reopened, Resumed, Started, encode_line
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CHECKSUM = b',"crc":"'
LINES = (
    Opened(seq=1, commit=1, t=1.5, version="1", pid=9, tasks=2, jobs=2),
    Started(seq=2, commit=2, t=2.5, task="a", attempt=1, digest="d"),
    Started(seq=3, commit=2, t=2.5, task="b", attempt=1),
    Paused(seq=4, commit=4, t=3.5, task="a", attempt=1, reason="429"),
    Resumed(seq=5, commit=5, t=4.5, task="a", attempt=1),
    Finished(
        seq=6, commit=6, t=5.5, task="a", attempt=1, final=True, outcome=outcome("a", text="A | b\n", meta={"k": 1})
    ),
    Finished(seq=7, commit=6, t=5.5, task="b", attempt=1, final=False, outcome=outcome("b", 1, TaskStatus.CRASHED)),
    Reopened(seq=8, commit=8, t=6.5, task="a"),
    Finished(seq=9, commit=9, t=7.5, task="a", attempt=2, final=True, outcome=outcome("a", 2)),
    Closed(seq=10, commit=9, t=7.5, reason="done"),
)


def some_journals() -> list[bytes]:
    texts = [encode_line(line) for line in LINES]
    return [b"".join(texts), b"".join(texts[:6]), b"".join(texts[:3])[:-20], b"".join(texts[:5]) + b"\0" * 50]


def sealed(data: bytes) -> bytes:
    """The same with right checksums: what is in the lines is tried, too."""
    lines = []
    for line in data.splitlines(keepends=True):
        body, mark, _rest = line.rpartition(CHECKSUM)
        lines.append(b'%s%s%08x"}\n' % (body, CHECKSUM, zlib.crc32(body)) if mark else line)
    return b"".join(lines)


@contextmanager
def _open(folder: Path) -> Iterator[Callable[[bytes], None]]:
    loop, sync = Loop(), writer.sync
    run = RunFolder(folder)
    run.write_tasks(Task(id=task, prompt="p") for task in "abc")

    def fail(reason: str) -> None:
        raise AssertionError(reason)

    def take(data: bytes) -> None:
        for text in (data, sealed(data)):
            run.journal.write_bytes(text)
            run.journal.with_suffix(".torn").unlink(missing_ok=True)
            try:
                journal = Journal.open(folder, loop, on_failure=fail)
            except JournalError:
                assert run.journal.read_bytes() == text, "a journal that is refused stays"
                continue
            kept = text.startswith(run.journal.read_bytes())
            before = journal.state.statuses()
            journal.started("c", journal.state.history("c").attempts + 1)
            journal.close()
            assert kept
            assert read_journal(run.journal).state.statuses() == before
            try:
                for form in FORMATS.values():
                    b"".join(form(BatchResults([read_shard(run)])))
            except JournalError:
                continue

    writer.sync = reader.sync = lambda _fd: None
    try:
        yield take
    finally:
        writer.sync = reader.sync = sync
        loop.close()


TARGETS = (Target("batch_journals", some_journals, _open, in_suite=30, share=0.1),)
