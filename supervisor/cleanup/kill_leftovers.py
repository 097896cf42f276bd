"""Finds and ends what a host that is gone has left running.

The watchdog process uses it as well, so on Linux it needs the standard library only.

A process belongs to a host that is gone if it was noted by that host, if it is in one of its cgroup leaves, or if its
environment has the host's token; and with it all that descends from it, and all in a session that one of these leads or
whose leader is gone. Pids are reused, so whatever is signalled is known by pid and start time. What forks and exits in
sessions of its own, faster than it can be looked at, only a cgroup leaf can hold.
"""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from supervisor.cleanup.env_marks import bears_token, environment_of
from supervisor.process.cgroup_files import kill_leaves, members
from supervisor.process.table import ON_LINUX, Identity, ProcessTable, read_process, send_signal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from supervisor.process.table import Process


TERM_S = 1.0
"""From SIGTERM until SIGKILL."""
LIMIT_S = 10.0
"""After so long what is left is given up: it is stuck in the kernel, or may not be signalled by us."""
POLL_S = 0.02
CONFIRM_S = 0.03
CONFIRMATIONS = 4
"""A process that is just being forked, or has not yet called exec, escapes one look."""
CROWD = 50
"""So many that were not there at the first look are no orderly end: SIGKILL at once."""


class HostMarks(NamedTuple):
    """By what the processes of a host are known."""

    token: str
    leaders: frozenset[Identity] = frozenset()
    """Children of the host, each in a session of its own, that it had not yet waited for when it ended."""
    others: frozenset[Identity] = frozenset()
    """What the host knew of besides."""
    cgroup: str | None = None
    """The host's own folder in the cgroup hierarchy; its leaves are below."""


class Stage(Enum):
    TERMINATING = "terminating"
    KILLING = "killing"
    OVER = "over"
    GIVEN_UP = "given up"


class LeftoverKiller:
    """Ends what belongs to a trail. Call `step` again after as many seconds as it says, until it says None."""

    def __init__(
        self, trail: HostMarks, clock: Callable[[], float], *, spared: Iterable[int] = (), term_s: float = TERM_S
    ) -> None:
        """`spared` pids are left alone, whatever their environment; so are we, and process 1."""
        self.stage = Stage.TERMINATING
        self.seen: set[Identity] = set()
        """All that were found so far."""
        self.left: dict[int, Process] = {}
        """Those that the last look found alive."""
        self._trail = trail
        self._clock = clock
        self._spared = frozenset((1, os.getpid(), *spared))
        self._started = clock()
        self._term_s = term_s
        self._examined: set[Identity] = set()
        self._first_count: int | None = None
        self._empty_looks = 0
        self._table = ProcessTable(())

    @property
    def is_over(self) -> bool:
        return self.stage in (Stage.OVER, Stage.GIVEN_UP)

    def step(self) -> float | None:
        """Looks and signals, and returns when to look again."""
        fresh = self._look()
        if self._first_count is None:
            self._first_count = len(self.seen)
        since = self._clock() - self._started
        self.stage, delay = next_stage(
            self.stage,
            left=len(self.left),
            late=len(self.seen) - self._first_count,
            since=since,
            term_s=self._term_s,
            empty_looks=self._empty_looks,
        )
        if self.stage is Stage.KILLING:
            self._kill()
        elif self.stage is Stage.TERMINATING:
            for process in fresh:
                _signal(process.identity, signal.SIGTERM)
        return delay

    def kill_now(self) -> None:
        """No more patience; with one more look."""
        if not self.is_over:
            self.stage = Stage.KILLING
            self.step()

    def _look(self) -> list[Process]:
        """Returns those that were not known before."""
        table = ProcessTable.read()
        first = self._first_count is None
        trail = self._trail
        starts = {one.pid for one in (*trail.leaders, *trail.others, *self.seen) if table.has(one)}
        # A leader that is gone had its number when its host ended, a moment ago: nobody else can have it yet. Later
        # looks go by the members that the first one has found.
        sessions = [one.pid for one in trail.leaders if one.pid not in table.by_pid] if first else []
        for session in sessions:
            _kill_unseen_group(session, table)
        starts |= members(trail.cgroup)
        found = related(table, starts, sessions, self._spared)
        # Environments change with exec only, so those that were looked at are not looked at again, but for the last.
        unknown = (one for one in table.by_pid.values() if not found or one.identity not in self._examined)
        bearing = {one.identity.pid for one in unknown if self._bears(one)}
        if bearing - found.keys():
            found = related(table, starts | bearing, sessions, self._spared)
        found |= self._newborn(table)
        self.left = found
        self._table = table
        self._empty_looks = 0 if found else self._empty_looks + 1
        fresh = [process for process in found.values() if process.identity not in self.seen]
        self.seen.update(process.identity for process in fresh)
        return fresh

    def _newborn(self, table: ProcessTable) -> dict[int, Process]:
        """Those that came while the table was read, which takes some milliseconds: some live for less."""
        found = {}
        for pid in _pids() - table.by_pid.keys() - self._spared:
            process = read_process(pid)
            if process is not None and self._bears(process):
                found[pid] = process
        return found

    def _bears(self, process: Process) -> bool:
        environment = b"" if process.is_zombie else environment_of(process.identity.pid)
        # It is empty while a program is being loaded.
        if environment:
            self._examined.add(process.identity)
        return bears_token(environment, self._trail.token)

    def _kill(self) -> None:
        """Whole cgroups and whole groups first: what forks faster than it is found cannot leave those between."""
        kill_leaves(self._trail.cgroup)
        for group in groups_of(self.left, self._table):
            try:
                os.killpg(group, signal.SIGKILL)
            except OSError:
                pass
        for process in self.left.values():
            _signal(process.identity, signal.SIGKILL)


def next_stage(
    stage: Stage, *, left: int, late: int, since: float, term_s: float, empty_looks: int
) -> tuple[Stage, float | None]:
    """What comes next, and after how many seconds to look again. `late` are those that the first look did not find."""
    if stage in (Stage.OVER, Stage.GIVEN_UP):
        return stage, None
    if not left:
        return (Stage.OVER, None) if empty_looks >= CONFIRMATIONS else (stage, CONFIRM_S)
    if since >= LIMIT_S:
        return Stage.GIVEN_UP, None
    if stage is Stage.KILLING or since >= term_s or late > CROWD:
        return Stage.KILLING, POLL_S
    return stage, POLL_S


def related(
    table: ProcessTable, starts: Iterable[int], sessions: Iterable[int], spared: Collection[int]
) -> dict[int, Process]:
    """The living among the starts and the members of these sessions, and those that belong to them.

    A session belongs to a process if its leader does, or has gone: its number cannot be reused while anyone is in it.
    """
    by_session: defaultdict[int, list[int]] = defaultdict(list)
    for pid, process in table.by_pid.items():
        by_session[process.session].append(pid)
    found: dict[int, Process] = {}
    todo = [*starts, *(pid for session in sessions for pid in by_session[session])]
    while todo:
        pid = todo.pop()
        member = table.by_pid.get(pid)
        if member is None or pid in found or pid in spared:
            continue
        found[pid] = member
        todo += table.children_of(pid)
        # 0 stands for a session outside of this pid namespace.
        if member.session and (member.session in found or member.session not in table.by_pid):
            todo += by_session.pop(member.session, ())
    return {pid: process for pid, process in found.items() if not process.is_zombie}


def groups_of(found: dict[int, Process], table: ProcessTable) -> set[int]:
    """The process groups of which all members are found, by their sessions: a group is always within one session.

    A group's number is not reused while anyone is in it. That it might be between the look at the table and the signal
    would take a whole round of pids in a few milliseconds.
    """
    groups = set()
    for process in found.values():
        leader = table.by_pid.get(process.group)
        is_own_session = process.session in found or process.session not in table.by_pid
        if process.session and is_own_session and (leader is None or leader.session == process.session):
            groups.add(process.group)
    return groups - {0, 1, os.getpgrp()}


def _pids() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()} if ON_LINUX else set()


def _kill_unseen_group(leader: int, table: ProcessTable) -> None:
    """The group of a leader that is gone, if it has members that none of our looks can catch: they live for less time
    than reading the table takes."""
    if all(process.group != leader for process in table.by_pid.values()):
        try:
            os.killpg(leader, signal.SIGKILL)
        except OSError:
            pass  # mostly: there is no such group


def _signal(target: Identity, number: signal.Signals) -> None:
    try:
        send_signal(target, number)
    except OSError:
        pass  # another user's by now: not ours to end
