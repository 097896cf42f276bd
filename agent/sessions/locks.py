"""Tells whether a run has the lock of a session file, without taking it where the system says so: a lock that is
tried, if only for a moment, would make a run fail that takes it then."""

from __future__ import annotations

import fcntl
from pathlib import Path

LOCKS = Path("/proc/locks")


def locked_inodes(listing: Path = LOCKS) -> frozenset[int] | None:
    """Inode numbers of all files that somebody has locked; None where the system has no such list."""
    try:
        lines = listing.read_bytes().splitlines()
    except OSError:
        return None
    found = set()
    for line in lines:
        words = line.split()  # 1: FLOCK  ADVISORY  WRITE 3991 fe:00:2148684 0 EOF
        if b"FLOCK" in words and (place := next((word for word in words if word.count(b":") == 2), b"")):
            number = place.rpartition(b":")[2]
            if number.isdigit():
                found.add(int(number))
    return frozenset(found)


def is_locked(fd: int, inode: int, locked: frozenset[int] | None) -> bool:
    """Whether another descriptor has the lock. Only a file that may be locked is tried: another file system can have a
    file with the same inode number."""
    if locked is not None and inode not in locked:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False
