"""The place of one worker: starts its process, ends all processes that the worker left, has the next worker started."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from supervisor.cleanup.env_marks import START
from supervisor.extension.restart import EndCause, PastExits
from supervisor.process.child import SpawnError
from supervisor.process.spawn_limits import Confinement, launch
from supervisor.process.stop_policy import StopStage
from supervisor.process.teardown import Teardown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from supervisor.cleanup.tracker import ProcessTracker
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.worker import Worker
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.cgroups import Leaf
    from supervisor.process.shared_table import SharedProcessTable
    from supervisor.process.table import Process, ProcessTable
    from supervisor.process.teardown import Stoppable
    from wire.manifest import Limits


class WorkerSlot:
    """The place of one worker. `on_free` is called when the next worker is due and no process of the last one is left.
    `on_cleared` gets a worker whose processes have ended, and whether one of them could not be killed. `adopted`
    returns the pids of processes of a worker that have left its process tree."""

    def __init__(
        self,
        loop: Loop,
        worker: Worker,
        shared_table: SharedProcessTable,
        tracker: ProcessTracker | None,
        *,
        on_free: Callable[[WorkerSlot], None],
        on_cleared: Callable[[Worker, bool], None],
        adopted: Callable[[ProcessTable, Stoppable], Iterable[int]],
    ) -> None:
        self.worker = worker
        self.history = PastExits()
        self.last_end = ""
        """Why the last worker ended by itself or was given up; empty if none has."""
        self.starts = 0
        self.mark = ""
        """Identifies one start. The worker's process and all processes that it starts have it in their environment."""
        self._loop = loop
        self._shared_table = shared_table
        self._tracker = tracker
        self._on_free = on_free
        self._on_cleared = on_cleared
        self._adopted = adopted
        self._due: float | None = None
        self._timer: Timer | None = None
        self._teardown: Teardown | None = None
        self._is_stuck = False
        self._retired = False

    # --- the worker's process -------------------------------------------------------------------------------

    def start(
        self,
        mark: str,
        env: Mapping[str, str],
        *,
        found: FoundExtension,
        limits: Limits,
        hello_s: float,
        refusal: str = "",
    ) -> None:
        """Starts the worker's process, in a cgroup leaf of its own if one of its limits needs one. With a `refusal` the
        worker ends at once with this reason."""
        self.starts += 1
        self.mark = mark
        env = {**env, START: mark}
        leaf: Leaf | None = None

        def argv() -> list[str]:
            nonlocal leaf
            if refusal:
                raise SpawnError(refusal)
            command, folder = found.argv, found.working_folder
            if self._tracker is None:
                return launch(command, Confinement.of(limits), cwd=folder, env=env)
            command, leaf = self._tracker.confine(found.manifest.name, command, limits, cwd=folder, env=env)
            return command

        worker = self.worker
        started = worker.start(argv, env, found.working_folder, hello_s)
        if self._tracker is not None:
            if started and worker.child is not None:
                self._tracker.started(worker.child, leaf)
            else:
                self._tracker.release(leaf)

    def collected(self) -> None:
        """The worker's process has been waited for. Processes that it started may live on."""
        if self._tracker is not None and self.worker.child is not None:
            self._tracker.collected(self.worker.child.identity)

    def memory_kills(self) -> int:
        """The number of this start's processes that the kernel killed because of `rss_mb`. Call it after
        `collected`."""
        if self._tracker is None or self.worker.child is None:
            return 0
        return self._tracker.memory_kills(self.worker.child.identity)

    def limit(self, limits: Limits) -> None:
        """Gives the running process these limits in its cgroup leaf, if it has one."""
        if self._tracker is not None and self.worker.child is not None:
            self._tracker.limit(self.worker.child.identity, limits)

    # --- clearing -------------------------------------------------------------------------------------------

    def clear(self, first: StopStage) -> None:
        """Ends the worker's process and all processes that it started, beginning with the stage `first`."""
        self._teardown = Teardown(
            self._loop,
            [self.worker],
            patience=self.worker.patience,
            first=first,
            on_over=self._cleared,
            adopted=self._adopted,
            shared_table=self._shared_table,
        )

    def clear_after(self, cause: EndCause) -> None:
        """Ends the processes that a worker has left whose end had this cause; none if it has no process."""
        if self.worker.child is not None:
            self.clear(StopStage.KILLED if cause is EndCause.OVER_LIMIT else StopStage.TERMINATED)

    def _cleared(self) -> None:
        assert self._teardown is not None
        self._is_stuck = bool(self._teardown.stuck)
        self._teardown = None
        if self._tracker is not None and self.worker.child is not None:
            self._tracker.ended(self.worker.child.identity)
        self._on_cleared(self.worker, self._is_stuck)
        self._refill()

    @property
    def is_clearing(self) -> bool:
        return self._teardown is not None

    @property
    def is_empty(self) -> bool:
        """No process of the worker is left, or the remaining ones cannot be killed."""
        return self._teardown is None and (self._is_stuck or not self.worker.is_running)

    def hurry(self) -> None:
        """Called when the worker's process has ended. Checks at once whether other processes of the worker are left."""
        if self._teardown is not None:
            self._teardown.hurry()

    # --- refilling ------------------------------------------------------------------------------------------

    def refill_later(self, delay_s: float) -> None:
        """Has the next worker started after `delay_s` seconds, but not before the last one's processes have ended."""
        self._cancel_timer()
        self._due = self._loop.clock() + delay_s
        self._timer = self._loop.call_at(self._due, self._refill)

    def restart(self) -> None:
        """Stops the worker gracefully and has the next worker started. Earlier exits are forgotten."""
        self.history = PastExits()
        self.refill_later(0.0)
        if self._teardown is None and self.worker.is_running:
            self.clear(StopStage.ASKED)

    def _refill(self) -> None:
        if self._due is not None and self._teardown is None and self._loop.clock() >= self._due:
            self.cancel_refill()
            self._on_free(self)

    @property
    def is_due(self) -> bool:
        """Whether a next worker will be started."""
        return self._due is not None

    @property
    def is_vacant(self) -> bool:
        """No process is left here, and none will be started."""
        return self.worker.state.is_down and self.is_empty and not self.is_due

    def cancel_refill(self) -> None:
        """Cancels the start of the next worker. A clearing that has begun goes on."""
        self._cancel_timer()
        self._due = None

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # --- end ------------------------------------------------------------------------------------------------

    def stop_when_idle(self) -> None:
        """Stops the worker gracefully when its pending requests have ended."""
        worker = self.worker
        if self._retired or self.is_clearing or not worker.is_running:
            return
        if not worker.requests.pending:
            self.clear(StopStage.ASKED)
            return
        left = set(worker.requests.pending)

        def answered(call_id: str) -> None:
            left.discard(call_id)
            if not left:
                self._loop.call_later(0, self.stop_when_idle)

        for call_id, pending in worker.requests.pending.items():
            _add_callback(pending, partial(answered, call_id))

    def retire(self) -> list[Process]:
        """From now on no next worker is started, and the caller must end the worker. Returns the processes that the
        worker is known to have left, without its own process."""
        self.cancel_refill()
        self._retired = True
        self.worker.dismiss()
        teardown, self._teardown = self._teardown, None
        return [] if teardown is None else teardown.cancel()


def _add_callback(pending: Pending, callback: Callable[[], None]) -> None:
    """Calls `callback` when the request ends, after the `on_done` that the request has now."""
    before = pending.on_done

    def both() -> None:
        if before is not None:
            before()
        callback()

    pending.on_done = both
