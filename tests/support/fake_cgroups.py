"""A cgroup hierarchy of plain files, with the rules of the kernel's that matter here."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

from supervisor.process.cgroup_survey import CgroupTree

if TYPE_CHECKING:
    from pathlib import Path

HOST = 4242
V2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
FILES = {
    "memory": ("memory.max", "memory.current", "memory.peak", "memory.events"),
    "pids": ("pids.max", "pids.current"),
    "cpu": ("cpu.max",),
}


def refuse(number: int) -> None:
    raise OSError(number, os.strerror(number))


class FakeCgroups(CgroupTree):
    """`own` is the cgroup that the host is in, with `others` next to it."""

    def __init__(
        self,
        root: Path,
        *,
        own: str = "/user.slice/zot.scope",
        controllers: str = "cpu io memory pids",
        enabled: str = "",
        others: tuple[int, ...] = (),
        mounts: str = V2,
        point: str = "/sys/fs/cgroup",
    ) -> None:
        super().__init__(root)
        self.point = point
        self.refused: set[str] = set()
        """Ends of paths that cannot be written to."""
        self.delegated: set[str] = set()
        """Paths that systemd has handed over."""
        self.put("/proc/self/cgroup", f"5:freezer:/\n0::{own}\n")
        self.put("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/root rw\n" + mounts)
        self.put(f"/proc/{HOST}/stat", "")
        self.own = f"{point}{own.rstrip('/')}"
        self.real(self.own).mkdir(parents=True)
        self.populate(self.own, controllers, is_root=own == "/")
        self.put(f"{self.own}/cgroup.subtree_control", enabled)
        self.put(f"{self.own}/cgroup.procs", "".join(f"{pid}\n" for pid in (HOST, *others)))

    def put(self, path: str, text: str) -> None:
        file = self.real(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def populate(self, path: str, controllers: str, *, is_root: bool = False) -> None:
        self.put(f"{path}/cgroup.procs", "")
        self.put(f"{path}/cgroup.controllers", controllers)
        self.put(f"{path}/cgroup.subtree_control", "")
        if not is_root:
            self.put(f"{path}/cgroup.type", "domain\n")
            self.put(f"{path}/cgroup.kill", "")
            self.put(f"{path}/cpu.stat", "usage_usec 2500000\nuser_usec 1\n")
            for name in controllers.split():
                for file in FILES.get(name, ()):
                    self.put(f"{path}/{file}", "")

    def is_delegated(self, path: str) -> bool:
        return path in self.delegated

    def procs(self, path: str) -> list[int]:
        return [int(pid) for pid in self.read(f"{path}/cgroup.procs").split()]

    # --- what the kernel does -----------------------------------------------------------------------------

    def make(self, path: str) -> None:
        parent = os.path.dirname(path)
        if any(parent.endswith(end) for end in self.refused):
            refuse(errno.EACCES)
        super().make(path)
        self.populate(path, self.read(f"{parent}/cgroup.subtree_control"))

    def remove(self, path: str) -> None:
        folder = self.real(path)
        if not folder.exists():
            refuse(errno.ENOENT)
        if self.procs(path) or any(path.is_dir() for path in folder.iterdir()):
            refuse(errno.EBUSY)
        shutil.rmtree(folder)

    def write(self, path: str, text: str) -> None:
        folder, file = os.path.split(path)
        if not self.exists(path):
            refuse(errno.ENOENT)
        if any(path.endswith(end) for end in self.refused):
            refuse(errno.EACCES)
        if file == "cgroup.subtree_control":
            self.switch(folder, text[0] == "+", text[1:])
        elif file == "cgroup.procs":
            self.move(folder, int(text))
        else:
            self.put(path, text)

    def switch(self, folder: str, on: bool, name: str) -> None:
        current = set(self.read(f"{folder}/cgroup.subtree_control").split())
        below = [f"{folder}/{name}" for name in self.folders(folder)]
        if on:
            if name not in self.read(f"{folder}/cgroup.controllers").split():
                refuse(errno.ENOENT)
            if self.procs(folder) and self.exists(f"{folder}/cgroup.type"):
                refuse(errno.EBUSY)  # no process may be beside those below
            current.add(name)
        else:
            if any(name in self.read(f"{path}/cgroup.subtree_control").split() for path in below):
                refuse(errno.EBUSY)
            current.discard(name)
        self.put(f"{folder}/cgroup.subtree_control", " ".join(sorted(current)))
        for path in below:
            self.put(f"{path}/cgroup.controllers", " ".join(sorted(current)))
            for file in FILES[name]:
                if on:
                    self.put(f"{path}/{file}", "")
                else:
                    self.real(f"{path}/{file}").unlink()

    def move(self, folder: str, pid: int) -> None:
        if self.read(f"{folder}/cgroup.subtree_control").split() and self.exists(f"{folder}/cgroup.type"):
            refuse(errno.EBUSY)
        for file in self.real(self.point).rglob("cgroup.procs"):
            file.write_text("".join(f"{other}\n" for other in file.read_text().split() if int(other) != pid))
        self.put(f"{folder}/cgroup.procs", "".join(f"{member}\n" for member in (*self.procs(folder), pid)))
