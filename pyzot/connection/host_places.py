"""Places of the sockets of hosts, and connections to them. The rule of the hosts is repeated here: this package imports
none of the programs."""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
import time

from ..errors import HostError, NoHostError

SUFFIX = ".sock"
LONGEST_PATH = 107 if sys.platform == "linux" else 103
"""Maximum length of a path in an address, in bytes. Longer ones are reached through a descriptor of their folder."""
OWN_DESCRIPTORS = "/proc/self/fd"
RETRY_S = 0.02
"""Seconds between two attempts to connect to a host that has many new clients."""


def zot_home() -> str:
    """Returns `$ZOT_HOME`, else the user's folder for state."""
    if given := os.environ.get("ZOT_HOME"):
        return os.path.join(os.getcwd(), os.path.expanduser(given))
    is_mac = sys.platform == "darwin"
    named = os.environ.get("XDG_DATA_HOME" if is_mac else "XDG_STATE_HOME", "")
    default = os.path.expanduser("~/Library/Application Support" if is_mac else "~/.local/state")
    return os.path.join(named if os.path.isabs(named) else default, "zot")


def folders() -> list[str]:
    """Returns all folders that may have sockets."""
    fallback = os.path.join(zot_home(), "run")
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(given) and _is_ours(given):
        return [os.path.join(given, "zot"), fallback]
    return [fallback]


def _is_ours(path: str) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and os.access(path, os.W_OK | os.X_OK)


def sockets() -> dict[int, str]:
    """Returns the path of each socket by the pid of its host, lowest pid first. The host may have ended."""
    found = {}
    for folder in folders():
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            pid = name.removesuffix(SUFFIX)
            if name != pid and pid.isdecimal():
                found[int(pid)] = os.path.join(folder, name)
    return dict(sorted(found.items()))


def connect(path: str, timeout_s: float) -> socket.socket:
    """Connects. Raises `NoHostError` if no host listens there, `HostError` if it cannot be reached."""
    deadline = time.monotonic() + timeout_s
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.setblocking(False)
        while not _connects(connection, path):
            if time.monotonic() > deadline:
                raise HostError(f"the host at {path} has accepted no new client for {timeout_s:g} s")
            time.sleep(RETRY_S)
    except (ConnectionRefusedError, FileNotFoundError):
        connection.close()
        raise NoHostError(f"no host listens at {path}") from None
    except OSError as error:
        connection.close()
        raise HostError(f"the host at {path} cannot be reached: {error.strerror or error}") from None
    except BaseException:
        connection.close()
        raise
    return connection


def _connects(connection: socket.socket, path: str) -> bool:
    """Connects. Returns False while the host has no room for another client."""
    folder = -1
    try:
        if len(os.fsencode(path)) <= LONGEST_PATH:
            address = path
        elif os.path.isdir(OWN_DESCRIPTORS):
            folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            address = f"{OWN_DESCRIPTORS}/{folder}/{os.path.basename(path)}"
        else:
            raise OSError(errno.ENAMETOOLONG, f"its path is longer than {LONGEST_PATH} bytes")
        connection.connect(address)
    except BlockingIOError:
        return False
    finally:
        if folder >= 0:
            os.close(folder)
    return True
