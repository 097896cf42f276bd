"""Starts one child process, connects it by pipes, and always collects its exit status."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from supervisor.loop.pipes import PipeReader, PipeWriter
from supervisor.process import fd_limit
from supervisor.process.exit_cause import spawn_reason
from supervisor.process.table import Identity, peak_rss, read_process

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.loop.loop import Loop
    from supervisor.process.started_process import StartedProcess

OUTBOX_LIMIT = 4 * 1024 * 1024
"""Maximum of bytes that wait for a child that does not read. Beyond it every further send fails at once."""
PORTABLE_EXIT_POLL_S = 0.02
RSS_SLACK = 1024 * 1024
EXIT_FOLLOWS_S = 0.2
"""Seconds to wait for the exit status of a child that has closed its standard output. Such a child is mostly ending,
and the exit status says more."""


class ExitStatus(NamedTuple):
    """How a process ended, and the CPU time and memory that it used. Includes the children that it has waited for."""

    code: int
    """The exit status, or minus the number of the signal that ended it."""
    cpu_s: float
    rss_peak: int
    """In bytes; 0 if the kernel reports only the size of the host from which the process was forked."""

    def __str__(self) -> str:
        return exit_words(self.code)


def exit_words(code: int) -> str:
    """The end of a process in words: `exit 3`, or for minus the number of a signal `signal SIGKILL`."""
    if code >= 0:
        return f"exit {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


PASSING = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ETXTBSY, errno.EINTR})
"""Errors of a start that may be gone at the next attempt."""


class SpawnError(OSError):
    """The program could not be started; the text says why."""

    may_pass = False
    """Whether another attempt may succeed although the user changes nothing."""


class Child:
    """A process on three pipes.

    `on_stdout` and `on_stderr` get every chunk when it comes. `on_mute` is called if standard output ends before the
    child. `on_exit` is called once, after all output of the child is delivered. A grandchild may hold standard error
    open for longer: the host does not wait for that. With `linger`, standard output stays open after the exit, so that
    background processes of the child can go on writing: a closed pipe would kill them. `pass_fds` have the same numbers
    in the child. Without `on_stderr`, standard error goes to the descriptor `stderr`, or where standard output goes.
    Without `own_session` the child stays in the process group of the host, as a program must that uses its terminal.
    Raises `SpawnError` if the program cannot be started.
    """

    def __init__(
        self,
        loop: Loop,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        on_stdout: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None] | None = None,
        on_exit: Callable[[ExitStatus], None],
        on_mute: Callable[[], None] | None = None,
        stdin: bool = True,
        linger: bool = False,
        outbox_limit: int = OUTBOX_LIMIT,
        pass_fds: Sequence[int] = (),
        stderr: int = subprocess.STDOUT,
        own_session: bool = True,
        started: StartedProcess | None = None,
    ) -> None:
        """`started` is taken over instead of a start."""
        self._loop = loop
        self._linger = linger
        self._has_own_session = own_session
        self._on_exit = on_exit
        self.exit: ExitStatus | None = None
        opened: list[int] = []
        try:
            # The pipes come first: if no descriptors are left, the start fails before the process exists.
            if started is None:
                child_in, to_child = _pipe(opened) if stdin else (subprocess.DEVNULL, -1)
                from_child, child_out = _pipe(opened)
                errors, child_err = _pipe(opened) if on_stderr else (-1, stderr)
                self._process = _start(argv, cwd, env, child_in, child_out, child_err, pass_fds, own_session)
                for fd in (child_in, child_out, child_err):
                    if fd in opened:
                        os.close(fd)
            else:
                self._process, to_child, from_child, errors = started
        except (OSError, ValueError) as error:
            for fd in opened:
                os.close(fd)
            failed = SpawnError(spawn_reason(argv[0], cwd, error))
            failed.may_pass = isinstance(error, OSError) and error.errno in PASSING
            raise failed from error
        own = read_process(os.getpid())
        self._host_rss = own.rss + RSS_SLACK if own else 0
        self.pid = self._process.pid
        """The pid. With a session of its own also the id of the child's session and process group."""
        self._identity: Identity | None = None
        self.stdin = PipeWriter(loop, to_child, outbox_limit) if stdin else None
        self.stdout = PipeReader(loop, from_child, on_stdout, on_mute or _nothing)
        self.stderr = PipeReader(loop, errors, on_stderr, _nothing) if on_stderr else None
        loop.children.add(self.pid)
        self._watch_exit()

    @property
    def identity(self) -> Identity:
        """The pid and start time, also after the exit; start time 0 if /proc cannot be read. The first call reads /proc
        in 0.02 ms, or in up to 1 ms while the kernel still loads the program."""
        if self._identity is None:
            found = read_process(self.pid)
            if found is None:
                return Identity(self.pid, 0)
            self._identity = found.identity
        return self._identity

    @property
    def is_running(self) -> bool:
        return self.exit is None

    def send(self, data: bytes) -> bool:
        """Queues data for the child's input. Returns False if the input is closed, or if the outbox is full because the
        child does not read."""
        return self.stdin is not None and self.stdin.send(data)

    def kill_group(self, number: signal.Signals) -> None:
        """Signals the child's process group, or only a child that is in the host's group. Does nothing once the exit
        status is collected."""
        if self.exit is None:
            try:
                (os.killpg if self._has_own_session else os.kill)(self.pid, number)
            except (ProcessLookupError, PermissionError):
                pass

    def _watch_exit(self) -> None:
        self._pidfd = -1
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # not Linux, an old kernel, or no descriptor left
            self._loop.call_later(PORTABLE_EXIT_POLL_S, self._poll_exit)
        else:
            self._loop.watch(self, read=True)

    def fileno(self) -> int:
        return self._pidfd

    def on_readable(self, budget: int) -> None:  # noqa: ARG002  (the pidfd has nothing to read)
        self.collect()

    def on_writable(self) -> None:
        pass

    def _poll_exit(self) -> None:
        if not self.collect():
            self._loop.call_later(PORTABLE_EXIT_POLL_S, self._poll_exit)

    def collect(self) -> bool:
        """Collects the exit status if the child has ended, and returns whether it has ended. The loop calls this
        method; other callers may call it at any time."""
        if self.exit is not None:
            return True
        self._identity = self.identity  # from the exit status on, the pid may be reused
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if pid == 0:
            return False
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        self._loop.children.discard(pid)
        # The kernel's peak starts at the size of the process that forked: only a larger peak is the child's own.
        peak = usage.ru_maxrss * 1024 if usage.ru_maxrss * 1024 > self._host_rss else 0
        self.exit = ExitStatus(code, usage.ru_utime + usage.ru_stime, peak)
        if self._pidfd >= 0:
            self._loop.watch(self)
            os.close(self._pidfd)
            self._pidfd = -1
        if self._linger:
            self.stdout.take_waiting()
        else:
            self.stdout.drain()
        if self.stderr is not None:
            self.stderr.drain()
        if self.stdin is not None:
            self.stdin.close()
        self._on_exit(self.exit)
        return True

    def let_go(self) -> None:
        """From now on the child, which may outlive the host, is not followed: it is told of the end of its input, and
        its exit status is collected by nobody of ours."""
        if self.exit is not None:
            return
        self._loop.children.discard(self.pid)
        self._loop.outliving.discard(self.pid)
        if self._pidfd >= 0:
            self._loop.watch(self)
            os.close(self._pidfd)
            self._pidfd = -1
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()
        self._process.returncode = 0  # else Python would warn of a process that still runs

    def peak_rss(self) -> int:
        """Peak memory of the child in bytes while it lives, without its own children."""
        return peak_rss(self.pid)


def _start(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    stdin: int,
    stdout: int,
    stderr: int,
    pass_fds: Sequence[int],
    own_session: bool,
) -> subprocess.Popen[bytes]:
    """Starts the process, with the limit of descriptors that the user has set."""

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=pass_fds,
            start_new_session=own_session,
        )

    try:
        with fd_limit.users_limit():
            return start()
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
    process = start()  # the host has more descriptors open than the user's limit
    fd_limit.give_users_limit(process.pid)
    return process


def _pipe(opened: list[int]) -> tuple[int, int]:
    """Makes a pipe. Returns the reading and the writing end, and adds both to `opened`."""
    ends = os.pipe()
    opened += ends
    return ends


def _nothing() -> None:
    """Does nothing at an end of file: only the exit of the process counts."""
