"""The template's own process: waits for requests, forks, collects the forks and reports how they ended.

It has one thread, no loop and no handler, and waits only in `poll`: for its socket and for a pidfd of each fork. When
the socket closes, all forks get SIGTERM, then SIGKILL, and the template ends. It also adopts the orphans of its forks
and ends them: only its parents identify a process that has left its session and emptied its environment.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from supervisor.process.table import become_subreaper, children_of
from supervisor.template import reset
from supervisor.template.memory import anonymous, resident
from supervisor.template.protocol import (
    Ended,
    Failed,
    Fork,
    Ready,
    Received,
    Reply,
    RequestError,
    Started,
    decode_request,
    encode_reply,
    receive,
    send,
)
from supervisor.template.shared_pages import fill_holes, use_huge_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GRACE_S = 1.0
"""Seconds from SIGTERM until SIGKILL, once the parent has gone."""
KILLED_S = 1.0
"""Maximum of seconds to wait for killed processes: one may be stuck in the kernel."""
KILLED_POLL_S = 0.005
NOT_ENTERED = 127
"""Exit status of a fork that could not call its function."""


class UnfitError(Exception):
    """Raised if the program holds something that its forks must not share; the text names it."""


def serve(
    fd: int,
    entries: Mapping[str, Callable[[bytes], int | None]],
    *,
    grace_s: float = GRACE_S,
    detached: bool = False,
) -> NoReturn:
    """Makes this process a template that forks for the parent at the other end of the socket `fd`.

    Call it at the end of a program that has imported and tried out everything. A fork calls one of `entries`, by its
    name, with the argument bytes of the request; the result is the exit status, as of `sys.exit`. A fork ends without
    `atexit` callbacks and waits for no thread. Raises `UnfitError` if the process has several threads or holds
    descriptors besides 0, 1, 2 and the socket.

    With `detached`, a fork is like a process that the parent has started itself: the nearest subreaper above the
    template is its parent and must collect it, it stays in the session and the group of the template, and it outlives
    the template. The template sends no `Ended`.
    """
    sock = socket.socket(fileno=fd)
    _check_alone(fd)
    sock.set_inheritable(False)
    sock.setblocking(True)
    sys.stdout.flush()
    sys.stderr.flush()
    gc.collect()
    fill_holes()
    gc.freeze()
    use_huge_pages()
    _Server(sock, entries, grace_s, detached).run()


def _check_alone(fd: int) -> None:
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        import threading

        names = ", ".join(thread.name for thread in threading.enumerate() if thread is not threading.main_thread())
        raise UnfitError(f"the template has {threads} threads, and a fork would have one: end {names or 'the others'}")
    held = []
    for number in os.listdir("/proc/self/fd"):
        try:
            if int(number) > 2 and int(number) != fd:
                held.append(f"{number} ({os.readlink(f'/proc/self/fd/{number}')})")
        except OSError:
            continue  # the descriptor that listed the folder
    if held:
        raise UnfitError(f"the template holds descriptors that its forks would share: close {', '.join(held)}")


class _Server:
    def __init__(
        self,
        sock: socket.socket,
        entries: Mapping[str, Callable[[bytes], int | None]],
        grace_s: float,
        detached: bool,
    ) -> None:
        self._sock = sock
        self._entries = entries
        self._grace_s = grace_s
        self._detached = detached
        self._inherited = reset.Inherited.now()
        self._poll = select.poll()
        self._forks: dict[int, tuple[int, int]] = {}
        """The request's id and the pid of each fork, by pidfd."""

    def run(self) -> NoReturn:
        socket_fd = self._sock.fileno()
        self._poll.register(socket_fd, select.POLLIN)
        if not self._detached:
            become_subreaper()
        self._reply(Ready(resident(os.getpid()), anonymous(os.getpid())))
        while True:
            for fd, _ in self._poll.poll():
                if fd != socket_fd:
                    self._collect(fd)
                elif not self._take_request():
                    self._end()

    def _reply(self, reply: Reply, fds: tuple[int, ...] = ()) -> bool:
        try:
            send(self._sock, encode_reply(reply), fds)
        except OSError:
            return False  # the parent has gone: the next read says so
        return True

    # --- requests -----------------------------------------------------------------------------------------

    def _take_request(self) -> bool:
        """Returns False if the parent has gone."""
        try:
            received = receive(self._sock)
        except OSError:
            return False
        if not received.data:
            return False
        try:
            request = self._checked(received)
            if request is not None:
                self._fork(request, received.fds)
        finally:
            for fd in received.fds:
                os.close(fd)
        return True

    def _checked(self, received: Received) -> Fork | None:
        """The request, if it can be served; otherwise the parent gets the reason."""
        try:
            request = decode_request(received)
        except RequestError as error:
            self._reply(error.failed)
            return None
        reason = ""
        if request.entry not in self._entries:
            reason = f"the template has no function {request.entry!r}; it has {', '.join(sorted(self._entries))}"
        elif len(received.fds) < 3:
            reason = f"a fork needs three descriptors at least, and {len(received.fds)} came"
        if reason:
            self._reply(Failed(request.id, 0, reason))
            return None
        return request

    def _fork(self, request: Fork, fds: list[int]) -> None:
        self._inherited.block_signals()
        try:
            pid = os.fork()
        except OSError as error:
            self._inherited.unblock_signals()
            self._reply(Failed(request.id, error.errno or 0, f"cannot fork: {error.strerror}"))
            return
        if pid == 0:
            self._become(request, fds)
        self._inherited.unblock_signals()
        while fds:
            os.close(fds.pop())  # so there is one for the pidfd
        if self._detached:
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if code:
                self._reply(Failed(request.id, max(code, 0), "cannot fork again"))
            return
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:  # the kernel has no memory left
            os.kill(pid, signal.SIGKILL)
            self._report(request.id, pid)
            return
        self._forks[pidfd] = (request.id, pid)
        self._poll.register(pidfd, select.POLLIN)

    # --- in the fork --------------------------------------------------------------------------------------

    def _become(self, request: Fork, fds: list[int]) -> NoReturn:
        """Runs the fork. Even after an error the fork does not return to the template's loop."""
        try:
            if self._detached:
                _detach()
            self._enter(request, fds)
            status = reset.run(self._entries[request.entry], request.argument, self._inherited.unblock_signals)
        except BaseException:
            os._exit(NOT_ENTERED)
        os._exit(status)

    def _enter(self, request: Fork, fds: list[int]) -> None:
        pid = os.getpid()
        if not self._detached:
            os.setsid()
        if not self._reply(Started(request.id, pid), (os.pidfd_open(pid),)):
            os._exit(NOT_ENTERED)
        try:
            self._inherited.reset_signals()
            self._inherited.enter(request)
            sock = reset.place_descriptors(fds, self._sock.detach())
            self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=sock)
            reset.reopen_streams(self._inherited.streams)
        except Exception as error:
            self._reply(_failed(request.id, error))
            os._exit(NOT_ENTERED)
        self._sock.detach()  # its number is free from now on
        highest = max(sock, *fds, *self._forks) + len(fds) + 2  # the copies took the lowest numbers that were free
        os.closerange(len(fds), highest)

    # --- the ends of forks --------------------------------------------------------------------------------

    def _collect(self, pidfd: int) -> None:
        self._poll.unregister(pidfd)
        os.close(pidfd)
        self._report(*self._forks.pop(pidfd))
        # Orphans that have ended are collected on this occasion: the template waits for forks alone.
        for pid in _children() - {pid for _, pid in self._forks.values()}:
            _collect_ended(pid)

    def _report(self, request: int, pid: int) -> None:
        try:
            _, status, usage = os.wait4(pid, 0)
        except ChildProcessError:
            return  # something in this program has collected it
        self._reply(Ended(request, pid, status, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024))

    def _end(self) -> NoReturn:
        """Ends all forks with their groups, then their leftover processes, which become orphans of this process. Forks
        are not collected: until this process has ended a group's number is not reused."""
        self._poll.unregister(self._sock.fileno())
        groups = [pid for _, pid in self._forks.values()]
        _signal_groups(groups, signal.SIGTERM)
        self._await_forks(self._grace_s)
        _signal_groups(groups, signal.SIGKILL)
        self._await_forks(KILLED_S)
        deadline = time.monotonic() + KILLED_S
        while (orphans := _children() - set(groups)) and time.monotonic() < deadline:
            for pid in orphans:
                with suppress(OSError):  # it runs as another user by now
                    os.kill(pid, signal.SIGKILL)
                _collect_ended(pid)
            time.sleep(KILLED_POLL_S)
        os._exit(0)

    def _await_forks(self, seconds: float) -> None:
        """Returns when all forks have ended, or after `seconds`."""
        deadline = time.monotonic() + seconds
        while self._forks and (left_s := deadline - time.monotonic()) > 0:
            for pidfd, _ in self._poll.poll(left_s * 1000):
                self._poll.unregister(pidfd)
                del self._forks[pidfd]


def _detach() -> None:
    """Returns in a child of this process when this process has ended: then the child has a new parent."""
    ended = os.pidfd_open(os.getpid())
    try:
        pid = os.fork()
    except OSError as error:
        os._exit(error.errno or NOT_ENTERED)
    if pid:
        os._exit(0)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.poll()
    os.close(ended)


def _failed(request: int, error: Exception) -> Failed:
    number = (error.errno or 0) if isinstance(error, OSError) else 0
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{os.fsdecode(error.filename)}: {error.strerror}"
    return Failed(request, number, text)


def _children() -> set[int]:
    return children_of(os.getpid()) or set()


def _collect_ended(pid: int) -> None:
    with suppress(ChildProcessError):  # something in this program has collected it
        os.waitpid(pid, os.WNOHANG)


def _signal_groups(groups: list[int], number: signal.Signals) -> None:
    for pid in groups:
        try:
            os.killpg(pid, number)
        except ProcessLookupError:  # the fork has not made its session yet
            os.kill(pid, number)
        except PermissionError:
            pass
