"""Sees to it that there are enough descriptors for many extensions."""

from __future__ import annotations

import resource

OF_HOST = 256
OF_WORKER = 8
"""Three pipes, the process, its log, what is known of its processes, and two to spare."""


def needed(workers: int) -> int:
    """Descriptors for so many workers."""
    return OF_HOST + OF_WORKER * workers


def provide(workers: int) -> int:
    """Raises this process's soft limit as far as so many workers need and the hard limit allows, and returns how many
    descriptors are missing even then. Children inherit the limit."""
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
