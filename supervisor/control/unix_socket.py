"""Unix sockets by path: listens on one, connects to one, and finds out which user is at the other end.

The path in an address is limited to about a hundred bytes. Longer paths are reached through a descriptor of their
folder, by `/proc/self/fd`, on systems that have it.
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
"""Maximum of a path in an address in bytes, without the final zero."""
BACKLOG = 64
RETRY_S = 0.02
"""Seconds between two attempts to connect to a socket with a full backlog."""
_OWN_DESCRIPTORS = "/proc/self/fd"


def listen(folder: Path, pid: int, suffix: str = runtime_dir.SUFFIX) -> tuple[socket.socket, Path]:
    """Returns a listening socket at `folder/<pid><suffix>`, mode 0600. The socket gets this name only after it listens,
    so that a client that finds it can connect. Sockets of hosts that have ended are removed. Raises `OSError` with a
    text for the user."""
    runtime_dir.prepare(folder)
    sweep(folder)
    path = runtime_dir.socket_of(folder, pid, suffix)
    if has_listener(path):
        raise OSError(f"another host listens on {path} already; set XDG_RUNTIME_DIR to another folder")
    try:
        return make_listener(path, runtime_dir.temporary_path(folder, pid)), path
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(f"cannot serve {path}: {error.strerror}; set XDG_RUNTIME_DIR or ZOT_HOME") from None


def make_listener(path: Path, temporary: Path) -> socket.socket:
    """Returns a listening socket at `path`, mode 0600, in place of what is there. Until it listens it has the name
    `temporary`, in the same folder. Raises `OSError`."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | getattr(socket, "SOCK_NONBLOCK", 0))
    try:
        listener.setblocking(False)
        temporary.unlink(missing_ok=True)
        with _address(temporary) as address:
            listener.bind(address)
        os.chmod(temporary, 0o600)
        listener.listen(BACKLOG)
        os.rename(temporary, path)
    except OSError:
        listener.close()
        raise
    return listener


def sweep(folder: Path) -> None:
    """Removes the sockets of hosts that have ended. A socket whose pid is in use again stays; `connect` removes it."""
    own = runtime_dir
    suffixes = (own.SUFFIX, own.ATTACH_SUFFIX, own.BATCH_SUFFIX, own.BATCH_CONTROL_SUFFIX, own.ALERTS_SUFFIX)
    for pid, path in (found for suffix in suffixes for found in runtime_dir.sockets_in(folder, suffix)):
        # A host in another container has a pid that is not alive here, but it listens.
        if not runtime_dir.is_alive(pid) and not has_listener(path):
            _remove(path)
    for path in runtime_dir.abandoned_sockets(folder):
        _remove(path)


def has_listener(path: Path) -> bool:
    """Whether a process listens on this socket."""
    return fault_of_connecting(path) is None


def fault_of_connecting(path: Path) -> OSError | None:
    """Why no connection to this socket is possible; None if a process listens there."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            with _address(path) as address:
                probe.connect(address)
        except BlockingIOError:
            return None  # its backlog is full
        except OSError as error:
            return error
    return None


def connect(path: Path, timeout_s: float) -> socket.socket:
    """Returns a connected socket. Each step blocks for `timeout_s` seconds at most. Raises `OSError`.
    `ConnectionRefusedError` means that no process listens there; the socket file has then been removed."""
    deadline = time.monotonic() + timeout_s
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(timeout_s)
        with _address(path) as address:
            while not _connects(connection, address):
                if time.monotonic() >= deadline:
                    raise TimeoutError(f"it has accepted no new client for {timeout_s:g} s")
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
    """Connects. Returns False while the backlog is full: Linux does not wait for room if the socket has a timeout."""
    try:
        connection.connect(address)
    except BlockingIOError:
        return False
    return True


def peer_uid(connection: socket.socket) -> int | None:
    """The uid that the process at the other end had when it connected; -1 if the connection has ended; None if the
    system cannot tell. With None the permissions of the folder keep other users out."""
    try:
        if hasattr(socket, "SO_PEERCRED"):
            size = struct.calcsize("3i")
            return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1])
        if hasattr(socket, "LOCAL_PEERCRED"):  # macOS, BSD: struct xucred; its second member is the uid
            return int(struct.unpack_from("II", connection.getsockopt(0, socket.LOCAL_PEERCRED, 76))[1])
    except OSError:
        return -1
    return None


def remove_own(path: Path, listener: socket.socket, made: tuple[int, int]) -> None:
    """Closes a listener and removes its socket, unless the path now belongs to another host. `made` is the device and
    inode of the socket."""
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
        pass  # it is removed already, or the folder cannot be written; both are harmless


@contextmanager
def _address(path: Path) -> Iterator[str]:
    """The address to bind or connect to. It is valid within the `with` block."""
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
