"""Marks in the environment of every child: which host started it, for which extension, and in which start.

They identify a process whose parents have ended.
"""

from __future__ import annotations

import os

from supervisor.process.table import ON_LINUX

TOKEN = "ZOT_HOST_TOKEN"  # noqa: S105  (a name, and it opens nothing)
"""Names the host of a process, so that the processes of a killed host can be found."""
EXTENSION = "ZOT_EXTENSION"
"""Names the extension of a process."""
START = "ZOT_EXTENSION_START"
"""Names one start of a worker: an extension may have several workers at the same time, even of two versions."""


def environment_of(pid: int) -> bytes:
    """Returns the environment with which a process of this user was started: variables, each followed by a zero byte.
    Empty if it cannot be read."""
    if not ON_LINUX:
        return _environment_portable(pid)
    try:
        if os.stat(f"/proc/{pid}").st_uid != os.geteuid():
            return b""
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def bears_token(environment: bytes, token: str) -> bool:
    """Whether this environment contains the host token `token`, or one that begins with it and a dot: the token of a
    part of that host, such as a run of a batch."""
    mark = f"{TOKEN}={token}".encode()
    if mark not in environment:
        return False
    return any(entry == mark or entry.startswith(mark + b".") for entry in environment.split(b"\0"))


def _environment_portable(pid: int) -> bytes:
    try:
        import psutil

        process = psutil.Process(pid)
        if process.uids().effective != os.geteuid():
            return b""
        return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in process.environ().items())
    except (ImportError, OSError, psutil.Error):
        return b""
