"""The processes of one version of an extension, kept running as its restart policy says, and how they end.

Its standing says what they are to the extension: the present ones are asked and told; those of a candidate start beside
them and are asked nothing; those that leave finish what they were asked. Only the present ones are started again.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from supervisor.accounting.limits import LOG_MB
from supervisor.cleanup.env_marks import START
from supervisor.discovery import data_dir
from supervisor.extension.exit_message import exit_message
from supervisor.extension.generation_state import GenerationState, GenerationTrigger, advance, may_take_over
from supervisor.extension.lifecycle import State, Trigger
from supervisor.extension.lifecycle import advance as advance_state
from supervisor.extension.log import ExtensionLog
from supervisor.extension.notices import NOTICE_LENGTH, Notices
from supervisor.extension.restart import Cause, Decision, Ending, RestartIn, StayDown, decide
from supervisor.extension.slot import WorkerSlot
from supervisor.extension.stalls import StallHandler
from supervisor.extension.watchdog import Heartbeat
from supervisor.extension.worker import Worker
from supervisor.process.spawn_limits import Confinement, launch
from supervisor.process.stop_policy import Stage
from wire.dialects.zot import ZotDialect
from wire.framing import DEFAULT_FRAME_LIMIT
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from supervisor.cleanup.tracker import ProcessTracker
    from supervisor.discovery.discover import Found
    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Shown
    from supervisor.loop.loop import Loop
    from supervisor.loop.pending import Pending
    from supervisor.process.cgroups import Leaf
    from supervisor.process.shared_table import SharedProcessTable
    from supervisor.process.table import Process, ProcessTable
    from supervisor.process.teardown import Stoppable
    from wire.dialects.base import HostInfo
    from wire.manifest import Limits

BEST_FIRST = (
    State.READY, State.GREETED, State.SPAWNED, State.BACKOFF, State.STOPPING, State.FAILED, State.EXITED,
)  # fmt: skip


class Generation:
    def __init__(
        self,
        loop: Loop,
        extension: Extension,
        found: Found,
        *,
        standing: GenerationState,
        host: HostInfo,
        logs: Path,
        limits: Limits,
        tracker: ProcessTracker | None,
        shared_table: SharedProcessTable,
    ) -> None:
        self.found = found
        self.manifest = found.manifest
        self.name = found.manifest.name
        self.standing = standing
        self.data_dir = str(found.folder)
        self.timeouts = found.manifest.timeouts
        self.limits = limits
        self.account = extension.account
        self.log = ExtensionLog(logs, self.name, total=int((limits.log_mb or LOG_MB) * 2**20))
        self.notices = Notices(loop, self.log, self.account, on_notice=extension.noticed, on_note=extension.noted)
        self.is_settled = False
        """Its start has come to an end, once. Starts after that are nobody's to wait for."""
        self._loop = loop
        self._extension = extension
        self._host = host
        self._dialect = ZotDialect(min(DEFAULT_FRAME_LIMIT, limits.output_bytes or DEFAULT_FRAME_LIMIT))
        self._shared_table = shared_table
        self._tracker = tracker
        self._env: dict[str, str] = {}
        self._retired = False
        self._stalls = StallHandler(loop, found.manifest, self.log)
        self.slots = [self._new_place(index) for index in range(found.manifest.workers)]
        self.lead = self.slots[0].worker
        """The worker that is asked for verdicts and told of events."""
        self.reference = self.lead.registry
        """What its present or last lead has registered."""
        self._agreed = self.lead.registry
        """What the workers had all registered by the time when they got ready."""

    def _new_place(self, index: int) -> WorkerSlot:
        return WorkerSlot(
            self._loop,
            self._new_worker(index),
            self._shared_table,
            on_free=self._fill,
            on_cleared=self._cleared,
            adopted=self._adopted,
        )

    def _new_worker(self, index: int) -> Worker:
        return Worker(
            self._loop, self, self._dialect, host=self._host, folder=str(self.found.folder), index=index
        )  # fmt: skip

    @property
    def workers(self) -> list[Worker]:
        return [slot.worker for slot in self.slots]

    @property
    def hello_s(self) -> float:
        return self.timeouts.hello or self.found.default_hello_s

    # --- start ----------------------------------------------------------------------------------------------

    def start(self, env: Mapping[str, str], data: Path | None) -> None:
        self.log.note(f"starting {self.name} {self.manifest.version or ''}".rstrip())
        if self.log.error is not None:
            self.notices.log_failed(self.log.error)
        self.log.on_error = self.notices.log_failed
        self.prepare(env, data)
        for slot in self.slots:
            if self.standing is GenerationState.DRAINING or self.standing is GenerationState.GONE:
                return  # one of them could not be started
            self._start(slot)

    def prepare(self, env: Mapping[str, str], data: Path | None) -> None:
        """Makes its data folder, and notes what its processes find in their environment."""
        kept = data_dir.prepare(self.found, data)
        self.data_dir = str(kept.path)
        if kept.trouble:
            self.notices.warn("data_dir", kept.trouble)
        self._env = dict(env)

    def lie_idle(self, failure: str, before: Generation) -> None:
        """Nothing of it runs until somebody asks for that; then it finds what the one before it had found."""
        self._env, self.data_dir = before._env, before.data_dir
        for worker in self.workers:
            worker.failure = failure
            worker.state = advance_state(advance_state(worker.state, Trigger.STOP), Trigger.GONE)
        self.is_settled = True

    def _start(self, slot: WorkerSlot) -> None:
        slot.starts += 1
        slot.mark = self._extension.next_mark()
        env = {**self._env, START: slot.mark}
        leaf: Leaf | None = None

        def argv() -> list[str]:
            nonlocal leaf
            command, folder = self.found.argv, str(self.found.folder)
            if self._tracker is None:
                return launch(command, Confinement.of(self.limits), cwd=folder, env=env)
            command, leaf = self._tracker.confine(self.name, command, self.limits, cwd=folder, env=env)
            return command

        worker = slot.worker
        started = worker.start(argv, env, self.hello_s)
        if self._tracker is not None:
            if started and worker.child is not None:
                self._tracker.started(worker.child.identity, leaf)
            else:
                self._tracker.release(leaf)

    def got_ready(self, worker: Worker) -> None:
        slot = self.slots[worker.index]
        others = [one for one in self.workers if one is not worker and one.state is State.READY]
        if others and (difference := worker.registry.difference(self._agreed)) is not None:
            reason = f"worker {worker.index + 1} is not like the others: {difference}"
            worker.give_up(reason, Cause.DISAGREES)
            return
        if not others:
            self._agreed = worker.registry.snapshot()
        if self.manifest.watchdog_s is not None and worker.can_ping:
            Heartbeat(self._loop, worker, self.manifest.watchdog_s, self._stalls.end)
        if self.standing is not GenerationState.CURRENT:
            if self.standing is GenerationState.CANDIDATE and may_take_over([one.state for one in self.workers]):
                self.is_settled = True
                self._extension.candidate_ready(self)
            return
        self._extension.was_ready = True
        self._settle()
        self.choose_lead()
        if slot.starts > 1:
            self.account.restarts += 1
            down = "" if len(self.slots) == 1 else f" (worker {worker.index + 1})"
            self.notices.tell("restarted", f"ready again, restart {self.account.restarts}{down}")
        elif not others:
            self.notices.tell("started", "ready")

    def registered(self, worker: Worker) -> None:
        if self.standing is not GenerationState.CURRENT:
            return
        if worker.state.is_up and not self.lead.state.is_up:
            self.choose_lead()
        elif worker.registry is self.reference or worker is self.lead:
            self._extension.changed()

    def choose_lead(self) -> None:
        """The first that is up; else the first whose place will be filled; else the first."""
        self.lead = min(self.workers, key=lambda one: (BEST_FIRST.index(one.state), one.index))
        if self.lead.state is State.READY:
            self.reference = self.lead.registry
        if self.standing is GenerationState.CURRENT:
            self._extension.changed()

    def _settle(self) -> None:
        if not self.is_settled:
            self.is_settled = True
            self._extension.settled()

    def showed(self, worker: Worker, frame: Shown) -> None:
        self._extension.showed(worker, frame)

    # --- health ---------------------------------------------------------------------------------------------

    def ran_out_of_time(self, worker: Worker) -> None:
        self._stalls.ran_out_of_time(worker)

    def over_limit(self, worker: Worker, figures: str) -> None:
        """Ends the worker, to be started again or not as its limits say."""
        if worker.state.is_settled and worker.state is not State.READY:
            return  # it is ending already
        self.account.limit_breaches += 1
        self.log.note(f"over its limits: {figures}")
        worker.give_up(f"it is over its limits: {figures}", Cause.OVER_LIMIT)

    # --- start again ----------------------------------------------------------------------------------------

    def restart(self) -> None:
        """Ends what runs of it, in order, and starts it anew, whatever had become of it."""
        self.log.note("a user asks to start it again")
        for slot in self.slots:
            slot.worker.failure = "it is being started again"
            slot.renew()
        self.choose_lead()

    def _fill(self, slot: WorkerSlot) -> None:
        if not self._retired:
            self.log.note(f"starting {self.name} again")
            slot.worker = self._new_worker(slot.worker.index)
            self.choose_lead()
            self._start(slot)

    # --- end of a process -----------------------------------------------------------------------------------

    def ended(self, worker: Worker, ending: Ending, reason: str) -> None:
        if (why := self._stalls.reason(worker)) is not None:
            ending = replace(ending, cause=Cause.STALLED)
            reason = worker.failure = f"it hangs: {why}"
        slot = self.slots[worker.index]
        if self.standing is not GenerationState.CURRENT:
            self._ended_aside(slot, ending, reason)
            return
        now = self._loop.clock()
        decision, slot.history = decide(
            self.manifest.restart,
            slot.history,
            ending,
            now=now,
            dice=self._extension.dice(),
            stop_on_limit=self.limits.action == "stop",
        )
        if self._retired and isinstance(decision, RestartIn):
            decision = StayDown("its host stops")
        if worker.child is not None:
            slot.clear(Stage.KILLED if ending.cause is Cause.OVER_LIMIT else Stage.TERMINATED)
        if not (self._retired and ending.cause is Cause.EXIT):  # else it was killed with all others
            self._report(worker, ending, reason, decision)
        if isinstance(decision, RestartIn):
            worker.retry()
            slot.fill_later(decision.delay_s)
        self.choose_lead()
        if all(one.state.is_settled for one in self.workers):
            self._settle()

    def _ended_aside(self, slot: WorkerSlot, ending: Ending, reason: str) -> None:
        """A candidate's end decides over it; one that was leaving has no more to do. Neither is started again."""
        if slot.worker.child is not None:
            slot.clear(Stage.KILLED if ending.cause is Cause.OVER_LIMIT else Stage.TERMINATED)
        said = reason + self.notices.last_words()
        if self._retired:
            return
        if self.standing is GenerationState.CANDIDATE:
            self._extension.candidate_failed(self, said)
        else:
            self.notices.tell("warning", f"the version that was replaced did not finish its calls: {said}")
        self._see_whether_left()

    def _report(self, worker: Worker, ending: Ending, told: str, decision: Decision) -> None:
        said = exit_message(
            self.name,
            ending,
            decision,
            reason=worker.failure,
            told=told,
            exit_status=self.account.exit_status,
            last_words=self.notices.last_words(),
            log=str(self.log.path),
            is_silent=ending.cause in (Cause.UNSTARTABLE, Cause.DISAGREES)
            or self.manifest.restart.policy == "temporary",
        )
        worker.failure = one_line(said.failure, NOTICE_LENGTH)
        self.notices.tell(said.kind, said.message, said.evidence)

    def _cleared(self, worker: Worker, is_stuck: bool) -> None:
        if is_stuck:
            self.notices.warn("stuck", f"process {worker.pid} could not be killed")
        if self._tracker is not None and worker.child is not None:
            self._tracker.ended(worker.child.identity)
        self._see_whether_left()

    def _adopted(self, table: ProcessTable, owner: Stoppable) -> Iterable[int]:
        slot = next((one for one in self.slots if one.worker is owner), None)
        return () if slot is None else self._extension.adopted(table, slot.mark)

    def collected(self, worker: Worker) -> None:
        if self._tracker is not None and worker.child is not None:
            self._tracker.collected(worker.child.identity)

    def gone(self, worker: Worker) -> None:
        self.slots[worker.index].hurry()

    # --- end of all -----------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Nothing of it is started again. Each process finishes what it was asked, as long as those wait for it who
        asked, and is then ended in order."""
        self.standing = advance(self.standing, GenerationTrigger.DISMISSED)
        for slot in self.slots:
            slot.forgo()
            worker = slot.worker
            worker.state = advance_state(worker.state, Trigger.ABANDONED)
            self._end_when_idle(slot)
        self._see_whether_left()

    def _end_when_idle(self, slot: WorkerSlot) -> None:
        worker = slot.worker
        if self._retired or slot.is_clearing or not worker.is_running:
            return
        if not worker.pending:
            slot.clear(Stage.ASKED)
            return
        left = set(worker.pending)

        def answered(call_id: str) -> None:
            left.discard(call_id)
            if not left:
                self._loop.call_later(0, lambda: self._end_when_idle(slot))

        for call_id, pending in worker.pending.items():
            _add_callback(pending, partial(answered, call_id))

    def _see_whether_left(self) -> None:
        if self.standing is GenerationState.DRAINING and not self._retired and all(one.is_empty for one in self.slots):
            self.standing = advance(self.standing, GenerationTrigger.CLEARED)
            self.notices.close()
            self._extension.left(self)

    def forgo_restarts(self) -> None:
        """No more starts: what ends from now on has ended for good."""
        self._retired = True

    def retire(self) -> dict[Stoppable, Iterable[Process]]:
        """No more starts; returns the workers, whose processes the caller is to end, each with what is known to be
        left of it besides."""
        self._retired = True
        return {slot.worker: slot.retire() for slot in self.slots}


def _add_callback(pending: Pending, callback: Callable[[], None]) -> None:
    """Besides what it calls already when it ends."""
    before = pending.on_done

    def both() -> None:
        if before is not None:
            before()
        callback()

    pending.on_done = both
