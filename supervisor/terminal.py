"""Whether this process has a controlling terminal: SIGHUP means another thing when that has just gone."""

from __future__ import annotations

import os

TERMINAL = "/dev/tty"


def has_terminal(path: str = TERMINAL) -> bool:
    """The kernel takes the terminal away from every process of the session before it sends SIGHUP, and this then cannot
    be opened any more (ENXIO; EIO on some systems)."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    os.close(fd)
    return True
