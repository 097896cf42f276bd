"""Removes old traces, with what lies beside them. Once an hour a run that ends looks at all of them."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from supervisor.cleanup.host_record import unlink
from supervisor.traces.places import id_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from supervisor.home.config import Keep

EVERY_S = 3600.0
MARK = ".swept"
"""An empty file: the time of its last change is that of the last sweep."""
DAY_S = 86_400.0
MB = 1_000_000


class KeptFile(NamedTuple):
    name: str
    changed_at: float
    """In seconds since the epoch."""
    size: int


def choose_old(files: Iterable[KeptFile], keep: Keep, now: float) -> list[str]:
    """The names of the files to remove: those of runs of which no file was changed for `keep.days`, and then of the
    oldest runs, until the rest have `keep.mb` together. All files of a run go together."""
    runs: dict[str, list[KeptFile]] = {}
    for file in files:
        runs.setdefault(id_of(file.name), []).append(file)
    runs.pop("", None)
    room = keep.mb * MB
    removed: list[str] = []
    for kept in sorted(runs.values(), key=lambda kept: max(file.changed_at for file in kept), reverse=True):
        room -= sum(file.size for file in kept)
        if room < 0 or now - max(file.changed_at for file in kept) > keep.days * DAY_S:
            removed += [file.name for file in kept]
    return removed


def sweep(folder: Path, keep: Keep) -> None:
    """Removes what is too old or too much, if the last sweep was more than an hour ago. Faults of the file system are
    ignored: the next sweep tries again."""
    now, mark = time.time(), folder / MARK
    try:
        if now - os.stat(mark).st_mtime < EVERY_S:
            return
    except OSError:
        pass
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.utime(mark)
        with os.scandir(folder) as entries:
            files = [
                KeptFile(entry.name, found.st_mtime, found.st_size)
                for entry in entries
                if id_of(entry.name) and (found := entry.stat(follow_symlinks=False))
            ]
    except OSError:
        return
    for name in choose_old(files, keep, now):
        unlink(folder / name)
