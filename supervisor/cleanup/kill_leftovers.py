"""Finds and ends the processes that a dead host has left running.

The reaper imports this module, so on Linux it needs only the standard library.

A process belongs to a dead host in three cases: the host had told its reaper of the process, the process is in a cgroup
leaf of the host, or its environment has the host's token. Its descendants belong to the host too. So do all members of
its session, if the session's leader belongs to the host or is gone. Pids are reused, so every process is identified by
pid and start time. Some processes fork and exit in sessions of their own, faster than the process table can be read:
only a cgroup leaf holds them.
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
"""Seconds from SIGTERM until SIGKILL."""
LIMIT_S = 10.0
"""Seconds until the remaining processes are given up: they are stuck in the kernel, or we may not signal them."""
POLL_S = 0.02
CONFIRM_S = 0.03
CONFIRMATIONS = 4
"""Further reads of the process table that must find no process. A single read misses a process that is just being
forked or has not yet called exec."""
CROWD = 50
"""If more new processes than this appear after the first read, the tree does not end in order: SIGKILL at once."""


class HostMarks(NamedTuple):
    """The marks that identify the processes of a host."""

    token: str
    leaders: frozenset[Identity] = frozenset()
    """Children that the host had not yet waited for when it ended. Each child leads a session of its own."""
    others: frozenset[Identity] = frozenset()
    """Other processes that the host knew."""
    cgroup: str | None = None
    """The host's own folder in the cgroup hierarchy; its leaves are in this folder."""


class KillStage(Enum):
    TERMINATING = "terminating"
    KILLING = "killing"
    OVER = "over"
    GIVEN_UP = "given up"


class LeftoverKiller:
    """Ends the processes that bear a host's marks. `step` returns the seconds until its next call; None at the end."""

    def __init__(
        self, marks: HostMarks, clock: Callable[[], float], *, spared: Iterable[int] = (), term_s: float = TERM_S
    ) -> None:
        """`spared` pids are never signalled; neither are our own process and process 1."""
        self.stage = KillStage.TERMINATING
        self.seen: set[Identity] = set()
        """All processes that were found so far."""
        self.left: dict[int, Process] = {}
        """The processes that lived at the last read of the process table."""
        self._marks = marks
        self._clock = clock
        self._spared = frozenset((1, os.getpid(), *spared))
        self._started = clock()
        self._term_s = term_s
        self._examined: set[Identity] = set()
        self._first_count: int | None = None
        self._empty_reads = 0
        self._table = ProcessTable(())

    @property
    def is_over(self) -> bool:
        return self.stage in (KillStage.OVER, KillStage.GIVEN_UP)

    def step(self) -> float | None:
        """Finds and signals processes; returns the seconds until the next step."""
        fresh = self._find()
        if self._first_count is None:
            self._first_count = len(self.seen)
        since = self._clock() - self._started
        self.stage, delay = next_stage(
            self.stage,
            left=len(self.left),
            late=len(self.seen) - self._first_count,
            since=since,
            term_s=self._term_s,
            empty_reads=self._empty_reads,
        )
        if self.stage is KillStage.KILLING:
            self._kill()
        elif self.stage is KillStage.TERMINATING:
            for process in fresh:
                _signal(process.identity, signal.SIGTERM)
        return delay

    def kill_now(self) -> None:
        """Takes one more step, with SIGKILL for all that it finds."""
        if not self.is_over:
            self.stage = KillStage.KILLING
            self.step()

    def _find(self) -> list[Process]:
        """Reads the process table; returns the processes that were not found before."""
        table = ProcessTable.read()
        first = self._first_count is None
        marks = self._marks
        starts = {known.pid for known in (*marks.leaders, *marks.others, *self.seen) if table.has(known)}
        # A missing leader still lived when its host ended a moment ago, so its pid cannot be reused yet. Later reads
        # use the members that the first read has found.
        sessions = [leader.pid for leader in marks.leaders if leader.pid not in table.by_pid] if first else []
        for session in sessions:
            _kill_unseen_group(session, table)
        starts |= members(marks.cgroup)
        found = related(table, starts, sessions, self._spared)
        # An environment changes only with exec, so each is read once. If no process is found, all are read again.
        unknown = (process for process in table.by_pid.values() if not found or process.identity not in self._examined)
        bearing = {process.identity.pid for process in unknown if self._bears(process)}
        if bearing - found.keys():
            found = related(table, starts | bearing, sessions, self._spared)
        found |= self._newborn(table)
        self.left = found
        self._table = table
        self._empty_reads = 0 if found else self._empty_reads + 1
        fresh = [process for process in found.values() if process.identity not in self.seen]
        self.seen.update(process.identity for process in fresh)
        return fresh

    def _newborn(self, table: ProcessTable) -> dict[int, Process]:
        """Finds marked processes that started during the read of the table: the read takes milliseconds, and some
        processes live for less."""
        found = {}
        for pid in _pids() - table.by_pid.keys() - self._spared:
            process = read_process(pid)
            if process is not None and self._bears(process):
                found[pid] = process
        return found

    def _bears(self, process: Process) -> bool:
        environment = b"" if process.is_zombie else environment_of(process.identity.pid)
        # The environment is empty while a program is being loaded.
        if environment:
            self._examined.add(process.identity)
        return bears_token(environment, self._marks.token)

    def _kill(self) -> None:
        """Kills whole cgroups and whole groups first: even a process that forks fast cannot leave them."""
        kill_leaves(self._marks.cgroup)
        for group in groups_of(self.left, self._table):
            try:
                os.killpg(group, signal.SIGKILL)
            except OSError:
                pass
        for process in self.left.values():
            _signal(process.identity, signal.SIGKILL)


def next_stage(
    stage: KillStage, *, left: int, late: int, since: float, term_s: float, empty_reads: int
) -> tuple[KillStage, float | None]:
    """Returns the next stage, and the seconds until the next step. `late` counts processes that the first read missed.
    Pure."""
    if stage in (KillStage.OVER, KillStage.GIVEN_UP):
        return stage, None
    if not left:
        return (KillStage.OVER, None) if empty_reads >= CONFIRMATIONS else (stage, CONFIRM_S)
    if since >= LIMIT_S:
        return KillStage.GIVEN_UP, None
    if stage is KillStage.KILLING or since >= term_s or late > CROWD:
        return KillStage.KILLING, POLL_S
    return stage, POLL_S


def related(
    table: ProcessTable, starts: Iterable[int], sessions: Iterable[int], spared: Collection[int]
) -> dict[int, Process]:
    """Returns the living processes among the starts, the members of the sessions, and all that belong to them.

    The session of a found process belongs to it if the session's leader is found too or is gone: a session's number is
    not reused while the session has members.
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
        # 0 means a session outside of this pid namespace.
        if member.session and (member.session in found or member.session not in table.by_pid):
            todo += by_session.pop(member.session, ())
    return {pid: process for pid, process in found.items() if not process.is_zombie}


def groups_of(found: dict[int, Process], table: ProcessTable) -> set[int]:
    """Returns the process groups in which every process is found. By session: a group is always within one.

    A group's number is not reused while the group has members. For a reuse between the read of the table and the
    signal, all pids would have to be used up in a few milliseconds.
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
    """Kills the group of a missing leader if the table shows no members: some may live for less than a read takes."""
    if all(process.group != leader for process in table.by_pid.values()):
        try:
            os.killpg(leader, signal.SIGKILL)
        except OSError:
            pass  # usually there is no such group


def _signal(target: Identity, number: signal.Signals) -> None:
    try:
        send_signal(target, number)
    except OSError:
        pass  # the process belongs to another user by now
