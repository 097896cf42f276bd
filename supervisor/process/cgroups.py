"""A cgroup (v2) leaf for each extension, where there is a part of the hierarchy that we may write to.

A leaf limits a whole process tree in the kernel, holds also what left its session and its parents, and is killed at
once with all in it. Where there is none, sampling does the same job later. Nothing here raises: what cannot be done is
a reason, as text.
"""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

from supervisor.process.cgroup_files import HOST_LEAF
from supervisor.process.cgroup_survey import WANTED, Place, Tree, Unavailable, survey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from wire.manifest import Limits

PERIOD_US = 100_000
MIB = 1024 * 1024
KILL_PASSES = 10


class Cgroups:
    """The host's own folder, `zot-<pid>`, and the leaves in it. Made by `detect`, before anything is started."""

    def __init__(self, tree: Tree, place: Place, path: str, pid: int) -> None:
        self.path = path
        self.controllers: frozenset[str] = frozenset()
        """Those that leaves have; the rest is left to sampling."""
        self.shortage = place.shortage
        self._tree = tree
        self._place = place
        self._pid = pid
        self._has_moved = False
        self._opened: list[str] = []
        self._count = 0

    @classmethod
    def detect(
        cls, pid: int | None = None, environ: Mapping[str, str] | None = None, tree: Tree | None = None
    ) -> Cgroups | Unavailable:
        """Makes the folder and passes the controllers on to it. Call it while the host has no children yet: where it is
        alone in its cgroup it moves into a leaf of its own, since only an empty cgroup can pass limits on."""
        tree, pid = tree or Tree(), pid or os.getpid()
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
        """For the record and the watchdog."""
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
        """One by one: the kernel refuses a whole line for one of its words."""
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
                continue  # another host next to us uses it

    def _remove_dead(self) -> None:
        """The empty folders of hosts that are gone. The kernel does not let one go that anybody is in."""
        for name in self._tree.folders(self._place.path):
            pid = name.removeprefix("zot-")
            if pid != name and pid.isdecimal() and not self._tree.exists(f"/proc/{pid}"):
                _remove(self._tree, f"{self._place.path}/{name}")

    def leaf(self, name: str, limits: Limits) -> Leaf | Unavailable:
        """A new leaf, for one start of one extension."""
        self._count += 1
        # The kernel's own files have a dot in their names; no other character is special but the slash.
        path = f"{self.path}/{re.sub(r'[^A-Za-z0-9_-]', '_', name)[:64]}-{self._count}"
        try:
            self._tree.make(path)
        except OSError as error:
            return Unavailable(f"{path}: {error.strerror}; its limits are watched by sampling")
        leaf = Leaf(self._tree, path, self.controllers)
        leaf.limit(limits)
        return leaf

    def close(self) -> None:
        """Removes everything, once all leaves are closed and the host's children have gone. What cannot be removed is
        left to the next host."""
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

    def __init__(self, tree: Tree, path: str, controllers: frozenset[str]) -> None:
        self.path = path
        self.controllers = controllers
        """What is limited here by the kernel, if the manifest limits it; the rest is left to sampling."""
        self._tree = tree

    @property
    def join_file(self) -> Path:
        """Whoever writes 0 or its own pid here is in the leaf; for `launching`, which has the child do it before it
        becomes the program."""
        return self._tree.real(f"{self.path}/cgroup.procs")

    def limit(self, limits: Limits) -> None:
        """`rss_mb`, `processes` and `cpu_percent`. A limit that the kernel does not take leaves `controllers`."""
        if limits.rss_mb is not None:
            self._set("memory", "memory.max", str(int(limits.rss_mb * MIB)))
        if limits.processes is not None:
            self._set("pids", "pids.max", str(limits.processes))
        if limits.cpu_percent is not None:
            quota = max(1000, round(limits.cpu_percent / 100 * PERIOD_US))
            self._set("cpu", "cpu.max", f"{quota} {PERIOD_US}")

    def _set(self, controller: str, file: str, value: str) -> None:
        if controller not in self.controllers:
            return
        try:
            self._tree.write(f"{self.path}/{file}", value)
        except OSError:
            self.controllers -= {controller}

    def pids(self) -> list[int]:
        """Of all processes in it and below, without zombies, and without those of another pid namespace, which are 0
        there."""
        text = " ".join(self._read(f"{folder}/cgroup.procs") for folder in _walk(self._tree, self.path))
        return [int(pid) for pid in text.split() if pid.isdecimal() and pid != "0"]

    def memory_kills(self) -> int:
        """Processes of this leaf that the kernel has killed because of `rss_mb`. Known until the leaf is removed; 0
        where the kernel does not count them."""
        for line in self._read(f"{self.path}/memory.events").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill" and value.strip().isdecimal():
                return int(value)
        return 0

    def kill(self) -> bool:
        """SIGKILL for all in it. False if that could not be done; they may take a moment to be gone."""
        try:
            self._tree.write(f"{self.path}/cgroup.kill", "1")
        except OSError:
            return self._kill_each()
        return True

    def _kill_each(self) -> bool:
        """For kernels before 5.14. A pid that is in this leaf is in it still a moment later, or was; it is not reused
        so soon."""
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
        """Removes the leaf, with what its processes made below it; False while anybody is in it."""
        _remove(self._tree, self.path)
        return not self._tree.exists(self.path)

    def _read(self, path: str) -> str:
        try:
            return self._tree.read(path)
        except OSError:
            return ""


def _walk(tree: Tree, path: str) -> list[str]:
    """The folder and all below it, each after those above it."""
    found = [path]
    for folder in found:
        try:
            found += [f"{folder}/{name}" for name in tree.folders(folder)]
        except OSError:
            continue
    return found


def _remove(tree: Tree, path: str) -> None:
    for folder in reversed(_walk(tree, path)):
        try:
            tree.remove(folder)
        except OSError:
            continue  # somebody is in it, or it is gone
