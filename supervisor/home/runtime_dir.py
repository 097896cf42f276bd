"""The runtime folder, with one `<pid>.sock` for each running host. Only its user can enter it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.home.zot_home import private_folder, zot_home

if TYPE_CHECKING:
    from collections.abc import Mapping

SUFFIX = ".sock"
"""The ending of control sockets."""
ATTACH_SUFFIX = ".attach"
"""The ending of the sockets by which runs attach to a host."""
BATCH_SUFFIX = ".batch.attach"
"""The same of the host of a batch, which `--host` does not find: only the runs of the batch are told of it."""
BATCH_CONTROL_SUFFIX = ".batch.sock"
"""The ending of the control sockets of batches."""
ALERTS_SUFFIX = ".alerts"
"""The ending of the pipe into which the runs of a batch write their events."""


class UnusableError(OSError):
    """The folder cannot be used; the text has the reason and what to do."""


def runtime_dir(home: Path | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """Returns the folder for the socket of a new host: `$XDG_RUNTIME_DIR/zot` if that variable names a folder of this
    user, else `$ZOT_HOME/run`. Does not make the folder."""
    return runtime_dirs(home, environ)[0]


def runtime_dirs(home: Path | None = None, environ: Mapping[str, str] | None = None) -> list[Path]:
    """Returns all folders that may hold sockets of hosts, first the one for new hosts. Other hosts may have been
    started in another environment."""
    environ = os.environ if environ is None else environ
    fallback = (home or zot_home()) / "run"
    given = environ.get("XDG_RUNTIME_DIR", "")
    if given and os.path.isabs(given) and _is_ours(given):
        return [Path(given) / "zot", fallback]
    return [fallback]


def _is_ours(path: str) -> bool:
    """Whether the path is a folder of this user. Under sudo or su the variable may still name another user's folder."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and os.access(path, os.W_OK | os.X_OK)


def prepare(folder: Path) -> None:
    """Makes the folder, and makes sure that no other user can enter it. Raises `UnusableError` if that fails."""
    try:
        private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = os.lstat(folder)  # not stat: a link could lead to a folder that others may write to
        if not stat.S_ISDIR(found.st_mode):
            raise UnusableError(f"{folder} is no folder; remove it")
        if found.st_uid != os.geteuid():
            raise UnusableError(f"{folder} belongs to another user; remove it, or set XDG_RUNTIME_DIR or ZOT_HOME")
        if found.st_mode & 0o077:
            os.chmod(folder, 0o700)
    except UnusableError:
        raise
    except OSError as error:
        raise UnusableError(f"cannot make {folder}: {error.strerror}; set XDG_RUNTIME_DIR or ZOT_HOME") from None


def socket_of(folder: Path, pid: int, suffix: str = SUFFIX) -> Path:
    """Returns the path of the socket of the host `pid`."""
    return folder / f"{pid}{suffix}"


def sockets_in(folder: Path, suffix: str = SUFFIX) -> list[tuple[int, Path]]:
    """Returns pid and path of each socket, lowest pid first. Looks only at file names: the host may be gone."""
    return sorted(
        (int(name.removesuffix(suffix)), folder / name)
        for name in _names(folder)
        if name.endswith(suffix) and name.removesuffix(suffix).isdecimal()
    )


def temporary_path(folder: Path, pid: int) -> Path:
    """Returns the path of a socket before its host listens on it."""
    return folder / f".{pid}.new"


def abandoned_sockets(folder: Path) -> list[Path]:
    """Returns the temporary sockets of hosts that are gone."""
    found = []
    for name in _names(folder):
        pid = name.removeprefix(".").removesuffix(".new")
        if name == f".{pid}.new" and pid.isdecimal() and not is_alive(int(pid)):
            found.append(folder / name)
    return found


def is_alive(pid: int) -> bool:
    """Whether some process has this pid; it may be another process than before."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
