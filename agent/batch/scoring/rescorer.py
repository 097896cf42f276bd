"""Scores the results of a batch again, several at the same time, each in a process as a run has it. Each score is on
the disk before it is told."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from agent.batch.journal.errors import FolderError, JournalError
from agent.batch.journal.shards import BatchResults, read_shard, write_results
from agent.batch.journal.writer import Journal
from agent.batch.log import BatchLog
from agent.batch.pool.processes import Processes
from agent.batch.pool.run_facts import EndReason
from agent.batch.pool.run_order import Orders
from agent.batch.pool.run_process import RunProcess
from agent.batch.scoring.results_to_score import outcomes_to_score, score_order, tasks_to_score
from agent.batch.workspace.leavings import remove_leavings
from supervisor.home.runtime_dir import runtime_dir
from supervisor.home.zot_home import zot_home
from supervisor.loop.loop import Loop, stop_signals
from supervisor.loop.steps import run_in_steps
from wire.batch.outcome import Outcome, Score, TaskStatus

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator, Sequence

    from agent.batch.journal.folder import RunFolder
    from agent.batch.request import BatchRequest
    from wire.batch import link

STOPPED = "the scoring was stopped"


class Scoring(msgspec.Struct, frozen=True):
    """A result that was scored, or why it was not."""

    outcome: Outcome
    """With the score that it has now."""
    failure: str = ""
    """Why its command was not carried out; the score before it stands."""


class Rescorer:
    """Call `run` once. `tell` gets each scoring, `say` lines for the user."""

    def __init__(
        self,
        request: BatchRequest,
        folder: RunFolder,
        *,
        command: str | None,
        ids: Sequence[str],
        only_missing: bool,
        jobs: int,
        version: str,
        tell: Callable[[Scoring], None],
        say: Callable[[str], None],
        is_full: Callable[[], bool] = lambda: False,
    ) -> None:
        """`request` is that of the batch. `command` takes the place of the commands of the tasks. `ids` are tasks, or
        the tasks of repetitions; none are all. `is_full` says that whoever is told is behind."""
        self.loop = Loop()
        self.total = 0
        """Results to look at; those that have a score already are among them."""
        self.done = 0
        self.was_stopped = False
        """Whether results are left."""
        self.failure = ""
        """Why the files of the batch cannot be written."""
        self._request = request
        self._folder = folder
        self._command = command
        self._ids = ids
        self._only_missing = only_missing
        self._jobs = jobs
        self._version = version
        self._tell = tell
        self._say = say
        self._is_full = is_full
        self._log = BatchLog(folder.log)
        self._processes = Processes(
            self.loop, runtime_folder=runtime_dir(request.run.home or zot_home()), version=version, say=say,
            log=self._log,
        )  # fmt: skip
        self._running: dict[RunProcess, Outcome] = {}
        self._unsafe = 0
        """Scores that are not on the disk yet."""
        self._is_over = False
        """Whether nothing more is started."""

    def run(self) -> None:
        """By its end every process that it has started has ended; the caller closes the loop. Raises `JournalError`,
        also if another process works on the folder, `FolderError`, `ScoringError`, `UsageError`."""
        with self.loop.signals(stop_signals(), self._on_signal):
            self._journal = Journal.open(self._folder.path, self.loop, on_failure=self._fail)
            try:
                left = self._begin()
                self.loop.run_until(lambda: self._advance(left))
                self._end()
            finally:
                self._kill()
                self._processes.close()
                self._journal.close()
                self._log.close()

    def _begin(self) -> Iterator[Outcome]:
        results = BatchResults([read_shard(self._folder, self._journal.state)])
        tasks = {task.id: task for task in self._folder.read_tasks()}
        chosen = tasks_to_score(results, tasks, self._command or self._request.score, self._ids)
        self._tasks = tasks
        self._orders = Orders(self._request, self._folder, self._version, self._processes)
        self.total = len(chosen)
        self._log.open()
        self._log.info("scoring started", tasks=self.total, command=self._command or "")
        if self._request.workspace == "shared" and chosen:
            self._say("the tasks have no workspaces of their own: their folders are scored as they are now")
        self._remove_leavings()  # of a scoring that was killed
        self._processes.open(is_needed=bool(chosen))
        return outcomes_to_score(results, chosen, only_missing=self._only_missing)

    def _end(self) -> None:
        self._log.info("scoring ended", scored=self.done, was_stopped=self.was_stopped)
        self._remove_leavings()
        if self.failure or not self._journal.sync():
            return
        try:
            run_in_steps(self.loop, write_results(self._folder, self._journal.state))
        except (OSError, JournalError, FolderError) as error:
            self._say(f"{self._folder.results_file} cannot be written ({error}); the journal has all")
        run_in_steps(self.loop, self._journal.checkpoint())

    def _remove_leavings(self) -> None:
        """Removes the worktrees that were made for scoring."""
        if self._request.workspace == "worktree" and (left := remove_leavings(self._folder)):
            self._say(f"worktrees cannot be removed: {left}")

    # --- each pass of the loop --------------------------------------------------------------------------------

    def _advance(self, left: Iterator[Outcome]) -> bool:
        """Starts what may start. Returns whether all is done."""
        while not self._is_over and len(self._running) + self._unsafe < self._jobs and not self._is_full():
            outcome = next(left, None)
            if outcome is None:
                self._is_over = True
            else:
                self._start(outcome)
        return self._is_over and not self._running and not self._unsafe

    def _start(self, outcome: Outcome) -> None:
        task = self._tasks[outcome.id]
        task = replace(task, score=self._command or task.score or self._request.score)
        order = score_order(self._orders, self._folder, task, outcome)
        run = RunProcess(
            self.loop, order, self, launch=self._processes.launch,
            memory_of=self._processes.memory_of, spared=self._processes.spared,
        )  # fmt: skip
        self._running[run] = outcome
        run.start()

    # --- as a listener of runs --------------------------------------------------------------------------------

    def run_said(self, run: RunProcess, line: bytes) -> None:
        """Does nothing: it says only why it could not begin, which the end has."""

    def run_asked(self, run: RunProcess, request: link.ModelRequest) -> None:  # noqa: ARG002
        run.kill(EndReason(TaskStatus.CRASHED, "a scoring asks no model"))

    def run_cancelled(self, run: RunProcess) -> None:
        pass

    def run_is_behind(self, run: RunProcess, is_behind: bool) -> None:
        pass

    def run_has_no_files(self, run: RunProcess, reason: str) -> None:
        self._fail(f"{reason}: the score of task {run.task!r} cannot be made")

    def run_ended(self, run: RunProcess, outcome: Outcome) -> None:
        scored = self._running.pop(run)
        for path in (run.order.events, run.order.stderr):
            with suppress(OSError):
                os.unlink(path)
        if outcome.status is TaskStatus.INTERRUPTED or self.failure:
            self.was_stopped = True
        elif outcome.status is TaskStatus.OK and outcome.score is not None:
            self._unsafe += 1
            self._journal.scored(scored.id, scored.attempt, outcome.score)
            self._journal.when_durable(partial(self._scored, scored, outcome.score))
        else:
            self._told(Scoring(scored, outcome.reason or outcome.status.value))

    def _scored(self, outcome: Outcome, score: Score) -> None:
        """The score is safe."""
        self._unsafe -= 1
        self._told(Scoring(replace(outcome, score=score)))

    def _told(self, scoring: Scoring) -> None:
        self.done += 1
        log = self._log.warning if scoring.failure else self._log.info
        log("scored", task=scoring.outcome.id, attempt=scoring.outcome.attempt, failure=scoring.failure)
        self._tell(scoring)

    # --- the end ----------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Starts nothing more, and ends the commands that run. Scores that are on the disk stay."""
        self._is_over = self.was_stopped = True
        for run in self._running:
            run.abort(TaskStatus.INTERRUPTED, STOPPED)

    def _on_signal(self, number: signal.Signals) -> None:
        self._log.warning("signal", signal=number.name)
        if self.was_stopped:
            self._kill()
        else:
            self._say(f"{number.name}: {len(self._running)} running are stopped. Once more kills them")
            self.stop()

    def _kill(self) -> None:
        for run in self._running:
            run.kill(EndReason(TaskStatus.INTERRUPTED, STOPPED))

    def _fail(self, reason: str) -> None:
        """The folder of the batch cannot be written: everything stops."""
        if not self.failure:
            self.failure = reason
            self._say(f"{reason}: make room, then score the rest with --missing")
            self._log.error("scoring failed", message=reason)
        self._unsafe = 0
        self.stop()
