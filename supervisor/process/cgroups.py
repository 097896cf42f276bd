"""Gives a worker a cgroup (v2) leaf, if its limits need one and the host may write to a part of the hierarchy.

With a leaf the kernel limits a whole process tree. The leaf also holds processes that left their session and their
parents, and one write kills all its processes. Without leaves, sampling watches the limits. Nothing here raises an
error: a failure returns its reason as text.
"""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

from supervisor.process.cgroup_files import HOST_LEAF
from supervisor.process.cgroup_survey import WANTED, CgroupDir, CgroupTree, Unavailable, survey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from wire.manifest import Limits

PERIOD_US = 100_000
MIB = 1024 * 1024
KILL_PASSES = 10
NO_LIMIT = "max"


class Cgroups:
    """The host's own cgroup, `zot-<pid>`, and the leaves in it. `detect` makes it before the host starts children."""

    def __init__(self, tree: CgroupTree, place: CgroupDir, path: str, pid: int) -> None:
        self.path = path
        self.controllers: frozenset[str] = frozenset()
        """Controllers that leaves have; sampling watches the other limits."""
        self.shortage = place.shortage
        self._tree = tree
        self._place = place
        self._pid = pid
        self._has_moved = False
        self._opened: list[str] = []
        self._count = 0

    @classmethod
    def detect(
        cls, pid: int | None = None, environ: Mapping[str, str] | None = None, tree: CgroupTree | None = None
    ) -> Cgroups | Unavailable:
        """Makes the host's cgroup and passes the controllers on to it; returns the reason if that fails. Call it before
        the host has children: only an empty cgroup can pass limits on, so a host that is alone in its cgroup moves into
        a leaf of its own."""
        tree, pid = tree or CgroupTree(), pid or os.getpid()
        place = survey(pid, environ, tree)
        if isinstance(place, Unavailable):
            return place
        path = f"{place.path}/zot-{pid}"
        made = cls(tree, place, path, pid)
        try:
            made._remove_dead()
            if not tree.exists(path):
                tree.make(path)
            made._open_controllers()
        except OSError as error:
            made.close()
            return Unavailable(f"{path}: {error.strerror}; limits are watched by sampling")
        return made

    @property
    def real_path(self) -> Path:
        """The real path of the host's cgroup, for the host record and the reaper."""
        return self._tree.real(self.path)

    def _open_controllers(self) -> None:
        tree, place = self._tree, self._place
        closed = place.available - place.enabled
        if closed and place.is_alone and not place.is_root:
            leaf = f"{self.path}/{HOST_LEAF}"
            if not tree.exists(leaf):
                tree.make(leaf)
            tree.write(f"{leaf}/cgroup.procs", str(self._pid))
            self._has_moved = True
        if closed and (place.is_root or place.is_alone):
            self._opened = self._enable(place.path, closed)
        self._enable(self.path, place.available)
        self.controllers = frozenset(WANTED) & frozenset(tree.read(f"{self.path}/cgroup.subtree_control").split())
        if not self.shortage and (missing := place.available - self.controllers):
            self.shortage = f"the kernel refused to pass {', '.join(sorted(missing))} on from {place.path}"

    def _enable(self, path: str, names: Iterable[str]) -> list[str]:
        """Enables the controllers one by one, since the kernel refuses a line with one bad name. Returns the names of
        those that it enabled."""
        done = []
        for name in sorted(names):
            try:
                self._tree.write(f"{path}/cgroup.subtree_control", f"+{name}")
                done.append(name)
            except OSError:
                continue
        return done

    def _disable(self, path: str, names: Iterable[str]) -> None:
        for name in sorted(names):
            try:
                self._tree.write(f"{path}/cgroup.subtree_control", f"-{name}")
            except OSError:
                continue  # another host in this cgroup uses the controller

    def _remove_dead(self) -> None:
        """Removes the empty folders of hosts that are gone. The kernel refuses to remove a folder with processes."""
        for name in self._tree.folders(self._place.path):
            pid = name.removeprefix("zot-")
            if pid != name and pid.isdecimal() and not self._tree.exists(f"/proc/{pid}"):
                _remove(self._tree, f"{self._place.path}/{name}")

    def is_needed(self, limits: Limits) -> bool:
        """Whether a worker with these limits gets a leaf: if leaves have the controller of one of the limits, or if
        `processes` is limited. A leaf adds about 1.3 ms to the worker's start.

        A limit of `processes` is for fork bombs. Without a leaf the processes of a bomb cannot all be counted or found:
        they may live for less time than a read of the process table takes. All other use is counted, and all other
        processes are found, by sessions, parents and environments."""
        is_enforced = {"memory": limits.rss_mb, "pids": limits.processes, "cpu": limits.cpu_percent}
        return limits.processes is not None or any(is_enforced[name] is not None for name in self.controllers)

    def leaf(self, name: str, limits: Limits) -> Leaf | Unavailable:
        """Makes a leaf for one worker; returns the reason if that fails."""
        self._count += 1
        # The kernel's own file names contain a dot, so a leaf's name must not. Besides the dot, only the slash is
        # special.
        path = f"{self.path}/{re.sub(r'[^A-Za-z0-9_-]', '_', name)[:64]}-{self._count}"
        try:
            self._tree.make(path)
        except OSError as error:
            return Unavailable(f"{path}: {error.strerror}; its limits are watched by sampling")
        leaf = Leaf(self._tree, path, self.controllers)
        leaf.limit(limits)
        return leaf

    def close(self) -> None:
        """Removes the host's cgroup. Call it when all leaves are closed and the host's children are gone. The next host
        removes a cgroup that cannot be removed now."""
        if self._has_moved:
            self._disable(self.path, self.controllers)
            self._disable(self._place.path, self._opened)
            try:
                self._tree.write(f"{self._place.path}/cgroup.procs", str(self._pid))
            except OSError:
                return
        _remove(self._tree, self.path)
        if self._place.is_root:
            self._disable(self._place.path, self._opened)


class Leaf:
    """The cgroup of one process tree."""

    def __init__(self, tree: CgroupTree, path: str, controllers: frozenset[str]) -> None:
        self.path = path
        self.controllers = controllers
        """Controllers by which the kernel enforces the manifest's limits here; sampling watches the other limits."""
        self._tree = tree
        self._limited: set[str] = set()
        """Controllers that have had a limit: the others have the kernel's default, which is none."""

    @property
    def join_file(self) -> Path:
        """A process joins the leaf when it writes 0 or its own pid to this file. `spawn_limits` makes the child do that
        before the child becomes the program."""
        return self._tree.real(f"{self.path}/cgroup.procs")

    def limit(self, limits: Limits) -> None:
        """Sets `rss_mb`, `processes` and `cpu_percent`, and removes those of them that were set and are None now. If
        the kernel refuses a limit, that limit's controller is taken out of `controllers`."""
        memory = None if limits.rss_mb is None else str(int(limits.rss_mb * MIB))
        self._set("memory", "memory.max", memory)
        self._set("pids", "pids.max", None if limits.processes is None else str(limits.processes))
        share = limits.cpu_percent
        quota = None if share is None else f"{max(1000, round(share / 100 * PERIOD_US))} {PERIOD_US}"
        self._set("cpu", "cpu.max", quota)

    def _set(self, controller: str, file: str, value: str | None) -> None:
        if value is None and controller in self._limited:
            value = NO_LIMIT
        if value is None or controller not in self.controllers:
            return
        self._limited.add(controller)
        try:
            self._tree.write(f"{self.path}/{file}", value)
        except OSError:
            self.controllers -= {controller}

    def pids(self) -> list[int]:
        """Returns the pids of all processes in the leaf and below it. Zombies are left out, and so are processes of
        another pid namespace, which the kernel lists as 0."""
        text = " ".join(self._read(f"{folder}/cgroup.procs") for folder in _walk(self._tree, self.path))
        return [int(pid) for pid in text.split() if pid.isdecimal() and pid != "0"]

    def memory_kills(self) -> int:
        """Returns how many processes of this leaf the kernel has killed because of `rss_mb`. Returns 0 once the leaf is
        removed, or if the kernel does not count these kills."""
        for line in self._read(f"{self.path}/memory.events").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill" and value.strip().isdecimal():
                return int(value)
        return 0

    def kill(self) -> bool:
        """Sends SIGKILL to all processes in the leaf; they may take a moment to end. Returns False if that fails."""
        try:
            self._tree.write(f"{self.path}/cgroup.kill", "1")
        except OSError:
            return self._kill_each()
        return True

    def _kill_each(self) -> bool:
        """Kills each process by its pid, for kernels before 5.14. No pid is reused in the moment between its read and
        its kill."""
        for _ in range(KILL_PASSES):
            pids = self.pids()
            if not pids:
                break
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                except OSError:
                    return False
        return self._tree.exists(self.path)

    def close(self) -> bool:
        """Removes the leaf and all cgroups below it. Returns False while the leaf holds processes."""
        _remove(self._tree, self.path)
        return not self._tree.exists(self.path)

    def _read(self, path: str) -> str:
        try:
            return self._tree.read(path)
        except OSError:
            return ""


def _walk(tree: CgroupTree, path: str) -> list[str]:
    """The folder and all folders below it, parents first."""
    found = [path]
    for folder in found:
        try:
            found += [f"{folder}/{name}" for name in tree.folders(folder)]
        except OSError:
            continue
    return found


def _remove(tree: CgroupTree, path: str) -> None:
    for folder in reversed(_walk(tree, path)):
        try:
            tree.remove(folder)
        except OSError:
            continue  # the folder holds processes, or is gone
