"""When the processes of one version of an extension start and stop, if its manifest says `start: lazy`.

Asleep at the start of the host, if the registrations of its last start are known; woken by the first request or event
that needs it; asleep again after `idle_stop_s` seconds without any: then a generation without processes takes the place
of the one that runs, which ends like a version that is replaced. So no request is lost.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from supervisor.discovery.data_dir import name_of
from supervisor.extension.connection.handshake import Readiness
from supervisor.extension.lazy.idle_watch import IdleWatch
from supervisor.extension.lazy.kept_registrations import Kept, KeptRegistrations
from supervisor.extension.lazy.lazy_worker import LazyWorker
from supervisor.extension.lazy.start_key import start_key
from supervisor.extension.lifecycle import GenerationState, WorkerState
from supervisor.registry.worker_registry import Registry
from wire.dialects.table import find_dialect
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from supervisor.accounting.account import Account
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.host_context import HostContext
    from supervisor.extension.log import ExtensionLog
    from supervisor.extension.notices import Notices
    from supervisor.extension.slot import WorkerSlot
    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Timer
    from wire import frames

SAVE_AFTER_S = 0.5
"""Seconds from a change of the registrations until they are kept: they come one after another."""


class Sleeper(Protocol):
    """The generation whose processes start when needed."""

    found: FoundExtension
    state: GenerationState
    account: Account
    log: ExtensionLog
    notices: Notices
    registry: Registry
    lead: Worker

    slots: list[WorkerSlot]

    @property
    def workers(self) -> list[Worker]: ...


class LazyStart:
    """The sleep of one generation: `begin` before its start, `end` at its end. `folder` has the registrations.

    `start` starts the process of a slot, or fails its worker with a refusal that is not empty. `has_panel` returns
    whether a panel of the extension is open. `rest` has a generation without processes take the place of this one, and
    returns False if that cannot be now."""

    def __init__(
        self,
        host: HostContext,
        folder: Path,
        generation: Sleeper,
        *,
        start: Callable[[WorkerSlot, str], None],
        has_panel: Callable[[], bool],
        rest: Callable[[], bool],
    ) -> None:
        found = generation.found
        self._start = start
        self._has_panel = has_panel
        self._rest = rest
        self._loop = host.loop
        self._generation = generation
        self._version = host.info.version
        self._file = KeptRegistrations(folder, name_of(found), generation.log.add)
        self._key = ""
        self._kept: Kept | None = None
        self.has_run = False
        """Whether processes of this version have run before the generation."""
        self._before: Sleeper | None = None
        """The generation whose processes must have ended before a new one starts."""
        self._is_over = False
        self._saving: Timer | None = None
        self._looking: Timer | None = None
        self._watch: IdleWatch | None = None

    def new_worker(self, *given: Any, **told: Any) -> Worker:
        """Returns a worker of the generation, whose arguments these are."""
        return LazyWorker(*given, waker=self, **told)

    # --- asleep -----------------------------------------------------------------------------------------------

    def begin(self, env: Mapping[str, str]) -> bool:
        """Called before the start with this environment. Returns whether the generation sleeps instead."""
        generation = self._generation
        self._key = start_key(generation.found, env, self._version)
        if generation.state is not GenerationState.CURRENT:
            return False  # a reload looks at the new version itself
        if not self._key:
            generation.log.add("starts now: its files cannot be looked at, or are too many, to tell a change")
            return False
        self._kept = kept = self._file.read(self._key)
        if kept is None:
            generation.log.add("starts now: no registrations of a start with these files and this environment are kept")
            return False
        if generation.found.change:
            return False
        if kept.guards and not generation.found.kind.may_guard:
            generation.log.add("starts now: it is a guard, and no manifest of its own says that it may start late")
            return False
        registry = Registry(
            self._loop, find_dialect(generation.found.manifest.dialect), generation.notices.warn,
            generation.notices.remark,
        )  # fmt: skip
        generation.registry = kept.fill(registry)
        self._sleep(f"{counted(len(kept.tools), 'tool')} of its last start", kept.hello)
        return True

    def follow(self, before: object) -> None:
        """Falls asleep behind a generation that is then stopped, with its registrations."""
        assert isinstance(before, LazyStart), "only one that may sleep rests"
        self._before, self.has_run = before._generation, True
        self._key, self._kept = before._key, before._kept
        self._generation.registry = before._generation.registry
        self._generation.notices.take_over(before._generation.notices)
        for worker in before._workers:
            worker.is_resting = True
        self._sleep("it had nothing to do", before._generation.lead.said_hello)

    def _sleep(self, why: str, hello: frames.Hello | None) -> None:
        for worker in self._workers:
            worker.said_hello = hello
            worker.fall_asleep()
        self._generation.log.add(f"asleep: {why}; its process starts when it is needed")

    @property
    def _workers(self) -> list[LazyWorker]:
        return [worker for worker in self._generation.workers if isinstance(worker, LazyWorker)]

    # --- awake ------------------------------------------------------------------------------------------------

    def needed(self, worker: LazyWorker) -> None:
        """A request or event needs the process of this worker."""
        self._loop.call_later(0, partial(self._wake, worker))

    def go_on(self) -> None:
        """Called when a generation has ended: starts the processes that had to wait for that."""
        for worker in self._workers:
            if worker.has_waiting:
                self._wake(worker)

    def _wake(self, worker: LazyWorker, *, beside: bool = False) -> None:
        before = self._before
        if worker.state is not WorkerState.ASLEEP or self._is_over:
            return
        if before is not None and before.state is not GenerationState.GONE and not beside:
            return  # `go_on` follows
        found = self._generation.found
        change = found.lasting_change if self.has_run else found.change
        if change and found.seal is not None and not found.seal.lasts:
            change = f"{change.partition(';')[0]}; zot ext reload {found.manifest.name} checks it again"
        worker.wake()
        self._start(self._generation.slots[worker.index], change)

    def ready(self, worker: LazyWorker) -> None:
        """The process of this worker is ready."""
        self.registered(worker)
        manifest = self._generation.found.manifest
        idle_s = manifest.idle_stop_s if manifest.sessions != "leased" else None  # a run holds each of its processes
        if idle_s is not None and self._looking is None and not self._is_over:
            self._watch = IdleWatch(idle_s, self._loop.clock(), self._activity)
            self._looking = self._loop.call_later(self._watch.every_s, self._look)

    # --- keeping registrations --------------------------------------------------------------------------------

    def registered(self, worker: Worker) -> None:
        """The registrations of a worker may have changed. They are kept once they are complete."""
        is_whole = worker.state is WorkerState.READY and worker.readiness is not Readiness.LATE
        if is_whole and self._saving is None and self._key and not self._is_over:
            self._saving = self._loop.call_later(SAVE_AFTER_S, self._save)

    def _save(self) -> None:
        self._saving = None
        kept = Kept.of(self._generation.registry, self._generation.lead.said_hello)
        if kept != self._kept:
            self._kept = kept
            self._file.write(self._key, kept)

    # --- idle -------------------------------------------------------------------------------------------------

    @property
    def _activity(self) -> int:
        return self._generation.account.calls + sum(worker.requests.told for worker in self._generation.workers)

    def _look(self) -> None:
        self._looking = None
        awake = [worker for worker in self._workers if worker.state is not WorkerState.ASLEEP]
        if self._is_over or self._watch is None or not any(worker.state is WorkerState.READY for worker in awake):
            return  # `ready` follows if a worker starts
        is_busy = self._has_panel() or any(map(_is_busy, awake))
        if self._watch.is_idle(self._loop.clock(), self._activity, is_busy=is_busy) and self._may_rest():
            return
        self._looking = self._loop.call_later(self._watch.every_s, self._look)

    def _may_rest(self) -> bool:
        if self._generation.registry.guards and not self._generation.found.kind.may_guard:
            return False
        return self._rest()

    # --- end --------------------------------------------------------------------------------------------------

    def leave(self, reason: str) -> None:
        """The workers that sleep are not woken: requests that wait for them fail with this reason."""
        for worker in self._workers:
            worker.leave(reason)

    def end(self, reason: str, *, starts_needed: bool = False) -> None:
        """From now on no process is started. Requests that wait for one fail with this reason, or with `starts_needed`
        are still answered. A second call does nothing."""
        if self._is_over:
            return
        for worker in self._workers if starts_needed else ():
            if worker.requests.pending:
                self._wake(worker, beside=True)
        if self._saving is not None:
            self._saving.cancel()
            self._save()
        self._is_over = True
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        self.leave(reason)


def _is_busy(worker: Worker) -> bool:
    """Whether a worker is starting, stopping or down, or something of it is pending."""
    is_quiet = worker.state is WorkerState.READY and not worker.requests.pending and not worker.is_working
    return not is_quiet or worker.channel.host_calls.has_open
