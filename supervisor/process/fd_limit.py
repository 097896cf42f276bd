"""Raises the limit of open descriptors for many workers."""

from __future__ import annotations

import resource

OF_HOST = 256
"""Descriptors that the host needs besides its workers."""
OF_WORKER = 8
"""Descriptors of one worker: three pipes, the pidfd, the log, its /proc/PID/stat, and two to spare."""


def needed(workers: int) -> int:
    """Descriptors that a host with this many workers needs."""
    return OF_HOST + OF_WORKER * workers


def provide(workers: int) -> int:
    """Raises this process's soft limit for this many workers, at most to the hard limit. Returns how many descriptors
    are still missing. Children inherit the limit."""
    wanted = needed(workers)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return 0
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    except (OSError, ValueError):
        allowed = soft
    return wanted - allowed
