"""Removes old traces, with what lies beside them. Once an hour a run that ends looks at all of them."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from supervisor.cleanup.host_record import unlink
from supervisor.traces.places import TRACE, id_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from supervisor.home.config import Keep

EVERY_S = 3600.0
MARK = ".swept"
"""An empty file: the time of its last change is that of the last sweep."""
MOST = 500
"""Maximum number of files that one sweep removes: a run must not end late for it."""
DAY_S = 86_400.0
MB = 1_000_000


class KeptFile(NamedTuple):
    name: str
    changed_at: float
    """In seconds since the epoch."""
    size: int


def choose_old(files: Iterable[KeptFile], keep: Keep, now: float) -> list[str]:
    """The names of the files to remove: those of runs of which no file was changed for `keep.days`, and then of the
    oldest runs but the newest, until the rest have `keep.mb` together. All files of a run go together, oldest first."""
    runs: dict[str, list[KeptFile]] = {}
    for file in files:
        runs.setdefault(id_of(file.name), []).append(file)
    runs.pop("", None)
    room = keep.mb * MB
    removed: list[str] = []
    newest_first = sorted(runs.values(), key=lambda kept: max(file.changed_at for file in kept), reverse=True)
    for number, kept in enumerate(newest_first):
        room -= sum(file.size for file in kept)
        if (room < 0 and number) or now - max(file.changed_at for file in kept) > keep.days * DAY_S:
            removed += [file.name for file in kept]
    return removed[::-1]


def sweep(folder: Path, keep: Keep) -> None:
    """Removes what is too old or too much, if the last sweep was more than an hour ago: at most `MOST` files, the next
    run goes on. Traces that are being written stay. Faults of the file system are ignored."""
    now, mark = time.time(), folder / MARK
    with suppress(OSError):
        if 0.0 <= now - os.stat(mark).st_mtime < EVERY_S:
            return
    try:
        files = list(_files(folder))
    except OSError:
        return
    old = choose_old(files, keep, now)
    spared: dict[str, bool] = {}
    for name in old[:MOST]:
        run = id_of(name)
        if run not in spared:
            spared[run] = is_being_written(folder / f"{run}{TRACE}")
        if not spared[run]:
            unlink(folder / name)
    if len(old) <= MOST:
        with suppress(OSError):
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            os.utime(mark)


def _files(folder: Path) -> Iterator[KeptFile]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if id_of(entry.name):
                with suppress(FileNotFoundError):  # another run has removed it
                    found = entry.stat(follow_symlinks=False)
                    yield KeptFile(entry.name, found.st_mtime, found.st_size)


def is_being_written(path: Path) -> bool:
    """Whether a process has this trace open: its run goes on. The kernel unlocks the file of a process that ends, even
    by SIGKILL. False on a file system without locks, and for a file that cannot be opened."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # readers do not meet: the run has an exclusive lock
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False
