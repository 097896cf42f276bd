"""The cgroup leaves of a host, for another process that cleans up after it: lists, kills and removes them.

The reaper imports this, so it needs only the standard library.
"""

from __future__ import annotations

import os

HOST_LEAF = "host"
"""Name of the leaf that holds the host itself, if the host had to move."""


def leaves(cgroup: str | None) -> list[str]:
    """Folders of the cgroups below a host's own, without the leaf of the host itself."""
    if cgroup is None:
        return []
    try:
        with os.scandir(cgroup) as entries:
            return [entry.path for entry in entries if entry.name != HOST_LEAF and entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def members(cgroup: str | None) -> set[int]:
    """Pids of all processes in the leaves, and in the cgroups that those processes made below."""
    found: set[int] = set()
    for leaf in leaves(cgroup):
        for folder, _, _ in os.walk(leaf):
            try:
                with open(f"{folder}/cgroup.procs", "rb") as file:
                    found.update(map(int, file.read().split()))
            except (OSError, ValueError):
                continue
    return found - {0}


def kill_leaves(cgroup: str | None) -> None:
    for leaf in leaves(cgroup):
        try:
            fd = os.open(f"{leaf}/cgroup.kill", os.O_WRONLY)
        except OSError:
            continue  # a kernel before 5.14
        try:
            os.write(fd, b"1")
        except OSError:
            pass
        finally:
            os.close(fd)


def remove_leaves(cgroup: str | None) -> None:
    """Removes the folder and all folders below it, except those that hold processes."""
    for folder, _, _ in os.walk(cgroup, topdown=False) if cgroup else ():
        try:
            os.rmdir(folder)
        except OSError:
            continue
