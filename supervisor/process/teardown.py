"""Stops process trees: ask, SIGTERM the group, SIGKILL the whole tree. All trees at the same time.

`next_step` is the policy, pure; a `Teardown` carries it out, and `stop_all` waits for one. To stop a hundred stubborn
children takes as long as one.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Protocol

from supervisor.process.shared_table import SharedProcessTable
from supervisor.process.stop_policy import Patience, Stage, Step, next_step
from supervisor.process.table import send_signal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.child import Child
    from supervisor.process.table import Process, ProcessTable

POLL_S = 0.02
"""How often descendants that are not our children are looked at: only for them there is no exit notice."""


class Stoppable(Protocol):
    """What the termination of a child needs from its owner."""

    @property
    def child(self) -> Child | None: ...
    def ask_to_stop(self) -> None:
        """Says it in the child's own protocol."""
        ...

    def hint_to_stop(self) -> None:
        """Closes its input, unless it has said that it is about to exit."""
        ...


class _Case:
    def __init__(self, owner: Stoppable, child: Child, stage: Stage, now: float) -> None:
        self.owner = owner
        self.child = child
        self.stage = stage
        self.entered = now
        self.others: dict[int, Process] = {}

    @property
    def is_over(self) -> bool:
        return self.stage in (Stage.GONE, Stage.STUCK)


class Teardown:
    """Stops the children of its owners, with everything below them, while the loop goes on. `on_over` is called once,
    from the loop, when nothing of them is left or what is left could not be killed."""

    def __init__(
        self,
        loop: Loop,
        owners: Sequence[Stoppable],
        *,
        patience: Patience | None = None,
        first: Stage = Stage.ASKED,
        on_over: Callable[[], None] | None = None,
        adopted: Callable[[ProcessTable, Stoppable], Iterable[int]] | None = None,
        known: Mapping[Stoppable, Iterable[Process]] | None = None,
        shared_table: SharedProcessTable | None = None,
    ) -> None:
        """`first` is ASKED, or TERMINATED for SIGTERM at once, or KILLED for SIGKILL at once. `adopted` tells which
        processes elsewhere belong to an owner too, `known` which an earlier teardown had found. Signals wait for the
        next turn: the descendants are to be found before a signal scatters them, and one look then serves all that are
        to end."""
        self._loop = loop
        self._patience = patience or Patience()
        self._on_over = on_over
        self._adopted = adopted
        self._first = first
        self._timer: Timer | None = None
        self._shared_table = shared_table or SharedProcessTable(loop)
        self._looked_at = -1.0
        self._ended = 0
        self.is_over = False
        self._began_at = now = loop.clock()
        # Of many that are asked to stop in one turn, as after a reload of all, the first one looks for all of them.
        self._changed_at = loop.turn_time if shared_table is not None and first is Stage.ASKED else now
        self._cases = [_Case(owner, owner.child, first, now) for owner in owners if owner.child is not None]
        for case in self._cases:
            if known is not None:
                case.others = {process.identity.pid: process for process in known.get(case.owner, ())}
        if first is Stage.ASKED:
            self._look()
            self._begin()
        self._look_at(now)

    def _begin(self) -> None:
        for case in self._cases:
            if self._first is Stage.ASKED and case.child.is_running:
                case.owner.ask_to_stop()
            elif self._first is Stage.TERMINATED:
                _signal_tree(case, signal.SIGTERM)
            elif self._first is Stage.KILLED:
                _signal_tree(case, signal.SIGKILL)

    @property
    def stuck(self) -> list[Stoppable]:
        """Owners of what could not be killed."""
        return [case.owner for case in self._cases if case.stage is Stage.STUCK]

    def cancel(self) -> list[Process]:
        """Somebody else takes over; returns what is known to be left besides the children."""
        self._on_over = None
        if self._looked_at < 0:
            self._look()
            self._begin()
        self._finish()
        return [process for case in self._cases for process in case.others.values()]

    def hurry(self) -> bool:
        """Looks again soon if a child has ended since; returns `is_over`."""
        if not self.is_over and self._ended != (ended := self._count_ended()):
            self._ended = ended
            self._changed_at = self._loop.clock()
            if self._looked_at >= 0:
                self._look_at(self._looked_at + POLL_S)
        return self.is_over

    def _count_ended(self) -> int:
        return sum(not case.child.is_running for case in self._cases)

    def _tick(self) -> None:
        if not self._shared_table.can_serve(self._not_before()):  # somebody else has looked since this was planned
            self._look_at(self._loop.clock())
            return
        is_first = self._looked_at < 0
        can_look = self._look()
        if is_first:
            self._begin()
        now = self._loop.clock()
        if not can_look and now - self._began_at < self._patience.ask + self._patience.term + self._patience.kill:
            self._look_at(now + POLL_S)  # what cannot be seen is not gone
            return
        for case in self._cases:
            if not case.is_over:
                _advance(case, now, self._patience)
        self._ended = self._count_ended()
        left = [case for case in self._cases if not case.is_over]
        if not left:
            self._finish()
            return
        until = min(_next_change(case, self._patience) for case in left)
        if not all(case.child.is_running and not case.others for case in left):
            until = min(until, self._loop.clock() + POLL_S)
        self._look_at(until)

    def _look_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._shared_table.due(when), self._tick)

    def _finish(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.is_over = True
        if self._on_over is not None:
            self._on_over()

    def _not_before(self) -> float:
        """What was seen in this turn is new enough for all who look in it, however long it took to look."""
        return max(self._changed_at, min(self._loop.clock() - POLL_S / 2, self._loop.turn_time))

    def _nobody_is_left(self) -> bool:
        """Whether that is so, can mostly be known without a look: the children have ended alone."""
        alone = all(case.is_over or not (case.child.is_running or case.others) for case in self._cases)
        return alone and self._shared_table.has_no_orphans()

    def _look(self) -> bool:
        """Finds the descendants anew, and keeps those seen before that have not gone. False if it cannot look."""
        now = self._loop.clock()
        if self._nobody_is_left():
            self._looked_at = now
            return True
        table = self._shared_table.table(self._not_before())
        if table is None:
            return False
        for case in self._cases:
            if not case.is_over:
                _observe(case, table, () if self._adopted is None else self._adopted(table, case.owner))
        self._looked_at = now
        return True


def stop_all(
    loop: Loop,
    owners: Sequence[Stoppable],
    *,
    patience: Patience | None = None,
    at_once: bool = False,
    known: Mapping[Stoppable, Iterable[Process]] | None = None,
    shared_table: SharedProcessTable | None = None,
) -> list[Stoppable]:
    """Stops the children of all owners, with everything below them, and returns those that could not be killed.

    Takes `patience.ask + patience.term` at the longest, however many there are, or no time with `at_once`.
    """
    first = Stage.KILLED if at_once else Stage.ASKED
    teardown = Teardown(loop, owners, patience=patience, first=first, known=known, shared_table=shared_table)
    loop.run_until(teardown.hurry)
    return teardown.stuck


def _next_change(case: _Case, patience: Patience) -> float:
    lasts = {
        Stage.ASKED: patience.hint,
        Stage.HINTED: patience.ask - patience.hint,
        Stage.TERMINATED: patience.term,
        Stage.KILLED: patience.kill,
    }
    return case.entered + lasts[case.stage]


def _observe(case: _Case, table: ProcessTable, adopted: Iterable[int]) -> None:
    child = case.child
    roots = [*adopted, *(pid for pid, seen in case.others.items() if table.has(seen.identity))]
    if child.is_running:
        case.others = table.tree([child.pid, *roots], session=child.pid)
    else:
        # With the leader gone its number may serve another process by now, and then name that one's session.
        other = table.by_pid.get(child.pid)
        session = child.pid if other is None or other.identity == child.identity else None
        case.others = table.tree(roots, session=session)
    case.others.pop(child.pid, None)


def _advance(case: _Case, now: float, patience: Patience) -> None:
    step, stage = next_step(
        case.stage,
        since=now - case.entered,
        leader_lives=case.child.is_running,
        others_live=bool(case.others),
        patience=patience,
    )
    if stage is not case.stage:
        case.stage, case.entered = stage, now
    if step is Step.CLOSE_STDIN:
        case.owner.hint_to_stop()
    elif step is Step.TERMINATE:
        _signal_tree(case, signal.SIGTERM)
    elif step is Step.KILL:
        _signal_tree(case, signal.SIGKILL)


def _signal_tree(case: _Case, number: signal.Signals) -> None:
    """The group first and at once, so that nothing can fork away from it; then each one that is outside."""
    child = case.child
    in_group = child.pid if child.is_running else None
    child.kill_group(number)
    for process in case.others.values():
        if process.group != in_group:
            send_signal(process.identity, number)


def sweep(loop: Loop, *, patience: Patience | None = None) -> int:
    """Ends every process below the host that is not a child under its care, and returns how many there were.

    For a host that is a subreaper: what daemons its children started have come back to it by now. SIGTERM, then SIGKILL
    after `patience.term`.
    """
    patience = patience or Patience()
    seen: set[int] = set()
    started = loop.clock()
    killing = False
    shared_table = SharedProcessTable(loop)
    while True:
        since = loop.clock() - started
        table = shared_table.table(loop.clock())
        tree = {} if table is None else table.tree([os.getpid()])
        for pid in (os.getpid(), *loop.children):
            tree.pop(pid, None)
        if (not tree and table is not None) or since > patience.term + patience.kill:
            return len(seen)
        killing = killing or since >= patience.term
        for pid, process in tree.items():
            if killing or pid not in seen:
                send_signal(process.identity, signal.SIGKILL if killing else signal.SIGTERM)
        seen |= tree.keys()
        loop.run_until(_never, loop.clock() + POLL_S)


def _never() -> bool:
    return False
