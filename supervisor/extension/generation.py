"""One version of an extension: its manifest, its workers, their restarts by the manifest's policy, and their end.

The workers of the current generation get all requests and events and are restarted. The workers of a candidate
start beside them. The workers of a draining generation finish their pending requests and are then stopped.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from supervisor.accounting.fall import OVER_LIMITS
from supervisor.accounting.limits import log_bytes
from supervisor.discovery import data_dir
from supervisor.discovery.environment import session_environment
from supervisor.extension.lazy.awake import lazy_start
from supervisor.extension.lifecycle import (
    BEST_FIRST,
    GenerationState,
    GenerationTrigger,
    Trigger,
    WorkerState,
    advance_generation,
    may_take_over,
)
from supervisor.extension.log import ExtensionLog
from supervisor.extension.notices import AWAKE, NOTICE_LENGTH, Notices, exit_message, fall_of
from supervisor.extension.program_worker import HOST_STOPS, linked_worker
from supervisor.extension.restart import Decision, EndCause, RestartIn, StayDown, WorkerEnding, decide
from supervisor.extension.slot import WorkerSlot
from supervisor.extension.stalls import Heartbeat, StallHandler
from wire.dialects.base import Setup
from wire.dialects.host_calls import STEERING
from wire.dialects.table import find_dialect
from wire.framing import DEFAULT_FRAME_LIMIT
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.connection.open_calls import HostCallAnswer
    from supervisor.extension.host_context import EventSink, GenerationOwner, HostContext
    from supervisor.extension.worker import Worker
    from supervisor.process.table import Process, ProcessTable
    from supervisor.process.teardown import Stoppable
    from wire.dialects.host_calls import HostCall

RESTARTED = "it is being restarted"
REPLACED = "another version of this extension has taken its place"


class Generation:
    """A version of an extension with its workers. A candidate calls `on_ready` when all its workers are ready, or
    `on_failed` with the reason. A generation that drains calls `on_drained` when all its processes have ended."""

    def __init__(
        self,
        host: HostContext,
        owner: GenerationOwner,
        found: FoundExtension,
        sink: EventSink,
        *,
        state: GenerationState,
        on_ready: Callable[[Generation], None],
        on_failed: Callable[[Generation, str], None],
        on_drained: Callable[[Generation], None],
    ) -> None:
        loop = host.loop
        self.found = found
        self.manifest = found.manifest
        self.name = found.manifest.name
        self.state = state
        self.data_dir = str(found.folder)
        self.timeouts = found.manifest.timeouts
        self.limits = limits = host.limits.of(self.name, found.manifest.limits)
        self.account = owner.account
        self.log = ExtensionLog(host.logs, self.name, log_bytes(limits), opens_late=found.is_hosted)
        self.notices = Notices(loop, self.log, self.account, on_notice=sink.notice, on_note=sink.note)
        self.is_settled = False
        """The first start is over, with or without success. It stays True while workers are restarted."""
        self._loop, self._owner, self._sink, self._host = loop, owner, sink, host
        self.showed = sink.showed
        self._dialect = find_dialect(found.manifest.dialect)
        frame_limit = min(DEFAULT_FRAME_LIMIT, limits.output_bytes or DEFAULT_FRAME_LIMIT)
        self._setup = Setup(self.name, host.info.version, frame_limit, found.options)
        self._on_ready, self._on_failed, self._on_drained = on_ready, on_failed, on_drained
        self._env: dict[str, str] = {}
        self._retired = False
        self._stalls = StallHandler(loop, host.stall_profiles, found.manifest, self.log, self.notices)
        self.lazy = lazy_start(host, self, start=self._start, has_panel=sink.has_panel, rest=partial(owner.rest, self))
        self.slots = [self._new_slot(index) for index in range(found.manifest.workers)]
        self.lead = self.slots[0].worker
        """The worker that gets verdict requests and events."""
        self.registry = self._agreed = self.lead.registry
        """The registrations of the lead; while no worker is ready, the registrations of the last ready lead."""

    def _new_slot(self, index: int) -> WorkerSlot:
        return WorkerSlot(
            self._loop, self._new_worker(index), self._host.shared_table, self._host.tracker,
            on_free=self._refill, on_cleared=self._cleared, adopted=self._adopted,
        )  # fmt: skip

    def add_worker(self) -> None:
        """Starts one more worker, in a place without a process if there is one; none while the host stops."""
        if (vacant := next((slot for slot in self.slots if slot.is_vacant), None)) is not None:
            self._refill(vacant)
        elif not self._retired:
            self.slots.append(slot := self._new_slot(len(self.slots)))
            self._start(slot, self.found.lasting_change)

    def _new_worker(self, index: int) -> Worker:
        common = self._loop, self, self._dialect, self._setup
        host, folder = self._host.info, str(self.found.folder)
        if (link := self.found.link) is None:
            return self.lazy.new_worker(*common, host=host, folder=folder, index=index)
        return linked_worker(link, common, host=host, folder=folder, index=index)

    @property
    def workers(self) -> list[Worker]:
        return [slot.worker for slot in self.slots]

    @property
    def hello_s(self) -> float:
        return self.timeouts.hello or self.found.default_hello_s

    # --- start ----------------------------------------------------------------------------------------------

    def start(self, env: Mapping[str, str], data: Path | None) -> None:
        """Starts all workers. `data` is the folder that contains the data folders of all extensions."""
        if self.found.is_hosted:
            self._start(self.slots[0])  # its host has its log and its data
            return
        self.notices.begin(self.manifest)
        kept = data_dir.prepare(self.found, data)
        self.data_dir = str(kept.path)
        if kept.trouble:
            self.notices.warn("data_dir", kept.trouble)
        self._env = {**env, **session_environment(self.found, self._host.info.session_id)}
        if self.lazy.begin(env):
            self._owner.got_ready()
            self._settle()
            self.choose_lead()
            return
        refusal = self.found.change
        for slot in self.slots:
            if self.state is GenerationState.DRAINING or self.state is GenerationState.GONE:
                return  # a worker could not be started
            self._start(slot, refusal)

    def prepare_idle(self, failure: str, before: Generation, why: Trigger = Trigger.UNUSED) -> None:
        """Starts nothing until a user asks for a restart; the workers then get what those of `before` had. Until then
        requests fail with `failure`; with an empty one they wake the workers. `why`: as for `Worker.stay_down`. With
        HALTED its registrations stay, as after a crash: a guard gives no verdict, and `on_failure` decides."""
        self._env, self.data_dir = before._env, before.data_dir
        if not failure:
            self.lazy.follow(before.lazy)
        for worker in self.workers if failure else ():
            worker.stay_down(failure, why)
        if why is Trigger.HALTED:
            self.registry = before.registry
        self.is_settled = True

    def _start(self, slot: WorkerSlot, refusal: str = "") -> None:
        mark, hello_s = self._owner.next_mark(), self.hello_s
        env = self._env | (self._host.starting(self.found, slot.worker) if self.found.link is None else {})
        slot.start(mark, env, found=self.found, limits=self.limits, hello_s=hello_s, refusal=refusal)

    def refusal(self, worker: Worker) -> str:
        is_first = self.slots[worker.index].starts == 1 and not self.lazy.has_run  # a restart may read changed files
        change = self.found.change_while_starting if is_first else self.found.lasting_change
        return change or self._sink.claims(self.found, worker.claimed)

    def got_ready(self, worker: Worker) -> None:
        slot = self.slots[worker.index]
        others = [other for other in self.workers if other is not worker and other.state is WorkerState.READY]
        if others and (difference := worker.registry.difference(self._agreed)) is not None:
            reason = f"worker {worker.index + 1} is not like the others: {difference}"
            worker.give_up(reason, EndCause.DISAGREES)
            return
        if not others:
            self._agreed = worker.registry.snapshot()  # all workers of this generation must register the same
        if self.manifest.watchdog_s is not None and worker.can_ping:
            Heartbeat(self._loop, worker, self.manifest.watchdog_s, self._stalls.end)
        if self.state is not GenerationState.CURRENT:
            if self.state is GenerationState.CANDIDATE and may_take_over([other.state for other in self.workers]):
                self.is_settled = True
                self._on_ready(self)
            return
        self._owner.got_ready()
        self._settle()
        self.choose_lead()
        if slot.starts > 1:
            self.account.restarts += 1
            which = "" if len(self.slots) == 1 else f" (worker {worker.index + 1})"
            self.notices.tell("restarted", f"ready again, restart {self.account.restarts}{which}")
        elif not others:
            self.notices.tell("started", AWAKE if worker.requests.waits_for_start else "ready")

    def registered(self, worker: Worker) -> None:
        self.lazy.registered(worker)
        if self.state is not GenerationState.CURRENT:
            return
        if worker.state.is_up and not self.lead.state.is_up:
            self.choose_lead()
        else:
            self._owner.changed()

    def choose_lead(self) -> None:
        """Makes the worker with the best state the lead; among equals, the first worker."""
        self.lead = min(self.workers, key=lambda worker: (BEST_FIRST.index(worker.state), worker.index))
        if self.lead.state is WorkerState.READY:
            self.registry = self.lead.registry
        if self.state is GenerationState.CURRENT:
            self._owner.changed()

    def _settle(self) -> None:
        if not self.is_settled:
            self.is_settled = True
            self._owner.settled()

    # --- health and limits --------------------------------------------------------------------------------------

    def apply_limits(self) -> None:
        """Takes the limits that the host's rules have now."""
        self.limits = self._host.limits.of(self.name, self.manifest.limits)
        self.log.resize(log_bytes(self.limits))
        for slot in self.slots:
            slot.limit(self.limits)

    def timed_out(self, worker: Worker) -> None:
        self._stalls.timed_out(worker)

    def over_limit(self, worker: Worker, figures: str) -> None:
        """Gives up a worker that a sample found over its limits. The manifest's limit action decides whether a next
        worker is started."""
        if worker.state.is_settled and worker.state is not WorkerState.READY:
            return  # it is ending already
        worker.give_up(self._count_breach(figures), EndCause.OVER_LIMIT)

    def memory_breach(self, worker: Worker) -> str | None:
        """Called when SIGKILL has ended a worker's process. If the worker's cgroup leaf has counted a kill, the memory
        limit was the cause: counts the breach and returns the reason. Otherwise returns None."""
        if self._retired or self.limits.rss_mb is None or not self.slots[worker.index].memory_kills():
            return None
        return self._count_breach(f"the kernel killed it at rss_mb {self.limits.rss_mb:g}")

    def _count_breach(self, figures: str) -> str:
        self.account.limit_breaches += 1
        self.log.add(f"over its limits: {figures}")
        return f"{OVER_LIMITS}{figures}"

    # --- restart --------------------------------------------------------------------------------------------

    def restart(self) -> None:
        """Stops all workers gracefully and starts new ones, whatever the workers' states."""
        is_running = any(slot.worker.is_running for slot in self.slots)
        self.log.add(f"a user asks for a {'restart' if is_running else 'start'}")
        for slot in self.slots:
            slot.worker.fail_requests_with(RESTARTED)
            slot.restart()
        self.lazy.leave(RESTARTED)
        self.choose_lead()

    def _refill(self, slot: WorkerSlot) -> None:
        if not self._retired:
            self.log.add(f"starting {self.name} again")
            slot.worker = self._new_worker(slot.worker.index)
            self.choose_lead()
            self._start(slot, self.found.lasting_change)

    # --- end of a worker ------------------------------------------------------------------------------------

    def ended(self, worker: Worker, ending: WorkerEnding, reason: str) -> None:
        if (why := self._stalls.reason(worker)) is not None:
            ending = replace(ending, cause=EndCause.STALLED)
            reason = f"it hangs: {why}"
            worker.fail_requests_with(reason)
        if worker.child is not None and not (
            self._retired and ending.cause is EndCause.EXIT
        ):  # else `kill_now` killed it
            self.account.unexpected_exits += 1
            self.account.exits_by_host += ending.cause is not EndCause.EXIT
        slot = self.slots[worker.index]
        slot.last_end = f"{worker.failure}{worker.last_words}"
        if self.state is not GenerationState.CURRENT:
            self._ended_beside(slot, ending, f"{reason}{worker.last_words}")
            return
        may_hold = not ending.was_ready and not self.manifest.required
        decision, slot.history = decide(
            self.manifest.restart, slot.history, ending,
            now=self._loop.clock(), dice=self._owner.dice(), stop_on_limit=self.limits.action == "stop",
        )  # fmt: skip
        if self._retired and isinstance(decision, RestartIn):
            decision = StayDown("its host stops")
        if isinstance(decision, RestartIn) and may_hold and self._host.restarts.is_held:
            self._host.restarts.add(partial(self._start_again, slot, decision.delay_s))
            decision = StayDown("")
        slot.clear_after(ending.cause)
        if not (self._retired and ending.cause is EndCause.EXIT):
            self._report(worker, ending, reason, decision)
        if isinstance(decision, RestartIn):
            worker.retry()
            slot.refill_later(decision.delay_s)
        self.choose_lead()
        if all(other.state.is_settled for other in self.workers):
            self._settle()

    def _start_again(self, slot: WorkerSlot, delay_s: float) -> None:
        """Starts a worker whose restart was held, unless a user has started it meanwhile."""
        if slot.worker.state is WorkerState.FAILED and self.state is GenerationState.CURRENT:
            slot.worker.fail_requests_with(f"{slot.worker.failure}; it is restarted in {delay_s:.1f} s")
            slot.refill_later(delay_s)

    def _ended_beside(self, slot: WorkerSlot, ending: WorkerEnding, message: str) -> None:
        """Handles the end of a worker of a candidate or of a draining generation. The worker is not restarted. If
        it belongs to a candidate, the candidate fails."""
        slot.clear_after(ending.cause)
        if self._retired:
            return
        if self.state is GenerationState.CANDIDATE:
            self._on_failed(self, message)
        else:
            self.notices.tell("warning", f"the version that was replaced did not finish its calls: {message}")
        self._check_drained()

    def _report(self, worker: Worker, ending: WorkerEnding, full_reason: str, decision: Decision) -> None:
        message = exit_message(
            self.name, ending, decision, reason=worker.failure, full_reason=full_reason,
            exit_status=self.account.exit_status, last_words=str(worker.last_words), log=str(self.log.path),
            is_silent=ending.cause in (EndCause.UNSTARTABLE, EndCause.DISAGREES)
            or self.manifest.restart.policy == "temporary"
            or decision == StayDown(""),
        )  # fmt: skip
        worker.fail_requests_with(one_line(message.failure, NOTICE_LENGTH))
        self._sink.fell(worker, fall_of(ending, decision, full_reason, worker.pid, worker.requests.lost))
        self.notices.tell(message.kind, message.message, message.evidence)

    def _cleared(self, worker: Worker, is_stuck: bool) -> None:
        if is_stuck:
            self.notices.warn("stuck", f"process {worker.pid} could not be killed")
        self._check_drained()

    def _adopted(self, table: ProcessTable, owner: Stoppable) -> Iterable[int]:
        slot = next((slot for slot in self.slots if slot.worker is owner), None)
        return () if slot is None else self._sink.adopted(table, slot.mark)

    def collected(self, worker: Worker) -> None:
        self.slots[worker.index].collected()

    def stopped(self, worker: Worker) -> None:
        self.slots[worker.index].hurry()
        if worker.child is None and self.state is GenerationState.CURRENT:
            self.choose_lead()
            self._settle()

    # --- end of the generation ------------------------------------------------------------------------------

    def promote(self) -> None:
        """Makes a candidate the current generation."""
        self.state = advance_generation(self.state, GenerationTrigger.PROMOTED)

    def called(self, call: HostCall, answer: HostCallAnswer) -> None:
        """Passes on a worker's call, but refuses calls that steer the agent once this version is replaced."""
        if self.state is GenerationState.DRAINING and isinstance(call, STEERING):
            answer.refuse(REPLACED)
        else:
            self._sink.called(call, answer)

    def drain(self) -> None:
        """From now on no worker is restarted. Each is stopped gracefully when its pending requests have ended."""
        self.state = advance_generation(self.state, GenerationTrigger.DISMISSED)
        self.lazy.end(REPLACED, starts_needed=True)
        for slot in self.slots:
            slot.cancel_refill()
            slot.worker.abandon()
            slot.stop_when_idle()
        self._check_drained()

    def _check_drained(self) -> None:
        if self.state is GenerationState.DRAINING and not self._retired and all(slot.is_empty for slot in self.slots):
            self.state = advance_generation(self.state, GenerationTrigger.CLEARED)
            self.notices.close()
            self._on_drained(self)

    def forgo_restarts(self) -> None:
        """From now on no worker is started."""
        self._retired = True
        self.lazy.end(HOST_STOPS)

    def retire(self) -> dict[Stoppable, Iterable[Process]]:
        """From now on no worker is restarted, and the caller must end the workers. Returns each worker with the
        processes that it is known to have left, without its own process."""
        self.forgo_restarts()
        return {slot.worker: slot.retire() for slot in self.slots}
