"""The parent's handle of one fork of a template, as `supervisor.process.child.Child` is of a program.

The template is the fork's parent and collects it. If the template dies, the fork goes on as a child of the nearest
subreaper: of this process, if it is one, which then collects the fork itself.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import struct
from enum import Enum
from typing import TYPE_CHECKING

from supervisor.loop.pipes import PipeReader, PipeWriter
from supervisor.process.child import OUTBOX_LIMIT, PORTABLE_EXIT_POLL_S, RSS_SLACK, ExitStatus, SpawnError
from supervisor.process.table import Identity, peak_rss, read_process
from supervisor.template import memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.loop.loop import Loop
    from supervisor.template.protocol import Ready

NO_PID = 1 << 30
"""The pid of a fork that is not known yet: larger than any."""
UNKNOWN_CODE = 255
"""Stands for an unknown exit status of a fork: its template was killed right after it had collected the fork, or this
process is not a subreaper; the kernel is then older than Linux 6.15."""
PIDFD_SIGNAL_PROCESS_GROUP = 1 << 2
"""Since Linux 6.9: the kernel finds the group by the descriptor, so it never signals a later group of that number."""
_INFO = struct.Struct("QQ11Ii")
"""`struct pidfd_info` of Linux 6.13: mask, cgroup, eleven ids, exit status."""
_INFO_EXIT = 1 << 3
_GET_INFO = 3 << 30 | _INFO.size << 16 | 0xFF << 8 | 11


class ForkState(Enum):
    WAITING = "waiting"
    """The request has not been sent."""
    ASKED = "asked"
    RUNNING = "running"
    ORPHANED = "orphaned"
    """It runs, and its template has gone."""
    ENDED = "ended"
    FAILED = "failed"
    """Its function was never called."""


class ForkedChild:
    """One fork. Either `on_exit` is called once, after all output is delivered, or `on_failed`: then the fork's
    function was never called. Both are called from the loop."""

    def __init__(
        self,
        loop: Loop,
        *,
        on_stdout: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None] | None,
        on_exit: Callable[[ExitStatus], None],
        on_failed: Callable[[SpawnError], None],
        on_mute: Callable[[], None] | None,
        stdin: bool,
        stderr: int | None,
        links: Sequence[int],
        outbox_limit: int = OUTBOX_LIMIT,
    ) -> None:
        """Called by a `Template`: its `fork` explains the arguments. Raises OSError without descriptors."""
        self._loop = loop
        self._on_exit = on_exit
        self._on_failed = on_failed
        self.state = ForkState.WAITING
        self.exit: ExitStatus | None = None
        self.pid = NO_PID
        """The pid, which is also the id of the fork's session and process group; `NO_PID` before the fork has begun."""
        self._pidfd = -1
        self._identity: Identity | None = None
        self._kills: list[signal.Signals] = []
        """Signals to deliver once the fork has begun."""
        self._error: SpawnError | None = None
        self._template: Ready | None = None
        self._take_replies: Callable[[], None] = _nothing
        opened: list[int] = []
        try:
            to_fork = from_fork = errors = -1
            if stdin:
                child_in, to_fork = _pipe(opened)
            else:
                child_in = _track(opened, os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
            from_fork, child_out = _pipe(opened)
            if on_stderr is not None:
                errors, child_err = _pipe(opened)
            else:
                child_err = _track(opened, os.dup(child_out if stderr is None else stderr))
            self.fds = [child_in, child_out, child_err, *(_track(opened, os.dup(fd)) for fd in links)]
            """The fork's descriptors, until they are sent."""
        except OSError:
            for fd in opened:
                os.close(fd)
            raise
        self.stdin = PipeWriter(loop, to_fork, outbox_limit) if stdin else None
        self.stdout = PipeReader(loop, from_fork, on_stdout, on_mute or _nothing)
        self.stderr = PipeReader(loop, errors, on_stderr, _nothing) if on_stderr is not None else None

    @property
    def is_running(self) -> bool:
        """Whether the fork runs or may still come to run."""
        return self.state not in (ForkState.ENDED, ForkState.FAILED)

    @property
    def identity(self) -> Identity:
        """The pid and start time. The start time is 0 before the fork has begun, and after its exit unless this was
        read before. The first call reads /proc, in 0.02 ms."""
        if self._identity is None:
            found = read_process(self.pid) if self._pidfd >= 0 and not self.has_ended() else None
            if found is None or self.has_ended():
                return Identity(self.pid, 0)
            self._identity = found.identity
        return self._identity

    def send(self, data: bytes) -> bool:
        """Queues data for the fork's input, also before it has begun. Returns False if the input is closed, or if the
        outbox is full because the fork does not read."""
        return self.stdin is not None and self.stdin.send(data)

    def kill_group(self, number: signal.Signals) -> None:
        """Signals the fork's process group. Before the fork has begun, the signal waits for that; if the request was
        not sent yet, the fork counts as ended by the signal. Does nothing once the fork has ended."""
        if self.state in (ForkState.WAITING, ForkState.ASKED):
            self._kills.append(number)
            if self.state is ForkState.WAITING:
                self._loop.call_later(0, self._withdraw)
        elif self.is_running:
            self._signal(number)

    def _withdraw(self) -> None:
        if self.state is ForkState.WAITING:
            self._end(ExitStatus(-self._kills[0], 0.0, 0))

    def _signal(self, number: signal.Signals) -> None:
        if self._pidfd >= 0:
            try:
                signal.pidfd_send_signal(self._pidfd, number, None, PIDFD_SIGNAL_PROCESS_GROUP)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    return
            else:
                return
        if not self.collect() and not self.has_ended():  # before Linux 6.9, or there was no descriptor left
            try:
                os.killpg(self.pid, number)
            except (ProcessLookupError, PermissionError):
                pass

    def has_ended(self) -> bool:
        """Whether the process has ended, also if that is not yet reported."""
        if self._pidfd < 0:
            return False
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(0))

    def collect(self) -> bool:
        """Returns whether the fork has ended, and records that it has. The loop calls this method; other callers may
        call it at any time."""
        if self.state is ForkState.ORPHANED:
            self._collect_orphan()
        elif self.is_running:
            self._take_replies()
        return not self.is_running

    # --- memory ---------------------------------------------------------------------------------------------

    def uss(self) -> int | None:
        """Bytes that only this fork has, without its own children. Takes about 0.5 ms. None if it does not run."""
        return memory.uss(self.pid)

    def grown(self) -> int:
        """Bytes by which the fork has grown since its start: a cheap sign (0.01 ms) of when to call `uss`. Leaves out
        pages of the template that the fork has overwritten: these are at most `shared_with_template`."""
        return max(0, memory.anonymous(self.pid) - self.shared_with_template())

    def shared_with_template(self) -> int:
        """Bytes that the fork had in common with its template at the start, and may overwrite. 0 before it began."""
        return 0 if self._template is None else self._template.anonymous

    def peak_rss(self) -> int:
        """Peak memory of the fork in bytes while it lives, without its own children, with the pages that it shares with
        the template."""
        return peak_rss(self.pid)

    # --- calls of the connection to the template -------------------------------------------------------------

    def asked(self, take_replies: Callable[[], None]) -> None:
        """The request is sent. `take_replies` reads the template's replies."""
        self.state = ForkState.ASKED
        self._take_replies = take_replies
        self._close_fds()

    def started(self, pid: int, pidfd: int, template: Ready | None) -> None:
        """`pidfd` is -1 if this process had no descriptor left for it."""
        self.state = ForkState.RUNNING
        self.pid, self._pidfd, self._template = pid, pidfd, template
        self._loop.children.add(pid)
        for number in self._kills:
            self._signal(number)

    def refused(self, error: SpawnError) -> None:
        """The fork does not call its function. A fork that has begun ends by itself."""
        self._error = error
        if self.state in (ForkState.WAITING, ForkState.ASKED):
            self._end(None)

    def ended(self, status: int, cpu_s: float, rss_peak: int) -> None:
        """The fork was collected; `status` as from `wait`, `rss_peak` in bytes."""
        shared = 0 if self._template is None else self._template.rss + RSS_SLACK
        self._end(ExitStatus(os.waitstatus_to_exitcode(status), cpu_s, rss_peak if rss_peak > shared else 0))

    def orphaned(self) -> None:
        """The template has ended: this process collects the fork from now on."""
        self.state = ForkState.ORPHANED
        if self._pidfd >= 0:
            self._loop.watch(self, read=True)
        else:
            self._poll_exit()

    def _poll_exit(self) -> None:
        if not self.collect():
            self._loop.call_later(PORTABLE_EXIT_POLL_S, self._poll_exit)

    def fileno(self) -> int:
        return self._pidfd

    def on_readable(self, budget: int) -> None:  # noqa: ARG002  (the pidfd has nothing to read)
        self._collect_orphan()

    def on_writable(self) -> None:
        pass

    def _collect_orphan(self) -> None:
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        except ChildProcessError:  # another process has collected it, or will
            if self._pidfd < 0 or self.has_ended():
                self.ended(_status_of(self._pidfd), 0.0, 0)
            return
        if pid:
            self.ended(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)

    def _end(self, exit_status: ExitStatus | None) -> None:
        self.state = ForkState.ENDED if self._error is None else ForkState.FAILED
        self._take_replies = _nothing
        self._close_fds()
        self._loop.children.discard(self.pid)
        if self._pidfd >= 0:
            self._loop.watch(self)
            os.close(self._pidfd)
            self._pidfd = -1
        self.stdout.drain()
        if self.stderr is not None:
            self.stderr.drain()
        if self.stdin is not None:
            self.stdin.close()
        if self._error is not None:
            self._on_failed(self._error)
        elif exit_status is not None:
            self.exit = exit_status
            self._on_exit(exit_status)

    def _close_fds(self) -> None:
        while self.fds:
            os.close(self.fds.pop())


def _status_of(pidfd: int) -> int:
    """The status, as from `wait`, of an ended process that another one has collected."""
    info = bytearray(_INFO.pack(_INFO_EXIT, *[0] * 13))
    try:
        fcntl.ioctl(pidfd, _GET_INFO, info)
    except OSError:
        return UNKNOWN_CODE << 8
    mask, *_, status = _INFO.unpack(info)
    return status if mask & _INFO_EXIT else UNKNOWN_CODE << 8


def _pipe(opened: list[int]) -> tuple[int, int]:
    ends = os.pipe()
    opened += ends
    return ends


def _track(opened: list[int], fd: int) -> int:
    opened.append(fd)
    return fd


def _nothing() -> None:
    """Does nothing at an end of file: only the exit of the process counts."""
