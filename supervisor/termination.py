"""Stops process trees: ask, SIGTERM the group, SIGKILL the whole tree. All trees at the same time.

`next_step` is the policy, pure; `stop_all` carries it out. Stopping a hundred stubborn children takes as long as one.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from supervisor.processes import ProcessTable, send_signal

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from supervisor.child import Child
    from supervisor.loop import Loop
    from supervisor.processes import Process

POLL_S = 0.02
"""How often descendants that are not our children are looked at: only for them there is no exit notice."""


@dataclass(frozen=True)
class Patience:
    """Seconds between the steps."""

    hint: float = 0.2
    """From the request to stop until stdin is closed, for a program that knows only end of file."""
    ask: float = 2.0
    """From the request to stop until SIGTERM."""
    term: float = 1.0
    """From SIGTERM until SIGKILL."""
    kill: float = 2.0
    """From SIGKILL until it is given up; only a process stuck in the kernel gets there."""


class Stage(Enum):
    """How far the stopping of one tree has gone."""

    ASKED = "asked"
    HINTED = "hinted"
    TERMINATED = "terminated"
    KILLED = "killed"
    GONE = "gone"
    STUCK = "stuck"


class Step(Enum):
    """What to do now."""

    WAIT = "wait"
    CLOSE_STDIN = "close stdin"
    TERMINATE = "terminate"
    KILL = "kill"
    FINISH = "finish"
    GIVE_UP = "give up"


def next_step(
    stage: Stage, *, since: float, leader_lives: bool, others_live: bool, patience: Patience
) -> tuple[Step, Stage]:
    """What to do with a tree whose current stage began `since` seconds ago, and the stage that follows.

    A leader that has gone leaves nobody to ask: what it left behind is terminated at once.
    """
    if not leader_lives and not others_live:
        return Step.FINISH, Stage.GONE
    if stage is Stage.ASKED and leader_lives:
        return (Step.CLOSE_STDIN, Stage.HINTED) if since >= patience.hint else (Step.WAIT, stage)
    if stage is Stage.HINTED and leader_lives:
        over = since >= patience.ask - patience.hint
        return (Step.TERMINATE, Stage.TERMINATED) if over else (Step.WAIT, stage)
    if stage in (Stage.ASKED, Stage.HINTED):
        return Step.TERMINATE, Stage.TERMINATED
    if stage is Stage.TERMINATED:
        return (Step.KILL, Stage.KILLED) if since >= patience.term else (Step.WAIT, stage)
    if stage is Stage.KILLED:
        return (Step.GIVE_UP, Stage.STUCK) if since >= patience.kill else (Step.WAIT, stage)
    return Step.WAIT, stage


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


def stop_all(
    loop: Loop, owners: Sequence[Stoppable], *, patience: Patience | None = None, at_once: bool = False
) -> list[Stoppable]:
    """Stops the children of all owners, with everything below them, and returns those that could not be killed.

    Takes `patience.ask + patience.term` at the longest, however many there are, or no time with `at_once`.
    """
    patience = patience or Patience()
    now = loop.clock()
    first = Stage.TERMINATED if at_once else Stage.ASKED
    cases = [_Case(owner, owner.child, first, now) for owner in owners if owner.child is not None]
    _observe(loop, cases)
    for case in cases:
        if at_once:
            case.entered = now - patience.term
        elif case.child.is_running:
            case.owner.ask_to_stop()
    while True:
        open_cases = [case for case in cases if not case.is_over]
        for case in open_cases:
            _advance(case, loop.clock(), patience)
        open_cases = [case for case in open_cases if not case.is_over]
        if not open_cases:
            return [case.owner for case in cases if case.stage is Stage.STUCK]
        only_leaders = all(case.child.is_running and not case.others for case in open_cases)
        until = min(_next_change(case, patience) for case in open_cases)
        if not only_leaders:
            until = min(until, loop.clock() + POLL_S)
        loop.run_until(_AnyExit([case.child for case in open_cases if case.child.is_running]), until)
        _observe(loop, open_cases)


class _AnyExit:
    def __init__(self, children: list[Child]) -> None:
        self._children = children

    def __call__(self) -> bool:
        return any(not child.is_running for child in self._children)


def _next_change(case: _Case, patience: Patience) -> float:
    lasts = {
        Stage.ASKED: patience.hint,
        Stage.HINTED: patience.ask - patience.hint,
        Stage.TERMINATED: patience.term,
        Stage.KILLED: patience.kill,
    }
    return case.entered + lasts[case.stage]


def _observe(loop: Loop, cases: Collection[_Case]) -> None:
    """Finds the descendants anew, and keeps those seen before that have not gone."""
    table = ProcessTable.read()
    reap_adopted(loop, table)
    for case in cases:
        child = case.child
        roots = [pid for pid, seen in case.others.items() if table.has(seen.identity)]
        if child.is_running:
            case.others = table.tree([child.pid, *roots], session=child.pid)
        else:
            # With the leader gone its number may serve another process by now, and then name that one's session.
            session = None if child.pid in table.by_pid else child.pid
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
    while True:
        table = ProcessTable.read()
        reap_adopted(loop, table)
        tree = table.tree([os.getpid()])
        for pid in (os.getpid(), *loop.children):
            tree.pop(pid, None)
        since = loop.clock() - started
        if not tree or since > patience.term + patience.kill:
            return len(seen)
        killing = killing or since >= patience.term
        for pid, process in tree.items():
            if killing or pid not in seen:
                send_signal(process.identity, signal.SIGKILL if killing else signal.SIGTERM)
        seen |= tree.keys()
        loop.run_until(_never, loop.clock() + POLL_S)


def _never() -> bool:
    return False


def reap_adopted(loop: Loop, table: ProcessTable) -> None:
    """Collects orphans that came back to the host and have exited since, so that none stays a zombie."""
    for pid in table.children_of(os.getpid()):
        if table.by_pid[pid].is_zombie and pid not in loop.children:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
