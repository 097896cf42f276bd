"""One of an extension's workers, and what is to become of it: it is ended with all that it left, and replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.extension.restart import History
from supervisor.process.stop_policy import Stage
from supervisor.process.teardown import Teardown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.shared_table import SharedProcessTable
    from supervisor.process.table import Process, ProcessTable
    from supervisor.process.teardown import Stoppable


class WorkerSlot:
    """`on_free` is called when it is due to be filled and nothing of the last process is left, `on_cleared` when all of
    a process has gone, with whether any of it could not be killed."""

    def __init__(
        self,
        loop: Loop,
        worker: Worker,
        shared_table: SharedProcessTable,
        *,
        on_free: Callable[[WorkerSlot], None],
        on_cleared: Callable[[Worker, bool], None],
        adopted: Callable[[ProcessTable, Stoppable], Iterable[int]],
    ) -> None:
        self.worker = worker
        self.history = History()
        self.starts = 0
        self.mark = ""
        """In the environment of its present process and of all that this one starts: which start they belong to."""
        self._loop = loop
        self._shared_table = shared_table
        self._on_free = on_free
        self._on_cleared = on_cleared
        self._adopted = adopted
        self._due: float | None = None
        self._timer: Timer | None = None
        self._teardown: Teardown | None = None
        self._is_stuck = False

    def clear(self, first: Stage) -> None:
        """Ends the worker, and what it has left, from this stage on."""
        self._teardown = Teardown(
            self._loop,
            [self.worker],
            first=first,
            on_over=self._cleared,
            adopted=self._adopted,
            shared_table=self._shared_table,
        )

    def _cleared(self) -> None:
        assert self._teardown is not None
        self._is_stuck = bool(self._teardown.stuck)
        self._teardown = None
        self._on_cleared(self.worker, self._is_stuck)
        self._fill()

    @property
    def is_clearing(self) -> bool:
        return self._teardown is not None

    @property
    def is_empty(self) -> bool:
        """Nothing of its worker is left, or what is left cannot be killed."""
        return self._teardown is None and (self._is_stuck or not self.worker.is_running)

    def hurry(self) -> None:
        """Its process has ended: see whether that was all."""
        if self._teardown is not None:
            self._teardown.hurry()

    def fill_later(self, delay_s: float) -> None:
        """Another worker is to take this place, but not before the last one has been cleared away."""
        self._cancel_timer()
        self._due = self._loop.clock() + delay_s
        self._timer = self._loop.call_at(self._due, self._fill)

    def renew(self) -> None:
        """Whatever had become of it: the worker is ended in order, and another one takes its place."""
        self.history = History()
        self.fill_later(0.0)
        if self._teardown is None and self.worker.is_running:
            self.clear(Stage.ASKED)

    def _fill(self) -> None:
        if self._due is not None and self._teardown is None and self._loop.clock() >= self._due:
            self.forgo()
            self._on_free(self)

    def forgo(self) -> None:
        """It is not filled again. What is being cleared away goes on being so."""
        self._cancel_timer()
        self._due = None

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def retire(self) -> list[Process]:
        """It is not filled again, and somebody else ends its worker; returns what is known to be left of that besides
        the process itself."""
        self.forgo()
        teardown, self._teardown = self._teardown, None
        return [] if teardown is None else teardown.cancel()
