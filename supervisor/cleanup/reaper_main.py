"""The reaper of a host: waits until the host is gone, then ends the processes that it has left.

Usage: reaper_main.py HOST_PID RECORD. Standard input is a pipe from the host. The lines on this pipe are `token HEX`,
`cgroup FOLDER`, `child PID STARTED`, `other PID STARTED`, `forget PID STARTED`. The end of the input, or of the host,
means that the host was killed: a host that ends in order kills its reaper first.

Every host starts a reaper. So the reaper imports next to nothing before its host is gone: that takes a tenth of the
time of all its imports.
"""

from __future__ import annotations

import posix
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

READ = 65536
PAUSE_MS = 100
"""Milliseconds that the reaper waits after a line, before it reads all that has come. If each line woke it, each start
of a process would make the host wait 0.2 ms for a processor."""


class HostFacts:
    """The marks of the host and of its processes, from the host's lines."""

    def __init__(self) -> None:
        self.token = ""
        self.cgroup: str | None = None
        self.children: set[tuple[int, float]] = set()
        self.others: set[tuple[int, float]] = set()

    def hear(self, lines: Iterable[bytes]) -> None:
        """Adds the facts in lines of the host."""
        for line in lines:
            word, _, rest = line.partition(b" ")
            if word == b"token":
                self.token = rest.decode()
            elif word == b"cgroup":
                self.cgroup = rest.decode("utf-8", "surrogateescape")
            elif word in (b"child", b"other", b"forget"):
                pid, started = rest.split()
                identity = (int(pid), float(started))
                self.children.discard(identity)
                self.others.discard(identity)
                if word != b"forget":
                    (self.children if word == b"child" else self.others).add(identity)


def listen(host: int, facts: HostFacts) -> None:
    """Returns when the host is gone.

    A copy of the host, forked without exec, may keep the pipe open after the host's end. So the reaper watches the
    process too, if the system allows that.
    """
    poll, end = select.poll(), select.poll()
    poll.register(0, select.POLLIN)
    end.register(0, 0)  # reports only the end of the input
    if sys.platform == "linux":
        try:
            pidfd = posix.pidfd_open(host)
            poll.register(pidfd, select.POLLIN)
            end.register(pidfd, select.POLLIN)
        except OSError:
            pass  # the host is gone already, or the kernel is too old
    rest = b""
    while True:
        is_gone = posix.getppid() != host
        ready = [fd for fd, _ in poll.poll(0 if is_gone else None)]
        if 0 not in ready:
            return  # all input is read, and the host is gone
        end.poll(0 if is_gone else PAUSE_MS)
        data = posix.read(0, READ)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        facts.hear(lines)


def end_leftovers(facts: HostFacts, record: str) -> None:
    """Ends all processes that the host has left. Then removes its record: the next host need not look for them."""
    import os
    import time

    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.abspath(os.path.join(folder, "..", "..")))
    from supervisor.cleanup import kill_leftovers
    from supervisor.process import cgroup_files
    from supervisor.process.table import ON_LINUX, Identity

    children = frozenset(Identity(pid, started) for pid, started in facts.children)
    others = frozenset(Identity(pid, started) for pid, started in facts.others)
    if not ON_LINUX:
        from supervisor.cleanup.process_groups import end_groups

        end_groups(children, term_s=kill_leftovers.TERM_S)
    else:
        marks = kill_leftovers.HostMarks(facts.token, children, others, facts.cgroup)
        killer = kill_leftovers.LeftoverKiller(marks, time.monotonic)
        while (delay := killer.step()) is not None:
            time.sleep(delay)
        if killer.left:
            return
    cgroup_files.remove_leaves(facts.cgroup)
    if record:
        _remove_record(record, facts.token)


ENDINGS = (".json", ".sock", ".attach", ".batch.attach", ".alerts")
"""The endings of a host's record and sockets, behind its pid; those of `supervisor.home.runtime_dir`."""


def _remove_record(path: str, token: str) -> None:
    """Removes the file and the sockets of the host, unless it is now the record of another host with this pid."""
    import os

    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            is_ours = token in file.read(READ)
    except OSError:
        return
    for ending in ENDINGS if is_ours else ():
        try:
            os.unlink(path.removesuffix(".json") + ending)
        except OSError:
            pass  # not each host has each socket


def main() -> None:
    facts = HostFacts()
    listen(int(sys.argv[1]), facts)
    end_leftovers(facts, sys.argv[2])
    posix._exit(0)


if __name__ == "__main__":
    main()
