"""Lists, kills and removes the cgroup leaves of a host. Another process uses this to clean up after the host.

The reaper imports this module, so it needs only the standard library.
"""

from __future__ import annotations

import os

HOST_LEAF = "host"
"""Name of the leaf that holds the host itself, if the host had to move."""


def leaves(cgroup: str | None) -> list[str]:
    """Returns the folders of the cgroups below the host's cgroup, without the leaf of the host itself."""
    if cgroup is None:
        return []
    try:
        with os.scandir(cgroup) as entries:
            return [entry.path for entry in entries if entry.name != HOST_LEAF and entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def members(cgroup: str | None) -> set[int]:
    """Returns the pids of all processes in the leaves and in all cgroups below the leaves."""
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
    """Sends SIGKILL to all processes in the leaves. Does nothing before Linux 5.14."""
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
    """Removes the host's cgroup and all cgroups below it. A cgroup that holds processes stays."""
    for folder, _, _ in os.walk(cgroup, topdown=False) if cgroup else ():
        try:
            os.rmdir(folder)
        except OSError:
            continue
