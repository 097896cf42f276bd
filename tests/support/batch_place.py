"""A folder with a batch in it, for tests: runs batches in this process, with stand-ins for the agents or with replayed
runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.batch.batch import Batch
from agent.batch.journal.folder import RunFolder
from agent.batch.journal.reader import read_journal
from agent.batch.request import BatchRequest
from agent.options import RunRequest
from supervisor.cleanup.env_marks import bears_token, environment_of
from supervisor.process.table import ProcessTable
from wire.batch import records
from wire.batch.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire.batch.outcome import Outcome

STANDIN = Path(__file__).with_name("standin_run.py")

MADE = ("has_template", "run_program", "on_event", "make_carrier", "version")
"""Parameters of `Batch` that are no part of its request."""


class BatchPlace:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rundir = folder / "rundir"
        self.said: list[str] = []
        self.told: list[records.AnyRecord] = []
        self.events: list[tuple[str, int, bytes]] = []
        self.token = ""

    def batch(self, tasks: list[Task], *, run: dict[str, Any] | None = None, **given: Any) -> Batch:
        self.told.clear()
        self.said.clear()
        self.events.clear()
        made = {name: given.pop(name) for name in MADE if name in given}
        flags = RunRequest(home=self.folder / "home", keep_session=False, discover=False, **(run or {}))
        request = BatchRequest(folder=self.rundir, run=flags, **{"jobs": 2, **given})
        batch = Batch(
            request, tasks, tell=self.told.append, say=self.said.append, owns_process=False,
            **{
                "version": "0", "on_event": lambda task, attempt, line: self.events.append((task, attempt, line)),
                **made,
            },
        )  # fmt: skip
        self.token = batch.token
        return batch

    def run(self, tasks: list[Task], *, do: Callable[[Batch], None] | None = None, **given: Any) -> records.BatchEnd:
        """Runs a batch with stand-ins, or as `given` says. `do` gets the batch before it begins."""
        batch = self.batch(tasks, **{"run_program": STANDIN, **given})
        if do is not None:
            do(batch)
        end = batch.run()
        assert self.left() == []
        return end

    def left(self) -> list[int]:
        """Living processes of the last batch."""
        return [pid for pid in ProcessTable.read().by_pid if bears_token(environment_of(pid), self.token)]

    def ends(self, *, final: bool = True) -> dict[str, list[Outcome]]:
        """The outcomes that were told, by task."""
        found: dict[str, list[Outcome]] = {}
        for record in self.told:
            if isinstance(record, records.TaskEnd) and (record.final or not final):
                found.setdefault(record.task, []).append(record.outcome)
        return found

    def state(self) -> Any:
        path = RunFolder(self.rundir).journal
        fd = os.open(path, os.O_RDONLY)
        try:
            return read_journal(path, fd).state
        finally:
            os.close(fd)


def tasks(*prompts: str) -> list[Task]:
    """With the ids a, b, c…"""
    return [Task(id=chr(ord("a") + number), prompt=prompt) for number, prompt in enumerate(prompts)]


def when(batch: Batch, condition: Callable[[], bool], act: Callable[[], object]) -> None:
    """Acts once, when the condition holds."""

    def look() -> None:
        if condition():
            act()
        else:
            batch.loop.call_later(0.02, look)

    batch.loop.call_later(0.0, look)
