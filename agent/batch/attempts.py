"""The attempts of a batch that are under way: each from its line `started` to its line `finished`.

An attempt is on disk as `started` before its process is forked, and as `finished` before its end is told.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from agent.batch.log import utc_now
from agent.batch.pool.model_pool import ModelPool
from agent.batch.pool.run_facts import EndReason
from agent.batch.pool.run_process import RunLife, RunProcess
from agent.batch.schedule import is_final
from wire.batch import records
from wire.batch.outcome import Outcome, TaskStatus, cut_texts
from wire.suggestions import join_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agent.batch.journal.writer import Journal
    from agent.batch.log import BatchLog
    from agent.batch.pool.processes import Launch, Processes
    from agent.batch.pool.run_facts import RunFacts
    from agent.batch.pool.run_order import Orders, RunOrder
    from agent.batch.request import BatchRequest, MessageBatchView, RunView
    from supervisor.loop.loop import Loop
    from supervisor.process.teardown import Stoppable
    from wire.batch import link
    from wire.batch.task import Task

SAMPLE_S = 1.0
SAMPLE_LIMITED_S = 0.25
"""Seconds between two looks at the memory of all runs, and with `--run-memory`."""
SAMPLE_SHARED_S = 5.0
"""Seconds between two looks at the memory of the template and the model workers."""
BEGINNINGS = 4
"""Maximum of failed starts of a task's process, as after the death of the template; the last one is its outcome."""
INSTALLED_TOLD = 5
"""Minimum of extensions, named by no flag, for which a run gets an advice."""
NOT_BEGUN = "the batch was stopped before it began"


class Active:
    """An attempt, from the line `started` until the line `finished` is safe."""

    def __init__(self, task: Task, attempt: int, digest: str) -> None:
        self.task = task
        self.attempt = attempt
        self.digest = digest
        self.run: RunProcess | None = None
        self.node = ""
        """The node that runs it; empty for this machine."""
        self.is_to_go_on = False
        """Whether the next attempt follows although this one counts as interrupted: nothing has run, or a user has
        called it off."""


class Attempts:
    """`tell` gets records, `on_event` the lines of event streams, and `on_over` each attempt whose outcome is safe and
    whether it is final, before `tell` does. `on_failure` gets the reason when a file of a run cannot be written,
    `on_no_room` when there is no room for a workspace; `notice` gets news for the user, and `advise` advice."""

    def __init__(
        self,
        loop: Loop,
        request: BatchRequest,
        *,
        folder: Path,
        jobs: int,
        processes: Processes,
        orders: Orders,
        log: BatchLog,
        tell: Callable[[records.AnyRecord], None],
        on_event: Callable[[str, int, bytes], None] | None,
        on_over: Callable[[Active, Outcome, bool], None],
        on_failure: Callable[[str], None],
        on_no_room: Callable[[str], None],
        notice: Callable[[str], None],
        advise: Callable[[str], None],
    ) -> None:
        self.models = ModelPool(
            loop, processes.make_workers, jobs=jobs, warm_cache=request.warm_cache,
            on_line=self._worker_said, on_paused=self._on_paused, on_resumed=self._on_resumed, on_free=self._on_free,
            on_lost=self._on_lost,
        )  # fmt: skip
        self.was_interrupted = False
        """Whether an attempt was cut short."""
        self._loop = loop
        self._request = request
        self._folder = folder
        self._processes = processes
        self._orders = orders
        self._log = log
        self._tell = tell
        self._on_event = on_event
        self._on_over = on_over
        self._on_failure = on_failure
        self._on_no_room = on_no_room
        self._notice = notice
        self._advise = advise
        self._said_of: set[tuple[str, str | None]] = set()
        """Extensions and working folders of tasks of which the user was told."""
        self._has_told_installed = False
        self._journal: Journal | None = None
        self._active: dict[str, Active] = {}
        self._runs: dict[str, RunProcess] = {}
        """By the names that the runs have on their links."""
        self._unbegun: Counter[str] = Counter()
        """How often the process of a task could not be started."""
        self._is_stopping = self._is_lost = False
        self._shared_memory = 0
        """Bytes of the template and the model workers, at the last look."""
        self._shared_again = 0.0
        """When to look again."""

    def begin(self, journal: Journal) -> None:
        """Call it once, before the first attempt."""
        self._journal = journal
        self._sample()

    @property
    def count(self) -> int:
        """Attempts under way."""
        return len(self._active)

    @property
    def runs(self) -> list[RunProcess]:
        """The runs whose end is not recorded yet."""
        return [active.run for active in self._active.values() if active.run is not None]

    def find(self, task: str) -> Active | None:
        """The attempt of this task that is under way; None if there is none."""
        return self._active.get(task)

    def set_jobs(self, jobs: int) -> None:
        """From now on at most `jobs` runs at the same time; more that run already go on."""
        self.models.set_jobs(jobs)

    def set_max_cost(self, usd: float) -> None:
        """Replaces `--max-cost-usd`."""
        self._request = replace(self._request, max_cost_usd=usd)

    def facts(self) -> list[RunFacts]:
        """Of the runs whose end is not recorded yet."""
        return [run.facts for run in self.runs]

    @property
    def has_room(self) -> bool:
        """Whether an attempt may be started now, as far as it is not the number of jobs that says so."""
        return True

    def sent(self) -> tuple[MessageBatchView, ...]:
        """The message batches under way."""
        return ()

    def stoppables(self) -> Sequence[Stoppable]:
        """The processes to stop at the end."""
        return self.models.stoppables()

    def views(self) -> list[RunView]:
        return [run.view() for run in self.runs if run.life is not RunLife.OVER]

    def memory_bytes(self) -> int:
        """Memory of the template, the model workers and all runs, in bytes."""
        return self._shared_memory + sum(run.memory.now for run in self.runs if run.memory is not None)

    def _opened(self) -> Journal:
        assert self._journal is not None
        return self._journal

    # --- one attempt ------------------------------------------------------------------------------------------

    def start(self, task: Task, digest: str) -> None:
        journal = self._opened()
        attempt = journal.state.history(task.id).attempts + 1
        active = self._active[task.id] = Active(task, attempt, digest)
        active.node = self._choose_node()
        journal.started(task.id, attempt, active.digest, active.node)
        journal.when_durable(partial(self._launch, active))

    def _launch(self, active: Active) -> None:
        if self._is_stopping or active.is_to_go_on:
            self._finish(active, _not_begun(active))
            return
        order = self._orders.order(active.task, active.attempt, active.digest)
        active.run = RunProcess(
            self._loop, order, self, launch=self._launcher(active, order), memory_of=self._processes.memory_of,
            spared=self._processes.spared, kill_tree=self._processes.kill_tree, node=active.node,
        )  # fmt: skip
        self._runs[active.run.name] = active.run
        self._log.info("run started", task=active.task.id, attempt=active.attempt)
        node = active.node or msgspec.UNSET
        self._tell(records.TaskStart(task=active.task.id, attempt=active.attempt, node=node, time=utc_now()))
        active.run.start()

    def _choose_node(self) -> str:
        """The node for the next attempt; empty for this machine."""
        return ""

    def _launcher(self, active: Active, order: RunOrder) -> Launch:  # noqa: ARG002  (nodes need them)
        """Starts the process of this attempt."""
        return self._processes.launch

    def run_said(self, run: RunProcess, line: bytes) -> None:
        if run.facts.given_up:
            self._tell_of_extensions(run)
        if self._on_event is not None:
            self._on_event(run.task, run.attempt, line)

    def _tell_of_extensions(self, run: RunProcess) -> None:
        """Tells of each extension once: all runs of a folder have the same ones."""
        for name, why in run.facts.given_up.items():
            known = (name, self._active[run.task].task.cwd)
            if known not in self._said_of:
                self._said_of.add(known)
                self._notice(f"task {run.task}: extension {name}: {why} (shown for the first task only)")

    def run_asked(self, run: RunProcess, request: link.ModelRequest) -> None:
        self.models.request(run.name, request)

    def run_cancelled(self, run: RunProcess) -> None:
        self.models.cancel(run.name)
        self._on_resumed(run.name)

    def run_is_behind(self, run: RunProcess, is_behind: bool) -> None:
        (self.models.hold if is_behind else self.models.read_on)(run.name)

    def hold_output(self, *, held: bool) -> None:
        """With `held` the event streams of the runs are not read: their reader is behind."""
        for run in self.runs:
            run.hold_output(held=held)

    def _worker_said(self, name: str, line: bytes | bytearray) -> None:
        if (run := self._runs.get(name)) is not None:
            run.send(bytes(line) + b"\n")

    def _on_free(self, name: str) -> None:
        if (run := self._runs.get(name)) is not None:
            run.request_was_free()

    def _on_lost(self, name: str) -> None:
        if (run := self._runs.get(name)) is not None:
            run.request_was_lost()

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
        self._on_failure(f"{reason}: the events of task {run.task!r} cannot be kept")

    def run_ended(self, run: RunProcess, outcome: Outcome) -> None:
        active = self._active[run.task]
        del self._runs[run.name]
        counted = self.models.forget(run.name)
        outcome = replace(
            outcome,
            requests=max(outcome.requests, counted.requests),
            rate_limited=outcome.rate_limited + counted.rate_limited,
            node=active.node or msgspec.UNSET,
            diff=outcome.diff and os.path.relpath(self._folder / outcome.diff, self._folder),
        )
        self._tell_installed(run.facts.extensions, outcome.memory_peak_bytes)  # it may end between two looks
        if run.said is not None and run.said.has_no_room:
            self._on_no_room(outcome.reason)
        if run.never_began:
            self._log.warning("run could not begin", task=run.task, attempt=run.attempt, reason=outcome.reason)
            self._unbegun[run.task] += 1
            active.is_to_go_on = self._unbegun[run.task] < BEGINNINGS and not self._is_stopping
            if active.is_to_go_on:
                outcome = replace(outcome, status=TaskStatus.INTERRUPTED)
        self._finish(active, outcome)

    def _finish(self, active: Active, outcome: Outcome) -> None:
        journal = self._opened()
        if self._is_lost:
            self._drop(active)
            return
        if outcome.status is TaskStatus.INTERRUPTED and not active.is_to_go_on:
            self.was_interrupted = True
        tries = journal.state.history(active.task.id).failed + 1
        final = is_final(outcome.status, tries, self._request.retries, may_pass=outcome.may_pass)
        outcome = cut_texts(outcome)
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
        self._on_over(active, outcome, final)
        self._tell(records.TaskEnd(task=task.id, attempt=active.attempt, final=final, outcome=outcome))

    def _drop(self, active: Active) -> None:
        """The end of an attempt that cannot be recorded: the next start runs the task again."""
        self.was_interrupted = True
        self._active.pop(active.task.id, None)

    # --- limits of the runs -----------------------------------------------------------------------------------

    def _sample(self) -> None:
        limit = self._request.run_memory
        for active in list(self._active.values()):
            run = active.run
            if run is None or run.memory is None or run.life is not RunLife.ALIVE:
                continue
            used = run.memory.sample()
            self._tell_installed(run.facts.extensions, used)
            if limit is not None and used > limit:
                words = f"the run has {used >> 20} MiB for itself; --run-memory is {limit >> 20} MiB"
                self._log.warning("run killed", task=run.task, attempt=run.attempt, reason=words)
                run.kill(EndReason(TaskStatus.OUT_OF_MEMORY, words))
        if (now := self._loop.clock()) >= self._shared_again:
            self._shared_again = now + SAMPLE_SHARED_S
            self._shared_memory = self._processes.memory_bytes(child.pid for child in self.models.children())
        self._loop.call_later(SAMPLE_S if limit is None else SAMPLE_LIMITED_S, self._sample)

    def _tell_installed(self, names: Sequence[str], used: int) -> None:
        """Says once that each task starts many extensions that no flag has named. `used`: bytes of a run with them."""
        flags = self._request.run
        if (
            used
            and not self._has_told_installed
            and flags.discover
            and len(names) - len(flags.extensions) >= INSTALLED_TOLD
        ):
            self._has_told_installed = True
            self._advise(
                f"each task starts {len(names)} extensions ({join_names(names, 3)}), and has {used >> 20} MiB with"
                " them: --no-ext leaves out those that are installed, -e FOLDER keeps one"
            )

    # --- the end ----------------------------------------------------------------------------------------------

    def stop(self, reason: str) -> None:
        """Tells all runs to end."""
        self._is_stopping = True
        for run in self.runs:
            run.abort(TaskStatus.INTERRUPTED, reason)

    def call_off(self, reason: str, task: str = "") -> None:
        """Tells the run of this task to end, or all runs if it is empty. They count as interrupted, and the next
        attempts of their tasks follow. A run that is just ending keeps its end."""
        for active in self._active.values():
            if not task or active.task.id == task:
                active.is_to_go_on = True
                if active.run is not None:
                    active.run.abort(TaskStatus.INTERRUPTED, reason)

    def stop_paused(self, longer_s: float, reason: str) -> None:
        """Tells the runs to end that have waited for a rate limit for `longer_s` seconds or more, and still wait."""
        for run in self.runs:
            if run.paused_for_s() >= longer_s:
                run.abort(TaskStatus.INTERRUPTED, reason)

    def kill(self, reason: str) -> None:
        """Kills all runs."""
        for run in self.runs:
            run.kill(EndReason(TaskStatus.INTERRUPTED, reason))

    def lose_journal(self) -> None:
        """The journal has failed: no further outcome is recorded or told."""
        self._is_lost = True
        for active in list(self._active.values()):
            if active.run is None or active.run.life is RunLife.OVER:
                self._drop(active)


def _not_begun(active: Active) -> Outcome:
    now = utc_now()
    return Outcome(
        id=active.task.id, attempt=active.attempt, status=TaskStatus.INTERRUPTED, reason=NOT_BEGUN, cost_usd=0.0,
        started=now, ended=now, digest=active.digest, meta=active.task.meta,
        repeat=active.task.repeat or 0,
    )  # fmt: skip
