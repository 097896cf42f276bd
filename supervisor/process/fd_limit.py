"""The limit of open descriptors: raises it for many workers, divides it between them and the host, and gives children
the limit that the user has set."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

OF_HOST = 256
"""Descriptors that the host needs besides its workers."""
OF_WORKER = 8
"""Descriptors of one worker: three pipes, the pidfd, the log and its times, its /proc/PID/stat, and one to spare."""
SPARE = 48
"""Descriptors that no worker may take, so that the host can still serve clients, take samples and stop: at most a
quarter of the limit."""
OF_CLIENTS = 4
"""Divisor of the spare descriptors: clients leave a quarter of them to the host."""

LEAST = 32
"""Minimum number of descriptors with which a host can serve."""


class _Known:
    """The results of `provide` in this process."""

    raised_from: int | None = None
    """The soft limit before it was raised; None until then."""
    wanted = 0
    """The largest number of descriptors that was asked for."""


def required_descriptors(workers: int) -> int:
    """Descriptors that a host with this many workers needs."""
    return OF_HOST + OF_WORKER * workers


def provide(workers: int) -> int:
    """Raises this process's soft limit for this many workers, at most to the hard limit. Returns how many descriptors
    are still missing. Children that are started within `users_limit` get the limit as it was before."""
    wanted = required_descriptors(workers)
    _Known.wanted = max(_Known.wanted, wanted)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return 0
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    except (OSError, ValueError):
        allowed = soft
    else:
        _Known.raised_from = soft if _Known.raised_from is None else _Known.raised_from
    return wanted - allowed


# --- what is left -------------------------------------------------------------------------------------------


def soft_limit() -> int:
    """The number of descriptors that this process may have; a large number if there is no limit."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 30 if soft == resource.RLIM_INFINITY else soft


def advice() -> str:
    """Says which limit to raise, as a hint to a message about too many open files."""
    to = f" to {_Known.wanted}" if _Known.wanted > soft_limit() else ""
    return f"raise ulimit -n{to}, now {soft_limit()}"


def check_least() -> None:
    """Raises `OSError` with a text for the user if this process may have fewer than `LEAST` descriptors."""
    if soft_limit() < LEAST:
        raise OSError(f"this process may open {soft_limit()} files, and needs {LEAST} at least: raise ulimit -n")


def spare(soft: int) -> int:
    """The descriptors of a `soft` limit that no worker may take. Pure."""
    return min(SPARE, soft // 4)


def first_spare() -> int:
    """The number of the first spare descriptor. The kernel gives the lowest number that is free, so a descriptor below
    it leaves the spare ones free."""
    soft = soft_limit()
    return soft - spare(soft)


def first_of_host() -> int:
    """The number of the first descriptor that clients may not take either."""
    soft = soft_limit()
    return soft - spare(soft) // OF_CLIENTS


def require_free(descriptors: int = OF_WORKER) -> None:
    """Raises `OSError` (EMFILE), unless `descriptors` more leave the spare ones free."""
    fd = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.close(fd)
    if fd + descriptors > first_spare():
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


# --- children -----------------------------------------------------------------------------------------------


@contextmanager
def users_limit() -> Iterator[None]:
    """A child that is started in this block gets the soft limit with which this process was started. Within the block
    the host can open few descriptors, or none."""
    if _Known.raised_from is None:
        yield
        return
    raised, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(_Known.raised_from, raised), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))


def give_users_limit(pid: int) -> None:
    """Gives the user's limit to a running child that was started outside of `users_limit` (Linux)."""
    if _Known.raised_from is not None and hasattr(resource, "prlimit"):
        try:
            hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (_Known.raised_from, hard))
        except (OSError, ValueError):
            pass  # it has ended already, or has lowered its limits
