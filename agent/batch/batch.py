"""Runs a batch: starts what may start, records what ends, and stops when it is told to.

`schedule`, `budget` and `retry` decide; here it is done. An attempt is on disk as `started` before its process is
forked, and as `finished` before anybody is told.
"""

from __future__ import annotations

import signal
from collections import Counter, deque
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.batch import records_of, schedule
from agent.batch.budget import Spent, Stop, used_up
from agent.batch.journal.errors import FolderError, JournalError
from agent.batch.journal.folder import RunFolder
from agent.batch.journal.results import write_results
from agent.batch.journal.writer import Journal
from agent.batch.log import BatchLog
from agent.batch.opening import Opening, open_batch
from agent.batch.orders import Orders
from agent.batch.pool.jobs import available_memory, cores, default_jobs
from agent.batch.pool.model_pool import ModelPool
from agent.batch.pool.processes import Processes
from agent.batch.pool.run_outcome import Verdict
from agent.batch.pool.run_process import RunLife, RunProcess
from agent.batch.request import BatchControls
from agent.batch.retry import is_final
from agent.batch.tally import Tally, spent_by, spent_in
from agent.batch.time_text import utc_now
from supervisor.home.runtime_dir import runtime_dir
from supervisor.home.zot_home import zot_home
from supervisor.loop.loop import Loop
from supervisor.process import fd_limit
from wire.batch import records
from wire.batch.outcome import Outcome, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agent.batch.request import BatchRequest, BatchView, StopReason
    from wire.batch import link
    from wire.batch.task import Task

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SAMPLE_S = 1.0
SAMPLE_LIMITED_S = 0.25
"""Seconds between two looks at the memory of all runs, and with `--run-memory`."""
BEGINNINGS = 4
"""How often the process of a task may fail to start, as after the death of the template, before that is its outcome."""
PAUSED = "paused by the user"
STOPPED = "the batch was stopped"
NOT_BEGUN = "the batch was stopped before it began"


class BatchError(Exception):
    """The batch cannot begin; the text says why and what to do."""


class Active:
    """An attempt, from the line `started` until the line `finished` is safe."""

    def __init__(self, task: Task, attempt: int, digest: str) -> None:
        self.task = task
        self.attempt = attempt
        self.digest = digest
        self.run: RunProcess | None = None
        self.is_to_go_on = False
        """Whether the next attempt follows at once although this one counts as interrupted: nothing has run."""


class Batch:
    """One start of a batch. Make it, then call `run` once. `controls` may be changed at any time, from the loop.

    `tell` gets the batch's records, `on_event` each line of each run's event stream, LF included, and `say` lines for
    the user. `is_full` says that whoever is told is behind: then nothing new is started.
    """

    def __init__(
        self,
        request: BatchRequest,
        tasks: Sequence[Task],
        *,
        version: str,
        tell: Callable[[records.AnyRecord], None] | None = None,
        on_event: Callable[[str, int, bytes], None] | None = None,
        say: Callable[[str], None],
        is_full: Callable[[], bool] | None = None,
        owns_process: bool = True,
        has_template: bool | None = None,
        run_program: Path | None = None,
    ) -> None:
        """With `owns_process` every descendant of this process is ended with the batch. `has_template` None: if the
        system can have one; `run_program` takes the place of the runs' program, without a template. Tasks have unique
        ids and absolute paths."""
        self.controls = BatchControls()
        self.loop = Loop()
        self._request = request
        self._tasks = list(tasks)
        self._version = version
        self._tell = tell or _nobody
        self._on_event = on_event
        self._say = say
        self._is_full = is_full or _never
        self._folder = RunFolder(request.folder)
        home = request.run.home or zot_home()
        self._processes = Processes(
            self.loop, runtime_folder=runtime_dir(home), version=version, say=say, owns_process=owns_process,
            has_template=has_template, run_program=run_program,
        )  # fmt: skip
        self.jobs = request.jobs or default_jobs(cores(), available_memory(), request.run_memory)
        self._models = ModelPool(
            self.loop, self._processes.start_worker, jobs=self.jobs,
            on_line=self._worker_said, on_paused=self._on_paused, on_resumed=self._on_resumed,
        )  # fmt: skip
        self._runs: dict[str, RunProcess] = {}
        """By the names that the runs have on their links."""
        self._orders = Orders(request, self._folder, version=version, token=self._processes.token)
        self._log = BatchLog(self._folder.log)
        self._tally = Tally(self.loop.clock())
        self._journal: Journal | None = None
        self._waiting: deque[Task] = deque()
        self._retries: deque[Task] = deque()
        self._active: dict[str, Active] = {}
        self._unbegun: Counter[str] = Counter()
        """How often the process of a task could not be started."""
        self._digests: dict[str, str] = {}
        self._limit: Stop | None = None
        self._halt = schedule.Halt.NONE
        self._was_interrupted = False
        """Whether an attempt was cut short in this start."""
        self._failure = ""
        """Why the files of the batch cannot be written."""
        self._was_stopping = self._was_paused = False
        self._shared_memory = 0
        """Bytes of the template and the model workers, at the last look."""

    # --- what it does ---------------------------------------------------------------------------------------

    @property
    def token(self) -> str:
        """In the environment of every process of the batch."""
        return self._processes.token

    def view(self) -> BatchView:
        runs = [active.run for active in self._active.values() if active.run is not None]
        living = [run for run in runs if run.life is not RunLife.OVER]
        views = [run.view() for run in living]
        return self._tally.view(
            self.loop.clock(),
            tasks=len(self._tasks),
            waiting=len(self._waiting),
            runs=views,
            jobs=self.jobs,
            controls=self.controls,
            is_draining=self.controls.is_draining or self.controls.is_stopping or self._limit is not None,
            spent=self._spent(),
            why_paused=PAUSED if self.controls.is_paused else self._models.why_paused(),
            memory_bytes=self._shared_memory + sum(view.memory_bytes for view in views),
            rate_limited=self._models.rate_limited,
        )

    def _spent(self) -> Spent:
        ended = Spent() if self._journal is None else spent_in(self._journal.state)
        return ended + spent_by(active.run for active in self._active.values() if active.run is not None)

    # --- from the beginning to the end ------------------------------------------------------------------------

    def run(self) -> records.BatchEnd:
        """Runs the batch until nothing is left to do or it is stopped. By then all results are on disk, and every
        process that it has started has ended. Raises `BatchError` if it cannot begin, and `RedoError`."""
        heeded = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        with self.loop.signals(heeded, self._on_signal):
            try:
                opening = self._open()
            except (JournalError, FolderError, OSError) as error:
                raise BatchError(str(error)) from None
            self._processes.open()
            try:
                self._begin(opening)
                self.loop.run_until(self._is_over)
                end = self._end()
            finally:
                self._kill_all("the batch has failed")
                self._processes.close(self._models.stoppables())
                if self._journal is not None:
                    self._journal.close()
                self._log.close()
        self._tell(end)
        self.loop.close()
        return end

    def _open(self) -> Opening:
        fd_limit.provide(self.jobs)
        self._journal = Journal.open(self._folder.path, self.loop, on_failure=self._on_journal_failure)
        try:
            opening = open_batch(self._request, self._tasks, self._folder, self._journal, version=self._version)
        except BaseException:
            self._journal.close()
            raise
        self._log.open()
        return opening

    def _begin(self, opening: Opening) -> None:
        journal = self._opened()
        for line in opening.notices:
            self._say(f"zot batch: {line}")
            self._log.warning("notice", message=line)
        self._digests = opening.digests
        self._waiting.extend(opening.to_run)
        self._tally.begin(journal.state, opening.done.values())
        journal.opened(version=self._version, tasks=len(self._tasks), jobs=self.jobs)
        self._log.info(
            "batch started", version=self._version, tasks=len(self._tasks), done=len(opening.done), jobs=self.jobs
        )
        self._tell(
            records.BatchStart(
                zot_version=self._version, folder=str(self._folder.path), tasks=len(self._tasks),
                done=len(opening.done), jobs=self.jobs, time=utc_now(),
            )
        )  # fmt: skip
        if self._request.deadline is not None:
            self.loop.call_at(self._tally.began + self._request.deadline, _wake)
        self._sample()

    def _end(self) -> records.BatchEnd:
        journal, tally = self._opened(), self._tally
        journal.sync()
        reason: StopReason = schedule.stop_reason(self._situation(), was_interrupted=self._was_interrupted)
        if self._failure:
            reason = "failed"
        spent = spent_in(journal.state)
        end = records_of.batch_end(
            reason,
            self._halt,
            tally,
            tasks=len(self._tasks),
            spent=spent,
            duration_s=self.loop.clock() - tally.began,
        )
        if reason != "failed":
            journal.closed(reason)
            journal.sync()
            try:
                write_results(self._folder, journal.state)
            except (OSError, JournalError, FolderError) as error:
                self._say(f"zot batch: {self._folder.results_file} cannot be written ({error}); the journal has all")
        self._log.info("batch ended", reason=reason, exit_code=end.exit_code, statuses=end.statuses)
        return end

    def _opened(self) -> Journal:
        assert self._journal is not None
        return self._journal

    # --- what is next: called after each pass of the loop -------------------------------------------------------

    def _situation(self) -> schedule.Situation:
        controls = self.controls
        return schedule.Situation(
            jobs=self.jobs,
            busy=len(self._active),
            retries=len(self._retries),
            waiting=len(self._waiting),
            is_paused=controls.is_paused or self._is_full(),
            is_draining=controls.is_draining,
            is_stopping=controls.is_stopping or bool(self._failure),
            limit=None if self._limit is None else self._limit.reason,
        )

    def _is_over(self) -> bool:
        if (self.controls.is_stopping or self._failure) and not self._was_stopping:
            self._stop()
        if self.controls.is_paused != self._was_paused:
            self._pause_or_resume()
        while True:
            situation = self._situation()
            step = schedule.next_step(situation)
            if step in (schedule.Step.RETRY, schedule.Step.NEW) and self._is_used_up():
                continue
            if step is schedule.Step.RETRY:
                self._start(self._retries.popleft())
            elif step is schedule.Step.NEW:
                self._start(self._waiting.popleft())
            else:
                return step is schedule.Step.END

    def _pause_or_resume(self) -> None:
        self._was_paused = self.controls.is_paused
        self._log.info("paused by the user" if self._was_paused else "resumed by the user")
        if self._was_paused:
            self._models.pause(PAUSED)
        else:
            self._models.resume()

    def _is_used_up(self) -> bool:
        """Whether a limit of the batch forbids the next start. Says so once."""
        elapsed = self.loop.clock() - self._tally.began
        self._limit = used_up(self._request, self._spent(), self._tally.failures, elapsed)
        if self._limit is None:
            return False
        left = len(self._waiting) + len(self._retries)
        self._say(f"zot batch: {self._limit.words}: {left} tasks are not started; running ones end")
        self._log.warning("limit", reason=self._limit.reason, message=self._limit.words, not_started=left)
        return True

    # --- one attempt ------------------------------------------------------------------------------------------

    def _start(self, task: Task) -> None:
        journal = self._opened()
        attempt = journal.state.history(task.id).attempts + 1
        active = self._active[task.id] = Active(task, attempt, self._digests.get(task.id, ""))
        journal.started(task.id, attempt, active.digest)
        journal.when_durable(partial(self._launch, active))

    def _launch(self, active: Active) -> None:
        if self._was_stopping:
            self._finish(active, _not_begun(active))
            return
        order = self._orders.order(active.task, active.attempt, active.digest)
        active.run = RunProcess(
            self.loop, order, self, launch=self._processes.launch,
            memory_of=self._processes.memory_of(), spared=self._processes.spared,
        )  # fmt: skip
        self._runs[active.run.name] = active.run
        self._log.info("run started", task=active.task.id, attempt=active.attempt)
        self._tell(records.TaskStart(task=active.task.id, attempt=active.attempt, time=utc_now()))
        active.run.start()

    def run_said(self, run: RunProcess, line: bytes) -> None:
        if self._on_event is not None:
            self._on_event(run.task, run.attempt, line)

    def run_asked(self, run: RunProcess, request: link.Request) -> None:
        self._models.request(run.name, request)

    def run_cancelled(self, run: RunProcess, cancel: link.Cancel) -> None:  # noqa: ARG002  (it has one request)
        self._models.cancel(run.name)
        self._on_resumed(run.name)

    def _worker_said(self, name: str, line: bytes | bytearray) -> None:
        if (run := self._runs.get(name)) is not None:
            run.send(bytes(line) + b"\n")

    def _on_paused(self, name: str, reason: str) -> None:
        run = self._runs.get(name)
        if run is not None and run.pause(reason):
            self._opened().paused(run.task, run.attempt, reason)
            self._log.info("run paused", task=run.task, attempt=run.attempt, reason=reason)
            self._tell(records.TaskPaused(task=run.task, attempt=run.attempt, reason=reason, time=utc_now()))

    def _on_resumed(self, name: str) -> None:
        run = self._runs.get(name)
        if run is not None and run.resume():
            self._opened().resumed(run.task, run.attempt)
            self._log.info("run resumed", task=run.task, attempt=run.attempt)
            self._tell(records.TaskResumed(task=run.task, attempt=run.attempt, time=utc_now()))

    def run_has_no_files(self, run: RunProcess, reason: str) -> None:
        self._fail(f"{reason}: the events of task {run.task!r} cannot be kept")

    def run_ended(self, run: RunProcess, outcome: Outcome) -> None:
        active = self._active[run.task]
        del self._runs[run.name]
        counted = self._models.forget(run.name)
        outcome = replace(
            outcome,
            requests=max(outcome.requests, counted.requests),
            rate_limited=outcome.rate_limited + counted.rate_limited,
        )
        if run.never_began:
            self._log.warning("run could not begin", task=run.task, attempt=run.attempt, reason=outcome.reason)
            self._unbegun[run.task] += 1
            active.is_to_go_on = self._unbegun[run.task] < BEGINNINGS and not self._was_stopping
            if active.is_to_go_on:
                outcome = replace(outcome, status=TaskStatus.INTERRUPTED)
        self._finish(active, outcome)

    def _finish(self, active: Active, outcome: Outcome) -> None:
        journal = self._opened()
        if self._failure:
            self._drop(active)
            return
        if outcome.status is TaskStatus.INTERRUPTED and not active.is_to_go_on:
            self._was_interrupted = True
        tries = journal.state.history(active.task.id).failed + 1
        final = is_final(outcome.status, tries, self._request.retries)
        journal.finished(outcome, final=final)
        journal.when_durable(partial(self._finished, active, outcome, final=final))

    def _finished(self, active: Active, outcome: Outcome, *, final: bool) -> None:
        """The outcome is safe."""
        task = active.task
        del self._active[task.id]
        log = self._log.info if outcome.status is TaskStatus.OK else self._log.warning
        log(
            "run ended", task=task.id, attempt=active.attempt, status=outcome.status.value, final=final,
            reason=outcome.reason, exit_status=outcome.exit_status, duration_ms=outcome.duration_ms,
        )  # fmt: skip
        if final:
            self._tally.task_ended(outcome.status)
        elif outcome.status is not TaskStatus.INTERRUPTED or active.is_to_go_on:
            self._tally.retried += not active.is_to_go_on
            self._retries.append(task)
        self._tell(records.TaskEnd(task=task.id, attempt=active.attempt, final=final, outcome=outcome))

    def _drop(self, active: Active) -> None:
        """The end of an attempt that cannot be recorded: the next start runs the task again."""
        self._was_interrupted = True
        self._active.pop(active.task.id, None)

    # --- limits of the runs -----------------------------------------------------------------------------------

    def _sample(self) -> None:
        limit = self._request.run_memory
        for active in list(self._active.values()):
            run = active.run
            if run is None or run.memory is None or run.life is not RunLife.ALIVE:
                continue
            used = run.memory.sample()
            if limit is not None and used > limit:
                words = f"the run has {used >> 20} MiB for itself; --run-memory is {limit >> 20} MiB"
                self._log.warning("run killed", task=run.task, attempt=run.attempt, reason=words)
                run.kill(Verdict(TaskStatus.OUT_OF_MEMORY, words))
        self._shared_memory = self._processes.memory_bytes(child.pid for child in self._models.children())
        now = self.loop.clock()
        self._tally.note_tokens(now, self._spent().usage.total)
        self.loop.call_later(SAMPLE_S if limit is None else SAMPLE_LIMITED_S, self._sample)

    # --- the end ----------------------------------------------------------------------------------------------

    def _on_signal(self, number: signal.Signals) -> None:
        self._halt = halt = schedule.after_signal(self._halt, number)
        running = len(self._active)
        self._log.warning("signal", signal=number.name, next=halt.name.lower())
        if halt is schedule.Halt.DRAIN:
            if running:
                self._say(f"zot batch: {number.name}: no new tasks start; {running} end first. Once more stops them")
            self.controls.is_draining = True
        elif halt is schedule.Halt.STOP:
            self._say(f"zot batch: {number.name}: {running} running tasks are stopped. Once more kills them")
            self.controls.is_stopping = True
        else:
            self._kill_all("the batch was killed")

    def _stop(self) -> None:
        self._was_stopping = True
        reason = self._failure or STOPPED
        for active in list(self._active.values()):
            if active.run is not None:
                active.run.abort(TaskStatus.INTERRUPTED, reason)

    def _kill_all(self, reason: str) -> None:
        for active in list(self._active.values()):
            if active.run is not None:
                active.run.kill(Verdict(TaskStatus.INTERRUPTED, reason))

    def _on_journal_failure(self, reason: str) -> None:
        self._fail(reason)
        for active in list(self._active.values()):
            if active.run is None or active.run.life is RunLife.OVER:
                self._drop(active)  # nobody calls back any more

    def _fail(self, reason: str) -> None:
        """The folder of the batch cannot be written: everything stops."""
        if not self._failure:
            self._failure = reason
            self._say(f"zot batch: {reason}; all runs are stopped: make room, and start the batch again to go on")
            self._log.error("batch failed", message=reason)


def _not_begun(active: Active) -> Outcome:
    now = utc_now()
    return Outcome(
        id=active.task.id, attempt=active.attempt, status=TaskStatus.INTERRUPTED, reason=NOT_BEGUN, cost_usd=0.0,
        started=now, ended=now, digest=active.digest, meta=active.task.meta,
    )  # fmt: skip


def _nobody(_record: records.AnyRecord) -> None:
    """Nobody is told."""


def _never() -> bool:
    return False


def _wake() -> None:
    """The pass of the loop that follows looks at the time."""
