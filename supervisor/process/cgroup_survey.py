"""Finds out in which cgroup a host is, and whether it can make leaves there. Writes nothing."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

OPT_OUT = "ZOT_NO_CGROUP"
WANTED = ("memory", "pids", "cpu")
UNIT_NAME = re.compile(r"\.(?:service|scope|slice|socket|mount|swap)$")
DELEGATED = "user.delegate"
"""The extended attribute of a cgroup that systemd has handed over."""
DELEGATE = "systemd can hand one over: systemd-run --user --scope -p Delegate=yes zot …"


class CgroupTree:
    """Reads and writes cgroup files below a root folder; tests replace the root. Every method may raise `OSError`."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def real(self, path: str) -> Path:
        return self._root / path.lstrip("/")

    def read(self, path: str) -> str:
        return self.real(path).read_text(encoding="utf-8", errors="surrogateescape")

    def write(self, path: str, text: str) -> None:
        fd = os.open(self.real(path), os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)

    def make(self, path: str) -> None:
        os.mkdir(self.real(path))

    def remove(self, path: str) -> None:
        os.rmdir(self.real(path))

    def exists(self, path: str) -> bool:
        return self.real(path).exists()

    def may_write(self, path: str) -> bool:
        return os.access(self.real(path), os.W_OK)

    def is_delegated(self, path: str) -> bool:
        """Whether systemd has handed this cgroup over, with all below it; False where it does not say so."""
        try:
            return os.getxattr(self.real(path), DELEGATED) == b"1"
        except (OSError, AttributeError):
            return False

    def folders(self, path: str) -> list[str]:
        return [entry.name for entry in os.scandir(self.real(path)) if entry.is_dir(follow_symlinks=False)]


class Unavailable(msgspec.Struct, frozen=True):
    """The reason why no leaves can be made. Sampling then watches the limits."""

    reason: str


class CgroupDir(msgspec.Struct, frozen=True):
    """A cgroup in which leaves can be made."""

    path: str
    """The cgroup that holds the host, or the one above it: see `_without_subgroup`."""
    available: frozenset[str]
    """Controllers that the kernel offers there."""
    enabled: frozenset[str]
    """Controllers that this cgroup already passes on to the cgroups below it."""
    is_root: bool
    """Whether this cgroup is the root of the hierarchy. Only a root may hold processes and cgroups with limits."""
    is_alone: bool
    """Whether this cgroup has no process but the host, which can move, so that the cgroup can pass limits on."""

    @property
    def controllers(self) -> frozenset[str]:
        """The controllers of a leaf in this cgroup."""
        return self.available if self.is_root or self.is_alone else self.enabled & self.available

    @property
    def shortage(self) -> str:
        """The reason why sampling watches some of the limits; empty if the kernel enforces all limits."""
        if missing := [name for name in WANTED if name not in self.available]:
            return f"{self.path} has no controller for {', '.join(missing)} (cgroup v1 may hold them)"
        if self.controllers != self.available:
            return f"other processes share {self.path}, so no limits can be passed on from it; {DELEGATE}"
        return ""


def survey(
    pid: int | None = None, environ: Mapping[str, str] | None = None, tree: CgroupTree | None = None
) -> CgroupDir | Unavailable:
    """Returns the cgroup in which this process (or `pid`) can make leaves, or why it cannot. Writes nothing."""
    tree, pid = tree or CgroupTree(), pid or os.getpid()
    environ = os.environ if environ is None else environ
    if environ.get(OPT_OUT, "") not in ("", "0"):
        return Unavailable(f"switched off by {OPT_OUT}")
    if sys.platform != "linux":
        return Unavailable("cgroups are Linux's")
    try:
        return _survey(tree, pid)
    except (OSError, ValueError) as error:
        return Unavailable(f"cannot be examined: {error}")


def _survey(tree: CgroupTree, pid: int) -> CgroupDir | Unavailable:
    inside = own_cgroup(tree.read("/proc/self/cgroup"))
    mount = unified_mount(tree.read("/proc/self/mountinfo"))
    if inside is None or mount is None:
        return Unavailable("there is no cgroup v2 hierarchy")
    path = mount.locate(inside)
    if path is None or not tree.exists(f"{path}/cgroup.procs"):
        return Unavailable(f"our cgroup {inside} is outside of what is mounted at {mount.point}")
    if mount.is_read_only:
        return Unavailable(f"{mount.point} is mounted read-only")
    path = _without_subgroup(tree, path)
    if not (tree.may_write(path) and tree.may_write(f"{path}/cgroup.procs")):
        return Unavailable(f"{path} may not be written to; {DELEGATE}")
    is_root = not tree.exists(f"{path}/cgroup.type")
    if not is_root and tree.read(f"{path}/cgroup.type").strip() != "domain":
        return Unavailable(f"{path} is a threaded cgroup")
    wanted = frozenset(WANTED)
    return CgroupDir(
        path,
        available=wanted & frozenset(tree.read(f"{path}/cgroup.controllers").split()),
        enabled=wanted & frozenset(tree.read(f"{path}/cgroup.subtree_control").split()),
        is_root=is_root,
        is_alone=tree.read(f"{path}/cgroup.procs").split() in ([str(pid)], []),
    )


def _without_subgroup(tree: CgroupTree, path: str) -> str:
    """The cgroup above, if systemd has handed that one over and keeps it free of processes (`DelegateSubgroup=`): it
    has passed no controllers on, since that is up to us. Else `path` itself, as for a unit of a user's manager: that
    manager writes to the cgroup above, which was handed over to it."""
    above = os.path.dirname(path)
    if UNIT_NAME.search(path) or not tree.is_delegated(above):
        return path
    has_none = not tree.read(f"{above}/cgroup.procs").split()
    return above if has_none and tree.may_write(f"{above}/cgroup.procs") else path


def own_cgroup(text: str) -> str | None:
    """Returns the path in the v2 line of /proc/self/cgroup, or None. The other lines are v1 hierarchies."""
    for line in text.splitlines():
        if line.startswith("0::/"):
            return line[3:].removesuffix(" (deleted)")
    return None


class Mount(msgspec.Struct, frozen=True):
    """A mount of the v2 hierarchy."""

    point: str
    root: str
    """The cgroup that is visible at `point`."""
    is_read_only: bool

    def locate(self, inside: str) -> str | None:
        """Returns the path at which the cgroup `inside` is visible, or None if it is not visible."""
        parts = [part for part in inside.split("/") if part]
        above = [part for part in self.root.split("/") if part]
        if ".." in parts or parts[: len(above)] != above:
            return None
        return "/".join([self.point.rstrip("/"), *parts[len(above) :]])


def unified_mount(text: str) -> Mount | None:
    """Returns the v2 mount in /proc/self/mountinfo: /sys/fs/cgroup, or a folder in it on hybrid systems. None if v2 is
    not mounted."""
    for line in text.splitlines():
        fields = line.split(" ")
        if "-" not in fields[6:]:
            continue
        dash = fields.index("-", 6)
        if fields[dash + 1] == "cgroup2":
            is_read_only = "ro" in (*fields[5].split(","), *fields[-1].split(","))
            return Mount(_unescaped(fields[4]), _unescaped(fields[3]), is_read_only)
    return None


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
