"""The memory of a process that shares most of it with others. Linux only.

A fork shares its template's pages until it writes them, so its resident memory says little: 74 MB, of which 6 are its
own.
"""

from __future__ import annotations

import os

_PAGE = os.sysconf("SC_PAGE_SIZE")


def uss(pid: int) -> int | None:
    """Bytes that the end of the process would free: the pages that no other process has. Takes about 0.5 ms. None if it
    cannot be read: the process has ended, or belongs to another user."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    return sum(int(line.split()[1]) for line in lines if line.startswith(b"Private_")) * 1024


def resident(pid: int) -> int:
    """Bytes in memory, shared ones included; 0 if the process has ended. Takes 0.01 ms."""
    return _statm(pid)[1] * _PAGE


def anonymous(pid: int) -> int:
    """Bytes in memory that lie in no file, shared ones included; 0 if the process has ended. Takes 0.01 ms."""
    words = _statm(pid)
    return (words[1] - words[2]) * _PAGE


def _statm(pid: int) -> list[int]:
    try:
        fd = os.open(f"/proc/{pid}/statm", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return [0, 0, 0]
    try:
        return [int(word) for word in os.read(fd, 256).split()] or [0, 0, 0]
    except OSError:
        return [0, 0, 0]
    finally:
        os.close(fd)
