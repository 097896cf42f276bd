"""The files of a host's cgroup leaves, as another process finds them that ends what a killed host has left.

The watchdog process uses it, so it needs the standard library only.
"""

from __future__ import annotations

import os

HOST_LEAF = "host"
"""The cgroup below a host's own in which the host itself is, if it had to move."""


def leaves(cgroup: str | None) -> list[str]:
    """Folders of the cgroups below a host's own, but for the host's."""
    if cgroup is None:
        return []
    try:
        with os.scandir(cgroup) as entries:
            return [one.path for one in entries if one.name != HOST_LEAF and one.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def members(cgroup: str | None) -> set[int]:
    """Pids of all processes in the leaves, and in what those have made below."""
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
    """Removes the folder with all below it, but for those that anybody is in."""
    for folder, _, _ in os.walk(cgroup, topdown=False) if cgroup else ():
        try:
            os.rmdir(folder)
        except OSError:
            continue
