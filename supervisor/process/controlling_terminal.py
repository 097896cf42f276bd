"""Whether this process has a terminal that can hang up."""

from __future__ import annotations

import os

TERMINAL = "/dev/tty"


def has_terminal(path: str = TERMINAL) -> bool:
    """Whether this process has a controlling terminal. When a terminal hangs up, the kernel first takes it from every
    process of the session, then sends SIGHUP. Opening the terminal then fails (ENXIO; EIO on some systems)."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    os.close(fd)
    return True
