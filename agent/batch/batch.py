"""Runs a batch: starts what may start, records what ends, and stops when it is told to.

`schedule` and `budget` decide, `attempts` has what is under way.
"""

from __future__ import annotations

import gc
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agent.batch import schedule
from agent.batch.attempts import Attempts
from agent.batch.batch_trace import BatchTrace
from agent.batch.control.batch_control import BatchControl
from agent.batch.control.changes import PAUSED, BatchParts
from agent.batch.control.limits import BatchLimits
from agent.batch.control.signals import BatchSignals
from agent.batch.host.candidates import host_order, shared_words
from agent.batch.journal.errors import FolderError, JournalError
from agent.batch.journal.folder import RunFolder
from agent.batch.journal.writer import Journal
from agent.batch.log import BatchLog, BatchNotices, utc_now
from agent.batch.opening.folder_end import close_folder
from agent.batch.opening.resume import Opening, open_batch, writers_of_one_folder
from agent.batch.pool.processes import Processes, ProcessesError
from agent.batch.pool.run_order import Orders
from agent.batch.request import BatchControls
from agent.batch.reserve import Spent
from agent.batch.tally import Tally, batch_end, spent_in
from agent.batch.task_queue import TaskQueue
from agent.request_checks import UsageError
from supervisor.home.runtime_dir import runtime_dir
from supervisor.home.zot_home import zot_home
from supervisor.loop.loop import Loop, stop_signals
from supervisor.loop.steps import Steps
from supervisor.process import fd_limit
from wire.batch import records
from wire.batch.outcome import Outcome, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agent.batch.attempts import Active
    from agent.batch.cluster.node_processes import MakeCarrier
    from agent.batch.request import BatchRequest, BatchView, StopReason
    from wire.batch.host_lines import Serving
    from wire.batch.task import Task

TICK_S = 1.0
LONG_PAUSE_S = 60.0
"""Seconds that a run may wait for a rate limit once `--deadline` is over: a limit may last for ever."""
WAITED = f"--deadline is over, and it has waited for a rate limit for {LONG_PAUSE_S:.0f} s"
STOPPED = "the batch was stopped"


class BatchError(Exception):
    """The batch cannot begin; the text says why and what to do."""


class Batch:
    """One start of a batch. Make it, then call `run` once. `controls` may be changed at any time, from the loop.

    `tell` gets the batch's records, `on_event` each line of each run's event stream, LF included, and `say` lines for
    the user. `is_full` says that whoever is told is behind: then nothing new is started, and event streams wait.
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
        is_quiet: bool = False,
        make_carrier: MakeCarrier | None = None,
    ) -> None:
        """With `owns_process` every descendant of this process is ended with the batch. `has_template` None: if the
        system can have one; `run_program` takes the place of the runs' program, without a template. Tasks have unique
        ids and absolute paths. With `is_quiet` advice goes to the log only. `make_carrier` None: as `engine` says."""
        self.controls = BatchControls()
        self.loop = Loop()
        self._request = request
        self._tasks = list(tasks)
        self._version = version
        self._say = say
        self._is_full = is_full or _never
        self._folder = RunFolder(request.folder)
        self._log = BatchLog(self._folder.log)
        notices = BatchNotices(say, self._log, is_quiet=is_quiet)
        self._notice, self._advise = notices.notice, notices.advise
        home = request.run.home or zot_home()
        self._trace = BatchTrace(self.loop, request, home, self._folder.path, version, self._notice)
        self._tell = self._trace.following(tell or _nobody)
        given: dict[str, Any] = {
            "runtime_folder": runtime_dir(home), "version": version, "say": self._notice, "owns_process": owns_process,
            "log": self._log, "on_shared": self._tell_shared,
        }  # fmt: skip
        self._limits = BatchLimits(request, say=say, log=self._log)
        make: Callable[..., Attempts] = Attempts
        if request.engine == "local":
            self._processes = Processes(
                self.loop, has_template=has_template, run_program=run_program,
                host_order=host_order(request, home, version, self._trace), **given,
            )  # fmt: skip
        else:
            from agent.batch.cluster.node_attempts import NodeAttempts  # other batches do not import it
            from agent.batch.cluster.node_processes import NodeProcesses

            self._processes = NodeProcesses(
                self.loop, request, self._tasks, self._folder, controls=self.controls, advise=self._advise,
                make_carrier=make_carrier, **given,
            )  # fmt: skip
            make = partial(NodeAttempts, limits=self._limits, on_no_cluster=partial(self._fail, hint=""))
        if request.batch_api:
            from agent.batch.message_batches.attempts import MessageBatchAttempts  # other batches do not import it

            make = partial(MessageBatchAttempts, tasks=self._tasks, version=version)
        trace = self._trace if request.engine == "local" else None  # it is on this machine
        self._attempts = make(
            self.loop, request, folder=request.folder, jobs=self._limits.jobs, processes=self._processes,
            orders=Orders(request, self._folder, version, self._processes, trace, self._trace.spans), log=self._log,
            tell=self._tell, on_event=on_event, on_over=self._on_over, on_failure=self._fail,
            on_no_room=self._on_no_room, notice=self._notice, advise=self._advise,
        )  # fmt: skip
        self._tally = Tally(self.loop.clock())
        self._journal: Journal | None = None
        self._queue = TaskQueue(self.loop)
        self._signals = BatchSignals(self.controls, self._attempts, say=say, log=self._log)
        self._failure = ""
        """Why the files of the batch cannot be written."""
        self._was_stopping = self._was_full = False
        self._control = BatchControl(self.loop, runtime_dir(home))

    # --- what it does ---------------------------------------------------------------------------------------

    @property
    def token(self) -> str:
        """In the environment of every process of the batch."""
        return self._processes.token

    def view(self) -> BatchView:
        view = self._tally.view(
            self.loop.clock(),
            tasks=len(self._tasks),
            waiting=self._queue.left,
            runs=self._attempts.views(),
            jobs=self._limits.jobs,
            controls=self.controls,
            is_draining=self.controls.is_draining or self.controls.is_stopping or self._limits.stop is not None,
            spent=self._spent(),
            why_paused=PAUSED if self.controls.is_paused else self._attempts.models.why_paused(),
            memory_bytes=self._attempts.memory_bytes(),
            rate_limited=self._attempts.models.rate_limited,
        )
        return replace(view, sent=self._attempts.sent(), nodes=self._processes.nodes(view.runs))

    def _spent(self) -> Spent:
        if self._journal is None:
            return Spent()
        return spent_in(self._journal.state, self._request.reserve, self._attempts.facts())

    # --- from the beginning to the end ------------------------------------------------------------------------

    def run(self) -> records.BatchEnd:
        """Runs the batch until nothing is left to do or it is stopped. By then all results are on disk, and every
        process that it has started has ended. Raises `BatchError` if it cannot begin, `RedoError`, and `UsageError`
        for nodes that cannot run its tasks."""
        with self.loop.signals(stop_signals(), self._signals.take), self._trace.exporting():
            try:
                opening = self._open()
            except (JournalError, FolderError) as error:
                raise BatchError(str(error)) from None
            except OSError as error:
                where = error.filename or self._folder.path
                raise BatchError(f"{where}: cannot be written: {error.strerror or error}") from None
            try:
                self._processes.open(is_needed=bool(opening.to_run) and not self._request.batch_api)
                self._begin(opening)
                self.loop.run_until(self._advance_and_look)
                end = self._end()
            except ProcessesError as error:
                raise UsageError(str(error)) from None
            finally:
                self._control.close()
                self._attempts.kill("the batch has failed")
                self._processes.close(self._attempts.stoppables())
                if self._journal is not None:
                    self._journal.close()
                self._log.close()
            self._trace.close(end)
            self._tell(end)
        self.loop.close()
        return end

    def _open(self) -> Opening:
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
            self._notice(line)
        self._comparison = Steps(self.loop, map(self._tell_changed, opening.compared))
        jobs, wanted = self._limits.jobs, self._limits.wanted
        if jobs < wanted:
            self._notice(f"{wanted} jobs need more open files: {jobs} at the same time; {fd_limit.advice()}")
        is_shared = jobs > 1 and self._request.workspace == "shared"
        if is_shared and (line := writers_of_one_folder(opening.to_run, self._request.run)):
            self._advise(line)
        self._trace.begin()
        self._queue.add(opening.to_run, opening.digests)
        self._tally.begin(spent_in(journal.state, self._request.reserve), opening.done.values())
        journal.opened(version=self._version, tasks=len(self._tasks), jobs=jobs, socket=self._control.socket)
        self._log.info(
            "batch started", version=self._version, tasks=len(self._tasks), done=len(opening.done), jobs=jobs
        )
        self._tell(
            records.BatchStart(
                zot_version=self._version, folder=str(self._folder.path), tasks=len(self._tasks),
                done=len(opening.done), again=opening.again, jobs=jobs, time=utc_now(),
            )
        )  # fmt: skip
        if self._request.deadline is not None:
            self.loop.call_at(self._tally.began + self._request.deadline, _wake)
        self._attempts.begin(journal)
        parts = BatchParts(
            self._request, {task.id: task for task in self._tasks}, self.controls, self._limits, self._attempts,
            self._queue, self._tally, journal, self._log, self._tell, self._spent,
        )  # fmt: skip
        if trouble := self._control.open(parts, self._folder, self._version, self.view):
            self._advise(trouble)
        if not gc.isenabled():  # the caller has read many tasks
            gc.freeze()  # a search of all of them for garbage would hold the loop
            gc.enable()
        self._tick()

    def _tell_changed(self, line: str) -> None:
        if line:
            self._notice(line)

    def _end(self) -> records.BatchEnd:
        journal, tally = self._opened(), self._tally
        self.loop.run_until(self._comparison.are_done)
        journal.sync()
        self._control.close()  # all that was changed is safe and answered
        reason: StopReason = schedule.stop_reason(self._situation(), was_interrupted=self._attempts.was_interrupted)
        if self._failure:
            reason = "failed"
        limit = self._limits.flag_of(reason)
        end = batch_end(
            reason,
            self._signals.halt,
            tally,
            tasks=len(self._tasks),
            results=journal.state.statuses_of(task.id for task in self._tasks),
            spent=spent_in(journal.state, self._request.reserve),
            limit=limit,
            duration_s=self._elapsed_s(),
        )
        close_folder(self.loop, self._request, self._folder, journal, reason, limit, self._say)
        self._log.info("batch ended", reason=reason, exit_code=end.exit_code, statuses=end.statuses)
        return end

    def _tell_shared(self, line: Serving) -> None:
        for words in shared_words(line):
            self._advise(words)
        told = records.BatchShared(extensions=line.shared, leased=line.leased, private=line.private, time=utc_now())
        self._tell(told)

    def _opened(self) -> Journal:
        assert self._journal is not None
        return self._journal

    # --- what is next: called after each pass of the loop -------------------------------------------------------

    def _situation(self) -> schedule.Situation:
        controls = self.controls
        return schedule.Situation(
            jobs=sys.maxsize if self._request.batch_api else self._limits.jobs,
            busy=self._attempts.count,
            retries=self._queue.due,
            waiting=self._queue.new,
            later=self._queue.later,
            is_paused=controls.is_paused
            or self._is_full()
            or self._processes.is_host_awaited
            or not self._attempts.has_room,
            is_draining=controls.is_draining,
            is_stopping=controls.is_stopping or bool(self._failure),
            limit=None if self._limits.stop is None else self._limits.stop.reason,
        )

    def _advance_and_look(self) -> bool:
        self.advance()
        return self.is_over()

    def is_over(self) -> bool:
        """Whether nothing runs, and nothing is to be started any longer."""
        return schedule.next_step(self._situation()) is schedule.Step.END

    def advance(self) -> None:
        """Starts and stops what is to be started and stopped now."""
        if (self.controls.is_stopping or self._failure) and not self._was_stopping:
            self._was_stopping = True
            self._attempts.stop(self._failure or STOPPED)
        self._control.heed_keys()
        if (is_full := self._is_full() and not self._was_stopping) != self._was_full:
            self._was_full = is_full
            self._attempts.hold_output(held=is_full)
        spent: Spent | None = None
        while (step := schedule.next_step(self._situation())) in (schedule.Step.RETRY, schedule.Step.NEW):
            spent = spent or self._spent()  # by all runs: no start changes it
            if self._is_used_up(spent):
                continue  # nothing more is started: the next step is another one
            self._attempts.start(*self._queue.take(step))

    def _is_used_up(self, spent: Spent) -> bool:
        """Whether a limit of the batch forbids the next start."""
        return self._limits.forbid_start(
            spent, failures=self._tally.failures, elapsed_s=self._elapsed_s(), left=self._queue.left
        )

    def _elapsed_s(self) -> float:
        return self.loop.clock() - self._tally.began

    # --- what has ended -----------------------------------------------------------------------------------------

    def _on_over(self, active: Active, outcome: Outcome, final: bool) -> None:
        if final:
            self._tally.task_ended(active.task.id, outcome.status)
        elif outcome.status is TaskStatus.INTERRUPTED:
            if active.is_to_go_on:
                self._queue.put_back(active.task)
        else:
            self._tally.retried += 1
            self._queue.put_back_after(active.task, outcome, self._opened().state.history(active.task.id).failed)

    def _tick(self) -> None:
        self._tally.note_tokens(self.loop.clock(), self._spent().usage.total)
        if self._processes.replaced_template():
            self._notice("the template has died; its runs continue, and a new one starts")
        self._heed_deadline()
        self.loop.call_later(TICK_S, self._tick)

    def _heed_deadline(self) -> None:
        """Once the deadline is over, says so even if no task could start now, and stops runs that have waited long."""
        if not self._limits.is_late(self._elapsed_s()) or self.controls.is_paused:
            return
        if self._limits.stop is None:
            self._is_used_up(self._spent())
        self._attempts.stop_paused(LONG_PAUSE_S, WAITED)

    # --- the end ----------------------------------------------------------------------------------------------

    def _on_journal_failure(self, reason: str) -> None:
        self._fail(reason)
        self._attempts.lose_journal()

    def _on_no_room(self, reason: str) -> None:
        """Starts no more tasks. Running ones may end: they have their files already."""
        if not self.controls.is_draining:
            self.controls.is_draining = True
            self._notice(f"{reason}: no new tasks start; make room, then start the batch again to resume")

    def _fail(self, reason: str, hint: str = "make room, then ") -> None:
        """The folder of the batch cannot be written, or it has no nodes any longer: everything stops."""
        if not self._failure:
            self._failure = reason
            self._say(f"zot batch: {reason}; all runs are stopped: {hint}start the batch again to resume")
            self._log.error("batch failed", message=reason)


def _nobody(_record: records.AnyRecord) -> None:
    """Drops the record."""


def _never() -> bool:
    return False


def _wake() -> None:
    """The pass of the loop that follows looks at the time."""
