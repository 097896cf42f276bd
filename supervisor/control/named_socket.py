"""A listening socket at a path that the user has chosen, such as `zot rpc --listen PATH`.

No file of anyone is removed but a socket of this user on which no process listens. The folder must belong to this user,
and nobody else may write to it: else another user could put a socket of his own in the place of this one, and clients
would send him their token.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from supervisor.control.unix_socket import LONGEST_PATH, fault_of_connecting, make_listener
from supervisor.home.safe_files import take_lock

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

LOCK_S = 2.0
"""Default maximum wait in seconds for another process that makes a socket in the same folder."""


class UnusablePathError(Exception):
    """No socket can be made at the path; the text says why and what to do."""


class InUseError(UnusablePathError):
    """Another process listens there."""


def listen_at(path: Path, wait_s: float = LOCK_S) -> socket.socket:
    """Returns a listening socket at this absolute path, mode 0600, in place of one on which no process listens. Waits
    `wait_s` at most for another process that makes one in the same folder. Raises `UnusablePathError`."""
    _check_folder(path.parent)
    try:
        with _locked(path.parent, wait_s):
            _check_place(path)
            return make_listener(path, path.with_name(f".{os.getpid()}.new"))
    except OSError as error:
        raise UnusablePathError(f"cannot make the socket {path}: {error.strerror or error}") from None


def advice_on_length(path: Path) -> str:
    """A line for the user about a path that most programs cannot connect to; "" about any other."""
    size = len(os.fsencode(path))
    if size <= LONGEST_PATH:
        return ""
    return (
        f"the path has {size} bytes, and most programs connect to {LONGEST_PATH} at most: use a relative path, or"
        " choose a shorter one"
    )


def _check_folder(folder: Path) -> None:
    try:
        found = os.stat(folder)
    except FileNotFoundError:
        raise UnusablePathError(f"there is no folder {folder}; make it: mkdir -m 700 {folder}") from None
    except OSError as error:
        raise UnusablePathError(f"{folder}: {error.strerror}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise UnusablePathError(f"{folder} is no folder")
    if found.st_uid != os.geteuid():
        raise UnusablePathError(f"the folder {folder} belongs to another user: {_ADVICE}")
    if found.st_mode & (stat.S_IWOTH | stat.S_IWGRP):
        raise UnusablePathError(f"others may write to the folder {folder}: chmod go-w it, or {_ADVICE}")


_ADVICE = "choose a folder of your own, such as $XDG_RUNTIME_DIR"


def _check_place(path: Path) -> None:
    """Makes sure that nothing is at the path, or a socket of this user that nobody serves."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise UnusablePathError(f"{path} is {_kind(found.st_mode)}, and no socket: choose another path")
    if found.st_uid != os.geteuid():
        raise UnusablePathError(f"the socket {path} belongs to another user: choose another path")
    fault = fault_of_connecting(path)
    if fault is None:
        raise InUseError(f"another process listens on {path} already: stop it, or choose another path")
    if fault.errno not in (errno.ECONNREFUSED, errno.ENOENT):
        raise UnusablePathError(
            f"the socket {path} may be in use ({fault.strerror}): remove it, or choose another path"
        )


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a link" if stat.S_ISLNK(mode) else "a file"


@contextmanager
def _locked(folder: Path, wait_s: float) -> Iterator[None]:
    """Two processes that start at the same time must not both find an unserved socket, and replace each other's.
    Raises `UnusablePathError`."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not take_lock(fd, wait_s):
            raise UnusablePathError(f"another program has locked the folder {folder}; try again, or choose another")
        yield
    finally:
        os.close(fd)
