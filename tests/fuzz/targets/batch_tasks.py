"""Texts that people write for a batch: tasks as JSON Lines and CSV, templates, and flags that choose."""

from __future__ import annotations

import io
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.batch.tasks.faults import TasksError
from agent.batch.tasks.read import read_tasks
from agent.batch.tasks.select import Selection, SelectionError, filter_from, slice_from
from agent.batch.tasks.template import PromptTemplate
from tests.fuzz.target import Target
from wire.batch.task import decode_task, encode_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LINES = (
    b'{"id":"a","prompt":"x","cwd":"p","files":["f"],"meta":{"n":1}}\n{"prompt":"y","env":{"A":"1"},"timeout_s":2.5}\n',
    b'\xef\xbb\xbf{"prompt":"\\u00e9","output_schema":{"type":"object"},"tools":[]}\r\n\n{"prompt":"z","replay":"c"}',
    b'[{"prompt":"x"}]',
)
TABLES = (
    b'id,prompt,max_steps,tools,env,topic\na,"x ""y"",\nz",3,"read,bash","{""A"":""1""}",tea\nb,c,,,,\n',
    b"\xef\xbb\xbfprompt\r\nx\r\n",
)
FLAGS = (b"id~^a.*b$", b"meta.n=1", b"-3:7", b"{a} {{b}} {c d}")


@contextmanager
def tasks(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """There are tasks that are read again as they are, or faults with their lines."""

    def take(data: bytes) -> None:
        for template in (None, "{prompt}"):
            try:
                found = read_tasks("-", template=template, base=folder, stdin=io.BytesIO(data))
            except TasksError as error:
                told = error
            else:
                assert [decode_task(encode_task(task)) for task in found.tasks] == found.tasks
                assert list(found.lines) == [task.id for task in found.tasks]
                continue
            assert told.count >= len(told.faults) > 0
            assert all(fault.startswith("stdin") and "\n" not in fault for fault in told.faults)

    yield take


@contextmanager
def flags(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """Each text is a flag that can be used, or a fault."""
    some = read_tasks("-", template=None, base=folder, stdin=io.BytesIO(LINES[0])).tasks

    def take(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        for choose in (lambda: Selection(filters=(filter_from(text),)), lambda: Selection(slice=slice_from(text))):
            try:
                choose().apply(some)
            except SelectionError:
                pass
        try:
            PromptTemplate(text).fill({"a": 1, "c d": None})
        except (TasksError, KeyError):
            pass

    yield take


TARGETS = (
    Target("batch_tasks", lambda: [*LINES, *TABLES], tasks, 380),
    Target("batch_flags", lambda: list(FLAGS), flags, 1000),
)
