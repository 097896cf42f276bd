"""Unix sockets by path: listening on one, connecting to one, and who is at the other end.

An address has room for about a hundred bytes of path. Longer ones are reached through a descriptor of their folder, by
`/proc/self/fd`, where there is such a thing.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from supervisor.home import runtime_dir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONGEST_PATH = 107 if sys.platform == "linux" else 103
"""Bytes, without the final zero."""
BACKLOG = 64
RETRY_S = 0.02
_OWN_DESCRIPTORS = "/proc/self/fd"


def listen(folder: Path, pid: int) -> tuple[socket.socket, Path]:
    """A listening socket at `folder/<pid>.sock`, 0600. It has that name only once it listens: to find it is to be able
    to connect. Sockets that dead hosts have left are removed. Raises `OSError` with a text for the user."""
    runtime_dir.prepare(folder)
    sweep(folder)
    path = runtime_dir.socket_of(folder, pid)
    if somebody_listens(path):
        raise OSError(f"another host listens on {path} already; set XDG_RUNTIME_DIR to another folder")
    temporary = runtime_dir.temporary_of(folder, pid)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | getattr(socket, "SOCK_NONBLOCK", 0))
    try:
        listener.setblocking(False)
        temporary.unlink(missing_ok=True)
        with _address(temporary) as address:
            listener.bind(address)
        os.chmod(temporary, 0o600)
        listener.listen(BACKLOG)
        os.rename(temporary, path)
    except OSError as error:
        listener.close()
        if error.errno is None:
            raise
        raise OSError(f"cannot serve {path}: {error.strerror}; set XDG_RUNTIME_DIR or ZOT_HOME") from None
    return listener, path


def sweep(folder: Path) -> None:
    """Removes what hosts that are gone have left. A pid that is in use again is left to those who try to connect."""
    for pid, path in runtime_dir.sockets_in(folder):
        # A pid says nothing of a host in another container: nobody must be listening either.
        if not runtime_dir.is_alive(pid) and not somebody_listens(path):
            _remove(path)
    for path in runtime_dir.abandoned_in(folder):
        _remove(path)


def somebody_listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            with _address(path) as address:
                probe.connect(address)
        except BlockingIOError:
            return True  # its backlog is full
        except OSError:
            return False
    return True


def connect(path: Path, timeout_s: float) -> socket.socket:
    """A socket that is connected, blocking for `timeout_s` at most at each step. Raises `OSError`; one that nobody
    listens on (`ConnectionRefusedError`) has been removed then."""
    deadline = time.monotonic() + timeout_s
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(timeout_s)
        with _address(path) as address:
            while not _connects(connection, address):
                if time.monotonic() >= deadline:
                    raise TimeoutError(f"it has taken no new client for {timeout_s:g} s")
                time.sleep(RETRY_S)
    except ConnectionRefusedError:
        connection.close()
        _remove(path)
        raise
    except BaseException:
        connection.close()
        raise
    return connection


def _connects(connection: socket.socket, address: str) -> bool:
    """False while the backlog is full: Linux does not wait for room on a socket with a timeout."""
    try:
        connection.connect(address)
    except BlockingIOError:
        return False
    return True


def peer_uid(connection: socket.socket) -> int | None:
    """The user at the other end, as the kernel saw it connect; None where the system does not tell. There the folder,
    which only its owner can enter, is what keeps others out."""
    try:
        if hasattr(socket, "SO_PEERCRED"):
            size = struct.calcsize("3i")
            return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1])
        if hasattr(socket, "LOCAL_PEERCRED"):  # macOS, BSD: struct xucred; its second member is the uid
            return int(struct.unpack_from("II", connection.getsockopt(0, socket.LOCAL_PEERCRED, 76))[1])
    except OSError:
        return -1  # gone again: nobody
    return None


def remove_own(path: Path, listener: socket.socket, made: tuple[int, int]) -> None:
    """Removes a socket unless another host's is at its path by now. `made` is its device and inode."""
    listener.close()
    try:
        found = os.lstat(path)
    except OSError:
        return
    if (found.st_dev, found.st_ino) == made:
        _remove(path)


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass  # somebody was faster, or the folder cannot be written: it does no harm


@contextmanager
def _address(path: Path) -> Iterator[str]:
    """What to bind or connect to."""
    if len(os.fsencode(path)) <= LONGEST_PATH:
        yield str(path)
        return
    if not os.path.isdir(_OWN_DESCRIPTORS):
        raise OSError(
            f"the path {path} is longer than the {LONGEST_PATH} bytes that a socket's can have;"
            " set XDG_RUNTIME_DIR to a folder with a shorter one"
        )
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"{_OWN_DESCRIPTORS}/{folder}/{path.name}"
    finally:
        os.close(folder)
