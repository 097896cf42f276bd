"""A template for tests: imports little, has left its mark on all that a fork must set back, and serves functions with
which a fork shows what it is. Usage: `small_template.py OPTION... FD`."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time

from supervisor.template.server import serve

OWN_RANDOM = random.Random()
GRACE_S = 0.1


def facts(argument: bytes) -> None:
    numbers = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    sys.stdout.write(
        json.dumps(
            {
                "argument": argument.decode("latin-1"),
                "handlers": {int(number): str(signal.getsignal(number)) for number in sorted(numbers)},
                "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
                "wakeup_fd": signal.set_wakeup_fd(-1),
                "ids": [os.getpid(), os.getpgrp(), os.getsid(0)],
                "parent": os.getppid(),
                "fds": {name: link(name) for name in os.listdir("/proc/self/fd") if link(name)},
                "inherited": [os.get_inheritable(fd) for fd in range(3)],
                "env": dict(os.environ),
                "hour": time.localtime(0).tm_hour,
                "cwd": os.getcwd(),
                "umask": os.umask(0),
                "random": random.random(),
                "own_random": OWN_RANDOM.random(),
                "gc": __import__("gc").isenabled(),
                "streams": [
                    [s.fileno(), s.name, s.mode, s.line_buffering] for s in (sys.stdin, sys.stdout, sys.stderr)
                ],
            }
        )
    )


def link(name: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        return ""  # the one that lists the folder


def returns(argument: bytes) -> int | None:
    """Ends as the argument says."""
    how, _, what = argument.decode().partition(" ")
    sys.stdout.write(f"{how}\n")
    if how == "exit":
        sys.exit(int(what) if what.isdigit() else what or None)
    if how == "raise":
        raise RuntimeError(what)
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "signal":
        os.kill(os.getpid(), int(what))
    return int(what) if what else None


def waits(_argument: bytes) -> int:
    """Says its pid, then waits for a byte on the first link, which is its status; nothing if the link ends."""
    os.write(1, b"%d\n" % os.getpid())
    return (os.read(3, 1) or b"\0")[0]


def stubborn(_argument: bytes) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(1, b"%d\n" % os.getpid())
    while True:
        signal.pause()


def copies(_argument: bytes) -> None:
    while data := sys.stdin.readline():
        sys.stdout.write(data.upper())
        sys.stdout.flush()


def says_later(_argument: bytes) -> None:
    """Leaves a line in its buffer."""
    sys.stdout.write(sys.stdin.readline())


def appends(argument: bytes) -> None:
    """Adds a line to the file that the argument names; a fork that has run can be seen by it."""
    path, _, line = argument.partition(b" ")
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, line + b"\n")


def forks(_argument: bytes) -> int:
    """Its child ends first, with another status."""
    sys.stdout.write("buffered ")
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        sys.stdout.write("child ")
        return 4
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.stdout.write("parent")
    return status + 1


def litters(_argument: bytes) -> None:
    """Leaves a child that has ended and one that ends by a signal only, in a session of its own. Says its pid."""
    if os.fork() == 0:
        os._exit(0)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        stubborn(b"")
    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)


def closes_everything(_argument: bytes) -> int:
    os.closerange(0, 256)
    return 5


def uses(argument: bytes) -> int:
    """Uses so many MiB and some processor time, and waits for a byte."""
    kept = bytearray(int(argument) << 20)
    for at in range(0, len(kept), 4096):
        kept[at] = 1
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    os.write(1, b"used")
    os.read(3, 1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss and 0


ENTRIES = {
    function.__name__: function
    for function in (
        facts,
        returns,
        waits,
        stubborn,
        copies,
        says_later,
        appends,
        forks,
        litters,
        closes_everything,
        uses,
    )
}


def fail_every_second_fork() -> None:
    real, calls = os.fork, iter(range(1 << 30))

    def fork() -> int:
        if next(calls) % 2:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return real()

    os.fork = fork


if __name__ == "__main__":
    *options, fd = sys.argv[1:]
    if "dies" in options:
        sys.exit("there is no module sonnet")
    if "deaf" in options:
        signal.pause()
    if "flaky" in options:
        fail_every_second_fork()
    for marked in (signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD, signal.SIGINT):
        signal.signal(marked, lambda _number, _frame: None)
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    os.set_blocking(2, False)
    signal.set_wakeup_fd(2, warn_on_full_buffer=False)
    sys.stdout.write("said once")
    serve(int(fd), ENTRIES, grace_s=GRACE_S, detached="detached" in options)
