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
from supervisor.extension.exit_message import obituary
from supervisor.extension.generation_state import Standing, Turn, advance, may_take_over
from supervisor.extension.lifecycle import Occurrence, State
from supervisor.extension.lifecycle import advance as advance_state
from supervisor.extension.log import ExtensionLog
from supervisor.extension.notices import NOTICE_LENGTH, Voice
from supervisor.extension.restart import Again, Cause, Decision, Ending, Left, decide
from supervisor.extension.slot import Place
from supervisor.extension.stalls import Hanging
from supervisor.extension.watchdog import Watchdog
from supervisor.extension.worker import Worker
from supervisor.process.spawn_limits import Confinement, launch
from supervisor.process.stop_policy import Stage
from wire.dialects.zot import ZotDialect
from wire.framing import DEFAULT_FRAME_LIMIT
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from supervisor.cleanup.tracker import Custody
    from supervisor.discovery.discover import Found
    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Shown
    from supervisor.loop.loop import Loop
    from supervisor.loop.pending import Pending
    from supervisor.process.cgroups import Leaf
    from supervisor.process.shared_table import Lookout
    from supervisor.process.table import Process, ProcessTable
    from supervisor.process.teardown import Stoppable
    from wire.dialects.base import HostInfo
    from wire.manifest import Limits

BEST_FIRST = (
    State.READY, State.GREETED, State.SPAWNED, State.BACKOFF, State.STOPPING, State.FAILED, State.EXITED,
)  # fmt: skip


class Crew:
    def __init__(
        self,
        loop: Loop,
        extension: Extension,
        found: Found,
        *,
        standing: Standing,
        host: HostInfo,
        logs: Path,
        limits: Limits,
        custody: Custody | None,
        lookout: Lookout,
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
        self.voice = Voice(loop, self.log, self.account, on_notice=extension.noticed, on_note=extension.noted)
        self.is_settled = False
        """Its start has come to an end, once. Starts after that are nobody's to wait for."""
        self._loop = loop
        self._extension = extension
        self._host = host
        self._dialect = ZotDialect(min(DEFAULT_FRAME_LIMIT, limits.output_bytes or DEFAULT_FRAME_LIMIT))
        self._lookout = lookout
        self._custody = custody
        self._env: dict[str, str] = {}
        self._retired = False
        self._hanging = Hanging(loop, found.manifest, self.log)
        self.places = [self._new_place(index) for index in range(found.manifest.workers)]
        self.lead = self.places[0].worker
        """The worker that is asked for verdicts and told of events."""
        self.reference = self.lead.registry
        """What its present or last lead has registered."""
        self._agreed = self.lead.registry
        """What the workers had all registered by the time when they got ready."""

    def _new_place(self, index: int) -> Place:
        return Place(
            self._loop,
            self._new_worker(index),
            self._lookout,
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
        return [place.worker for place in self.places]

    @property
    def hello_s(self) -> float:
        return self.timeouts.hello or self.found.default_hello_s

    # --- start ----------------------------------------------------------------------------------------------

    def start(self, env: Mapping[str, str], data: Path | None) -> None:
        self.log.note(f"starting {self.name} {self.manifest.version or ''}".rstrip())
        if self.log.error is not None:
            self.voice.log_failed(self.log.error)
        self.log.on_error = self.voice.log_failed
        self.prepare(env, data)
        for place in self.places:
            if self.standing is Standing.LEAVING or self.standing is Standing.LEFT:
                return  # one of them could not be started
            self._start(place)

    def prepare(self, env: Mapping[str, str], data: Path | None) -> None:
        """Makes its data folder, and notes what its processes find in their environment."""
        kept = data_dir.prepare(self.found, data)
        self.data_dir = str(kept.path)
        if kept.trouble:
            self.voice.warn("data_dir", kept.trouble)
        self._env = dict(env)

    def lie_idle(self, failure: str, before: Crew) -> None:
        """Nothing of it runs until somebody asks for that; then it finds what the one before it had found."""
        self._env, self.data_dir = before._env, before.data_dir
        for worker in self.workers:
            worker.failure = failure
            worker.state = advance_state(advance_state(worker.state, Occurrence.STOP), Occurrence.GONE)
        self.is_settled = True

    def _start(self, place: Place) -> None:
        place.starts += 1
        place.mark = self._extension.next_mark()
        env = {**self._env, START: place.mark}
        leaf: Leaf | None = None

        def argv() -> list[str]:
            nonlocal leaf
            command, folder = self.found.argv, str(self.found.folder)
            if self._custody is None:
                return launch(command, Confinement.of(self.limits), cwd=folder, env=env)
            command, leaf = self._custody.confine(self.name, command, self.limits, cwd=folder, env=env)
            return command

        worker = place.worker
        started = worker.start(argv, env, self.hello_s)
        if self._custody is not None:
            if started and worker.child is not None:
                self._custody.started(worker.child.identity, leaf)
            else:
                self._custody.release(leaf)

    def got_ready(self, worker: Worker) -> None:
        place = self.places[worker.index]
        others = [one for one in self.workers if one is not worker and one.state is State.READY]
        if others and (difference := worker.registry.difference(self._agreed)) is not None:
            reason = f"worker {worker.index + 1} is not like the others: {difference}"
            worker.give_up(reason, Cause.DISAGREES)
            return
        if not others:
            self._agreed = worker.registry.snapshot()
        if self.manifest.watchdog_s is not None and worker.can_ping:
            Watchdog(self._loop, worker, self.manifest.watchdog_s, self._hanging.end)
        if self.standing is not Standing.PRESENT:
            if self.standing is Standing.CANDIDATE and may_take_over([one.state for one in self.workers]):
                self.is_settled = True
                self._extension.candidate_ready(self)
            return
        self._extension.was_ready = True
        self._settle()
        self.choose_lead()
        if place.starts > 1:
            self.account.restarts += 1
            down = "" if len(self.places) == 1 else f" (worker {worker.index + 1})"
            self.voice.tell("restarted", f"ready again, restart {self.account.restarts}{down}")
        elif not others:
            self.voice.tell("started", "ready")

    def registered(self, worker: Worker) -> None:
        if self.standing is not Standing.PRESENT:
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
        if self.standing is Standing.PRESENT:
            self._extension.changed()

    def _settle(self) -> None:
        if not self.is_settled:
            self.is_settled = True
            self._extension.settled()

    def showed(self, worker: Worker, frame: Shown) -> None:
        self._extension.showed(worker, frame)

    # --- health ---------------------------------------------------------------------------------------------

    def ran_out_of_time(self, worker: Worker) -> None:
        self._hanging.ran_out_of_time(worker)

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
        for place in self.places:
            place.worker.failure = "it is being started again"
            place.renew()
        self.choose_lead()

    def _fill(self, place: Place) -> None:
        if not self._retired:
            self.log.note(f"starting {self.name} again")
            place.worker = self._new_worker(place.worker.index)
            self.choose_lead()
            self._start(place)

    # --- end of a process -----------------------------------------------------------------------------------

    def ended(self, worker: Worker, ending: Ending, reason: str) -> None:
        if (why := self._hanging.reason(worker)) is not None:
            ending = replace(ending, cause=Cause.STALLED)
            reason = worker.failure = f"it hangs: {why}"
        place = self.places[worker.index]
        if self.standing is not Standing.PRESENT:
            self._ended_aside(place, ending, reason)
            return
        now = self._loop.clock()
        decision, place.history = decide(
            self.manifest.restart,
            place.history,
            ending,
            now=now,
            dice=self._extension.dice(),
            stop_on_limit=self.limits.action == "stop",
        )
        if self._retired and isinstance(decision, Again):
            decision = Left("its host stops")
        if worker.child is not None:
            place.clear(Stage.KILLED if ending.cause is Cause.OVER_LIMIT else Stage.TERMINATED)
        if not (self._retired and ending.cause is Cause.EXIT):  # else it was killed with all others
            self._report(worker, ending, reason, decision)
        if isinstance(decision, Again):
            worker.retry()
            place.fill_later(decision.delay_s)
        self.choose_lead()
        if all(one.state.is_settled for one in self.workers):
            self._settle()

    def _ended_aside(self, place: Place, ending: Ending, reason: str) -> None:
        """A candidate's end decides over it; one that was leaving has no more to do. Neither is started again."""
        if place.worker.child is not None:
            place.clear(Stage.KILLED if ending.cause is Cause.OVER_LIMIT else Stage.TERMINATED)
        said = reason + self.voice.last_words()
        if self._retired:
            return
        if self.standing is Standing.CANDIDATE:
            self._extension.candidate_failed(self, said)
        else:
            self.voice.tell("warning", f"the version that was replaced did not finish its calls: {said}")
        self._see_whether_left()

    def _report(self, worker: Worker, ending: Ending, told: str, decision: Decision) -> None:
        said = obituary(
            self.name,
            ending,
            decision,
            reason=worker.failure,
            told=told,
            exit_status=self.account.exit_status,
            last_words=self.voice.last_words(),
            log=str(self.log.path),
            is_silent=ending.cause in (Cause.UNSTARTABLE, Cause.DISAGREES)
            or self.manifest.restart.policy == "temporary",
        )
        worker.failure = one_line(said.failure, NOTICE_LENGTH)
        self.voice.tell(said.kind, said.message, said.evidence)

    def _cleared(self, worker: Worker, is_stuck: bool) -> None:
        if is_stuck:
            self.voice.warn("stuck", f"process {worker.pid} could not be killed")
        if self._custody is not None and worker.child is not None:
            self._custody.ended(worker.child.identity)
        self._see_whether_left()

    def _adopted(self, table: ProcessTable, owner: Stoppable) -> Iterable[int]:
        place = next((one for one in self.places if one.worker is owner), None)
        return () if place is None else self._extension.adopted(table, place.mark)

    def collected(self, worker: Worker) -> None:
        if self._custody is not None and worker.child is not None:
            self._custody.collected(worker.child.identity)

    def gone(self, worker: Worker) -> None:
        self.places[worker.index].hurry()

    # --- end of all -----------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Nothing of it is started again. Each process finishes what it was asked, as long as those wait for it who
        asked, and is then ended in order."""
        self.standing = advance(self.standing, Turn.DISMISSED)
        for place in self.places:
            place.forgo()
            worker = place.worker
            worker.state = advance_state(worker.state, Occurrence.ABANDONED)
            self._end_when_idle(place)
        self._see_whether_left()

    def _end_when_idle(self, place: Place) -> None:
        worker = place.worker
        if self._retired or place.is_clearing or not worker.is_running:
            return
        if not worker.pending:
            place.clear(Stage.ASKED)
            return
        left = set(worker.pending)

        def answered(call_id: str) -> None:
            left.discard(call_id)
            if not left:
                self._loop.call_later(0, lambda: self._end_when_idle(place))

        for call_id, pending in worker.pending.items():
            _add_callback(pending, partial(answered, call_id))

    def _see_whether_left(self) -> None:
        if self.standing is Standing.LEAVING and not self._retired and all(one.is_empty for one in self.places):
            self.standing = advance(self.standing, Turn.CLEARED)
            self.voice.close()
            self._extension.left(self)

    def forgo_restarts(self) -> None:
        """No more starts: what ends from now on has ended for good."""
        self._retired = True

    def retire(self) -> dict[Stoppable, Iterable[Process]]:
        """No more starts; returns the workers, whose processes the caller is to end, each with what is known to be
        left of it besides."""
        self._retired = True
        return {place.worker: place.retire() for place in self.places}


def _add_callback(pending: Pending, callback: Callable[[], None]) -> None:
    """Besides what it calls already when it ends."""
    before = pending.on_done

    def both() -> None:
        if before is not None:
            before()
        callback()

    pending.on_done = both
