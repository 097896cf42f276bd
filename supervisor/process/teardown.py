"""Stops process trees: ask, SIGTERM to the group, SIGKILL to the whole tree. All trees at the same time.

`next_step` is the policy (pure). A `Teardown` carries it out, and `stop_all` waits for a teardown. A hundred stubborn
children take as long as one.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Protocol

from supervisor.process.shared_table import SharedProcessTable
from supervisor.process.stop_policy import Patience, StopStage, StopStep, next_step
from supervisor.process.table import is_alive, send_signal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.table import Identity, Process, ProcessTable

POLL_S = 0.02
"""Seconds between two reads of the process table while descendants live: the kernel reports only the exits of our own
children."""


class StoppableProcess(Protocol):
    """A child, as a teardown needs it: a program that was started, or a fork of a template."""

    pid: int

    @property
    def identity(self) -> Identity: ...
    @property
    def is_running(self) -> bool: ...
    def kill_group(self, number: signal.Signals) -> None: ...


class Stoppable(Protocol):
    """The owner of a child, as a teardown needs it."""

    @property
    def child(self) -> StoppableProcess | None: ...
    def ask_to_stop(self) -> None:
        """Asks the child in its own protocol."""
        ...

    def hint_to_stop(self) -> None:
        """Closes the child's input, unless the child has said that it is about to exit."""
        ...


class _Target:
    """A child and the descendants that were found so far."""

    def __init__(
        self,
        owner: Stoppable,
        child: StoppableProcess,
        stage: StopStage,
        now: float,
        known: Iterable[Process],
        patience: Patience,
    ) -> None:
        self.owner = owner
        self.patience = patience
        self.child = child
        self.stage = stage
        self.reached = stage
        """The stage in which the child itself has ended; later stages are for its descendants only."""
        self.entered = now
        self._is_zombie = False
        """The child has ended, and the loop has not collected its exit yet."""
        self.others = {process.identity.pid: process for process in known}

    @property
    def is_over(self) -> bool:
        return self.stage in (StopStage.GONE, StopStage.STUCK)

    @property
    def is_gone(self) -> bool:
        """The child and its known descendants have ended."""
        return not self.child.is_running and not any(is_alive(process.identity) for process in self.others.values())

    def begin(self) -> None:
        if self.stage is StopStage.TERMINATED:
            self._signal_tree(signal.SIGTERM)
        elif self.stage is StopStage.KILLED:
            self._signal_tree(signal.SIGKILL)
        elif self.child.is_running:
            self.owner.ask_to_stop()

    def observe(self, table: ProcessTable, adopted: Iterable[int]) -> None:
        child = self.child
        leader = table.by_pid.get(child.pid)
        self._is_zombie = leader is not None and leader.identity == child.identity and leader.is_zombie
        roots = [*adopted, *(pid for pid, seen in self.others.items() if table.has(seen.identity))]
        if child.is_running:
            self.others = table.tree([child.pid, *roots], session=child.pid)
        else:
            # Once the leader is gone, another process may have its pid and lead a session of that number.
            session = child.pid if leader is None or leader.identity == child.identity else None
            self.others = table.tree(roots, session=session)
        self.others.pop(child.pid, None)

    def advance(self, now: float) -> None:
        step, stage = next_step(
            self.stage,
            since=now - self.entered,
            leader_lives=self.child.is_running,
            others_live=bool(self.others),
            patience=self.patience,
        )
        if step is StopStep.GIVE_UP and self.child.is_running and self._is_zombie:
            return  # the host itself was stopped for a while
        if self.child.is_running:
            self.reached = stage
        if stage is not self.stage:
            self.stage, self.entered = stage, now
        if step is StopStep.CLOSE_STDIN:
            self.owner.hint_to_stop()
        elif step is StopStep.TERMINATE:
            self._signal_tree(signal.SIGTERM)
        elif step is StopStep.KILL:
            self._signal_tree(signal.SIGKILL)

    def _signal_tree(self, number: signal.Signals) -> None:
        """Signals the whole group at once, so that no process can fork away from the signal; then each process outside
        the group."""
        in_group = self.child.pid if self.child.is_running else None
        self.child.kill_group(number)
        for process in self.others.values():
            if process.group != in_group:
                send_signal(process.identity, number)


class Teardown:
    """Stops the children of its owners, with all their descendants, while the loop goes on. `on_over` is called once,
    from the loop, when no process is left or the rest could not be killed."""

    def __init__(
        self,
        loop: Loop,
        owners: Sequence[Stoppable],
        *,
        patience: Patience | None = None,
        first: StopStage = StopStage.ASKED,
        on_over: Callable[[], None] | None = None,
        adopted: Callable[[ProcessTable, Stoppable], Iterable[int]] | None = None,
        known: Mapping[Stoppable, Iterable[Process]] | None = None,
        patience_with: Mapping[Stoppable, Patience] | None = None,
        shared_table: SharedProcessTable | None = None,
    ) -> None:
        """`first` is ASKED, TERMINATED (begin with SIGTERM) or KILLED (begin with SIGKILL). `adopted` returns the
        orphans that belong to an owner. `known` has the processes that an earlier teardown found; `patience_with` has
        the owners whose patience is not `patience`. Signals wait for the next pass of the loop: descendants must be
        found before a signal scatters them, and one read of the table then serves all teardowns of this pass."""
        self._loop = loop
        self._on_over = on_over
        self._adopted = adopted
        self._timer: Timer | None = None
        self._shared_table = shared_table or SharedProcessTable(loop)
        self._observed_at = -1.0
        self._exits = 0
        self.is_over = False
        self._began_at = now = loop.clock()
        # When many workers are asked to stop in one pass, as in a reload of all, one read of the table serves all of
        # them.
        self._changed_at = loop.pass_time if shared_table is not None and first is StopStage.ASKED else now
        known, patience, patience_with = known or {}, patience or Patience(), patience_with or {}
        self._targets = [
            _Target(owner, owner.child, first, now, known.get(owner, ()), patience_with.get(owner, patience))
            for owner in owners
            if owner.child is not None
        ]
        self._longest_s = max((target.patience.in_all for target in self._targets), default=0.0)
        if first is StopStage.ASKED:
            self._observe()
            self._begin()
        self._tick_at(now)

    def _begin(self) -> None:
        for target in self._targets:
            target.begin()
            target.entered = self._loop.clock()  # a slow read of the table before the signal does not count

    @property
    def stuck(self) -> list[Stoppable]:
        """The owners whose processes could not be killed."""
        return [target.owner for target in self._targets if target.stage is StopStage.STUCK]

    def reached(self, owner: Stoppable) -> StopStage:
        """Returns the stage in which the child of this owner ended."""
        return next(target.reached for target in self._targets if target.owner is owner)

    def cancel(self) -> list[Process]:
        """Ends this teardown, so that another one can take over. Returns the descendants that are known to live."""
        self._on_over = None
        if self._observed_at < 0:
            self._observe()
            self._begin()
        self._finish()
        return [process for target in self._targets for process in target.others.values()]

    def hurry(self) -> bool:
        """Observes again soon if a child has ended since the last call. Returns `is_over`."""
        if not self.is_over and self._exits != (exits := self._count_exits()):
            self._exits = exits
            self._changed_at = self._loop.clock()
            if self._observed_at >= 0:
                self._tick_at(self._changed_at if self._is_all_gone() else self._observed_at + POLL_S)
        return self.is_over

    def _count_exits(self) -> int:
        return sum(not target.child.is_running for target in self._targets)

    def _tick(self) -> None:
        if self._exits != self._count_exits():  # what it knows of their descendants is older than their ends
            self._exits, self._changed_at = self._count_exits(), self._loop.clock()
        if not self._is_all_gone() and not self._shared_table.can_serve(self._not_before()):
            self._tick_at(self._shared_table.due(self._loop.clock()))  # another teardown has just read the table
            return
        is_first = self._observed_at < 0
        can_observe = self._observe()
        if is_first:
            self._begin()
        now = self._loop.clock()
        if not can_observe and now - self._began_at < self._longest_s:
            self._tick_at(now + POLL_S)  # while the table cannot be read, no process counts as gone
            return
        for target in self._targets:
            if not target.is_over:
                target.advance(now)
        self._exits = self._count_exits()
        left = [target for target in self._targets if not target.is_over]
        if not left:
            self._finish()
            return
        until = min(target.entered + target.patience.lasts(target.stage) for target in left)
        if not all(target.child.is_running and not target.others for target in left):
            until = min(until, self._loop.clock() + POLL_S)
        self._tick_at(until if until > now else now + POLL_S)

    def _tick_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._tick)

    def _finish(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.is_over = True
        if self._on_over is not None:
            self._on_over()

    def _not_before(self) -> float:
        """The time before which a read of the table is too old. A read in this pass is new enough, even a slow one."""
        return max(self._changed_at, min(self._loop.clock() - POLL_S / 2, self._loop.pass_time))

    def _is_all_gone(self) -> bool:
        """Whether all children have ended and left no orphans, as far as that is known without a read of the whole
        process table; else False."""
        is_gone = all(target.is_over or target.is_gone for target in self._targets)
        return is_gone and self._shared_table.has_no_orphans()

    def _is_each_alone(self) -> bool:
        """Whether all children live, without descendants, as far as that is known without a read of the whole process
        table; else False."""
        if any(target.others or not target.child.is_running for target in self._targets):
            return False
        return self._shared_table.has_only(target.child.pid for target in self._targets)

    def _observe(self) -> bool:
        """Updates the known descendants: adds new ones, removes ended ones. False if the table cannot be read."""
        now = self._loop.clock()
        if self._observed_at >= self._not_before():
            return True
        if self._is_all_gone() or (self._observed_at < 0 and self._is_each_alone()):
            for target in self._targets:
                if not target.is_over:
                    target.others = {}
            self._observed_at = now
            return True
        table = self._shared_table.table(self._not_before())
        if table is None:
            return False
        for target in self._targets:
            if not target.is_over:
                target.observe(table, () if self._adopted is None else self._adopted(table, target.owner))
        self._observed_at = now
        return True


def stop_all(
    loop: Loop,
    owners: Sequence[Stoppable],
    *,
    patience: Patience | None = None,
    at_once: bool = False,
    known: Mapping[Stoppable, Iterable[Process]] | None = None,
    patience_with: Mapping[Stoppable, Patience] | None = None,
    shared_table: SharedProcessTable | None = None,
) -> list[Stoppable]:
    """Stops the children of all owners, with all their descendants, and returns the owners whose processes could not be
    killed.

    SIGKILL comes after at most `ask + term` seconds of the longest patience, for any number of owners, or `at_once`.
    """
    first = StopStage.KILLED if at_once else StopStage.ASKED
    teardown = Teardown(
        loop,
        owners,
        patience=patience,
        first=first,
        known=known,
        patience_with=patience_with,
        shared_table=shared_table,
    )
    loop.run_until(teardown.hurry)
    return teardown.stuck


def end_descendants(
    loop: Loop, *, patience: Patience | None = None, shared_table: SharedProcessTable | None = None
) -> int:
    """Ends every descendant of the host that is not one of `loop.children`, nor below one of `loop.outliving`, and
    returns how many there were.

    The host must be a subreaper: then daemons that its children started are its own children by now. Sends SIGTERM, and
    SIGKILL after `patience.term` seconds.
    """
    patience = patience or Patience()
    seen: set[int] = set()
    started = loop.clock()
    shared_table = shared_table or SharedProcessTable(loop)
    if shared_table.has_only(loop.children):
        return 0
    while True:
        since = loop.clock() - started
        table = shared_table.table(loop.clock())
        tree = {} if table is None else table.tree([os.getpid()])
        below = {} if table is None else table.tree(loop.outliving)
        for pid in (os.getpid(), *loop.children, *below):
            tree.pop(pid, None)
        if (not tree and table is not None) or since > patience.term + patience.kill:
            return len(seen)
        is_killing = since >= patience.term
        for pid, process in tree.items():
            if is_killing or pid not in seen:
                send_signal(process.identity, signal.SIGKILL if is_killing else signal.SIGTERM)
        seen |= tree.keys()
        loop.run_until(lambda: False, loop.clock() + POLL_S)
