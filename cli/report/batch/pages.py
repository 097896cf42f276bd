"""Writes the page of a batch, and beside it a folder with the pages of its tasks."""

from __future__ import annotations

import errno
import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from agent.batch.journal.errors import FolderError
from agent.batch.journal.folder import RunFolder
from agent.batch.journal.rundir_files import IN_DIFFS, IN_RUNS, open_rundir_file
from cli.number_format import clock_text, count_text, plural
from cli.report.batch.conversation import read_conversation
from cli.report.batch.journal_reader import outcome_at, read_batch
from cli.report.batch.page import render
from cli.report.batch.selection import tasks_with_pages
from cli.report.batch.tables import Links
from cli.report.batch.task_page import PAGE_CHARACTERS, TaskPage, render_task
from cli.report.page.document import is_report
from supervisor.home.safe_files import replacement
from wire.batch.task import safe_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.batch.journal.shards import Prefer
    from cli.report.batch.figures import BatchFigures, TaskFigures

ALL_PAGES_BYTES = 256 << 20
"""Size of the pages of tasks in bytes from which further pages are short."""
SHORT_CHARACTERS = 10_000
STDERR_BYTES, DIFF_BYTES = 16 * 1024, 128 * 1024
CONVERSATIONS = 3
"""Attempts of a task whose events are on its page."""


class BatchPages:
    """The report of the batch in one or several folders."""

    def __init__(self, sources: Sequence[str], version: str, prefer: Prefer | None = None) -> None:
        """`sources` are the folders as the user has named them. Reads them; raises `InputError`."""
        self._sources = sources
        self._version = version
        self._now = time.time()
        self._batch = read_batch([RunFolder(Path(source)) for source in sources], self._now, prefer)

    def page(self) -> str:
        """The page of the batch alone, for stdout."""
        return self._page(Links("", {}), "Tasks have pages of their own if the report is written to a file.")

    def page_with_tasks(self, target: str, most: int, mode: int) -> str:
        """Writes the pages of at most `most` tasks into a folder beside `target`, and returns the page of the batch,
        which links to them. `mode` is that of a new file, less the umask. Raises `OSError`, `FileExistsError` for what
        is there and is no report."""
        chosen = tasks_with_pages(self._batch.tasks, most)
        names = {task.id: f"{safe_name(task.id)}.html" for task in chosen}
        folder = pages_folder(target)
        if chosen:
            _make_pages_folder(folder, mode)
            self._write(chosen, names, folder, quote(os.path.basename(target)), mode)
        return self._page(Links(quote(folder.name), names), _pages_text(self._batch, len(chosen)))

    def _page(self, links: Links, said: str) -> str:
        return render(
            self._batch,
            links,
            folder=shlex.join(map(os.path.abspath, self._sources)),
            pages_said=said,
            written=clock_text(self._now),
            version=self._version,
        )

    def _write(self, chosen: Sequence[TaskFigures], names: dict[str, str], folder: Path, back: str, mode: int) -> None:
        prompts = self._prompts(chosen)
        written = 0
        is_terminal = sys.stderr.isatty()
        for number, task in enumerate(chosen, 1):
            room = PAGE_CHARACTERS if written < ALL_PAGES_BYTES else SHORT_CHARACTERS
            html = render_task(self._task_page(task, prompts.get(task.id, ""), f"../{back}", room)).encode()
            _replace(folder / names[task.id], html, mode)
            written += len(html)
            if is_terminal and number % 100 == 0:
                print(f"\r{number} of {len(chosen)} pages of tasks", end="\r", file=sys.stderr)  # noqa: T201

    def _task_page(self, task: TaskFigures, prompt: str, back: str, room: int) -> TaskPage:
        latest = task.latest
        ended = next((one for one in reversed(task.attempts) if one.number == latest), None)
        others = [one.number for one in reversed(task.attempts) if one.number != latest]
        shown = [(number, *self._batch.results.locate(task.id, number)) for number in [latest, *others][:CONVERSATIONS]]
        _, folder, number_there = shown[0]
        return TaskPage(
            task=task,
            prompt=prompt,
            outcome=outcome_at(folder.journal, ended.offset, ended.rescored) if ended is not None else None,
            conversations=[(number, read_conversation(where.events(task.id, there))) for number, where, there in shown],
            stderr=_part(folder.stderr(task.id, number_there), IN_RUNS, STDERR_BYTES, from_end=True),
            diff=_part(folder.diff(task.id), IN_DIFFS, DIFF_BYTES, from_end=False),
            back=back,
            batch=self._batch.name,
            room=room,
        )

    def _prompts(self, chosen: Sequence[TaskFigures]) -> dict[str, str]:
        results, found = self._batch.results, dict[str, str]()
        wanted = {task.id: results.locate(task.id, task.latest)[0] for task in chosen}
        for shard in results.shards:
            try:
                for task in shard.folder.read_tasks():
                    if wanted.get(task.id) is shard.folder:
                        found[task.id] = task.prompt
            except FolderError:
                pass  # the page of the batch says so
        return found


def pages_folder(target: str) -> Path:
    """The folder for the pages of the tasks: `report-tasks` beside `report.html`."""
    path = Path(target)
    return path.with_name(f"{path.stem}-tasks")


def _pages_text(batch: BatchFigures, pages: int) -> str:
    """Which tasks have a page."""
    begun = sum(bool(task.attempts or task.running) for task in batch.tasks)
    if not pages:
        return "No task has a page of its own." if begun else "No task was begun."
    if pages == begun:
        return "Each task that was begun has a page of its own: follow its name."
    failed = min(pages, sum(task.has_failed for task in batch.tasks))
    return (
        f"{plural(pages, 'task')} of {count_text(begun)} have a page of their own: {count_text(failed)} that have "
        "failed, the slowest, the most expensive, and an even choice of the others. --pages makes more."
    )


def _make_pages_folder(folder: Path, mode: int) -> None:
    try:
        folder.mkdir(mode | (mode & 0o444) >> 2)
    except FileExistsError:
        if folder.is_symlink() or not folder.is_dir():
            raise FileExistsError(errno.EEXIST, "is there already and is no folder of reports", str(folder)) from None


def _replace(path: Path, html: bytes, mode: int) -> None:
    """Writes a page, whole or not at all. Raises `FileExistsError` for what is no report, and `OSError`."""
    if path.is_symlink() or (path.exists() and not is_report(path)):
        raise FileExistsError(errno.EEXIST, "is there already and is no report", str(path))
    with replacement(path, mode, is_durable=False) as file:
        file.write(html)


def _part(path: Path, depth: int, most: int, *, from_end: bool) -> str:
    """The beginning or the end of a file of the batch; empty if it cannot be read. With the reason if it is no file of
    the batch."""
    try:
        with open(open_rundir_file(path, depth=depth), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if from_end and size > most:
                file.seek(size - most)
            shown = file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""
    except FolderError as error:
        return str(error)
    left = size - most
    if left <= 0 or not shown:
        return shown
    note = f"… {left:,} bytes are left out here …"
    return f"{note}\n{shown}" if from_end else f"{shown}\n{note}"
