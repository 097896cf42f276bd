"""Opens the files of a RUNDIR. Whoever prepared the folder cannot lead a batch out of it, or have it wait.

Below RUNDIR no name is followed as a link, and each is a regular file, or a folder, of the user or of the owner of
RUNDIR. The path to RUNDIR may have links. All that is made is for the user only: 0700 and 0600, less the umask.

`depth` is the number of the last names of a path that lie in RUNDIR: 1 for `RUNDIR/journal.jsonl`, 3 for
`RUNDIR/runs/NAME/1.stderr`.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from agent.batch.journal.errors import FolderError
from supervisor.home.delete_tree import OPEN_FOLDER
from supervisor.home.safe_files import OPEN_SAFELY, SPECIAL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINE_LIMIT = 64 << 20
"""Maximum length of a line in bytes. `zot batch` writes no longer one; it is not kept in memory."""
SMALL = 16 << 20
"""Maximum size of a file that is read as a whole, in bytes."""
IN_RUNS, IN_DIFFS = 3, 2
"""`depth` of files in `runs/NAME/`, and in `diffs/`."""
_OPEN_FILE = os.O_NOFOLLOW | OPEN_SAFELY
_KINDS = {**SPECIAL, stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFREG: "a file"}


def open_rundir_file(path: Path, flags: int = os.O_RDONLY, *, depth: int = 1) -> int:
    """A descriptor of a regular file. With `os.O_CREAT` it makes the file and the folders between RUNDIR and it that
    are missing. Raises `FolderError` for anything else of that name, `OSError`."""
    return _open(path, flags & ~os.O_TRUNC | _OPEN_FILE, depth, is_emptied=bool(flags & os.O_TRUNC))


def make_rundir_folder(path: Path, *, depth: int = 1) -> None:
    """Makes a folder in RUNDIR, and missing ones above it. Raises `FolderError` for anything else there, `OSError`."""
    os.close(_open(path, OPEN_FOLDER | os.O_CREAT, depth))


def read_rundir_file(path: Path) -> bytes:
    """A small file as a whole. Raises `FolderError` also for one of more than `SMALL` bytes, `OSError`."""
    with open(open_rundir_file(path), "rb") as file:
        text = file.read(SMALL + 1)
    if len(text) > SMALL:
        raise FolderError(f"{path}: is larger than {SMALL >> 20} MiB: zot batch has not written it")
    return text


def rundir_lines(path: Path, *, depth: int = 1) -> Iterator[bytes]:
    """The lines of a file, each with its LF if it has one; one that is longer than `LINE_LIMIT` comes in pieces.
    Raises `FolderError`, `OSError`."""
    with open(open_rundir_file(path, depth=depth), "rb") as file:
        yield from iter(lambda: file.readline(LINE_LIMIT), b"")


def rundir_names(path: Path, *, depth: int = 1) -> list[str]:
    """The names in a folder. Raises `FolderError`, `OSError`."""
    folder = _open(path, OPEN_FOLDER, depth)
    try:
        return os.listdir(folder)
    finally:
        os.close(folder)


def check_rundir_entry(path: Path, *, is_folder: bool) -> None:
    """Raises `FolderError` for an entry of RUNDIR that is there and not the batch's, `OSError`."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    _check(path, found, _owners(os.stat(path.parent)), is_folder=is_folder)


def _open(path: Path, flags: int, depth: int, *, is_emptied: bool = False) -> int:
    at, *names = os.fspath(path).rsplit("/", depth)  # no paths below: each run of a batch opens several files
    if len(names) < depth:
        at, names = ".", [at, *names]
    here = os.open(at or "/", OPEN_FOLDER & ~os.O_NOFOLLOW)
    try:
        owners = _owners(os.fstat(here))
        for name in names[:-1]:
            at = f"{at}/{name}"
            inner = _open_name(at, name, OPEN_FOLDER | flags & os.O_CREAT, here, owners)
            os.close(here)
            here = inner
        fd = _open_name(path, names[-1], flags, here, owners)
    finally:
        os.close(here)
    if is_emptied:  # only now: before the file is open, its owner is unknown
        os.ftruncate(fd, 0)
    return fd


def _open_name(path: Path | str, name: str, flags: int, folder: int, owners: frozenset[int]) -> int:
    is_folder = bool(flags & os.O_DIRECTORY)
    try:
        if is_folder and flags & os.O_CREAT:
            flags &= ~os.O_CREAT
            try:
                return _open_name(path, name, flags, folder, owners)
            except FileNotFoundError:
                _make(name, folder)
        fd = os.open(name, flags, 0o600, dir_fd=folder)
    except OSError as error:
        error.filename = str(path)
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EOPNOTSUPP):
            _check(path, os.lstat(name, dir_fd=folder), owners, is_folder=is_folder)
        raise
    try:
        _check(path, os.fstat(fd), owners, is_folder=is_folder)
    except FolderError:
        os.close(fd)
        raise
    return fd


def _make(name: str, folder: int) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=folder)
    except FileExistsError:
        pass  # another attempt was quicker; or the next look at it says what it is


def _check(path: Path | str, found: os.stat_result, owners: frozenset[int], *, is_folder: bool) -> None:
    kind, wanted = stat.S_IFMT(found.st_mode), stat.S_IFDIR if is_folder else stat.S_IFREG
    if kind != wanted:
        raise FolderError(
            f"{path}: is {_KINDS.get(kind, 'no file')}, and the batch has {_KINDS[wanted]} of its own there: nothing of"
            " it was read or changed; move it away"
        )
    if found.st_uid not in owners:
        raise FolderError(
            f"{path}: belongs to user {found.st_uid}, and you are user {os.geteuid()}: nothing of it was read or"
            " changed; move it away"
        )


def _owners(rundir: os.stat_result) -> frozenset[int]:
    return frozenset((os.geteuid(), rundir.st_uid))
