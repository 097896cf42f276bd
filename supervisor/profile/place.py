"""The file of a profile: the one that the user names, or the next one beside the traces of runs."""

from __future__ import annotations

import errno
import os
import re
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from supervisor.home.safe_files import replacement, write_all
from supervisor.home.zot_home import private_folder, zot_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENDING = ".profile.json"
MOST_TRIED = 10_000


class Place(msgspec.Struct, frozen=True):
    """Where a profile goes."""

    path: str = ""
    """The user's file; it is replaced once the profile is there. Empty: the next file of the extension."""
    run: str = ""
    """The id of the run or host of the extension."""
    extension: str = ""

    @contextmanager
    def opened(self) -> Iterator[tuple[Path, Callable[[bytes], None]]]:
        """Gives the file's path, and the function that writes all of it. Raises `OSError` at once if it cannot be
        written. If the block raises, no new file is left, and an old one is as it was."""
        if self.path:
            path = Path(self.path)
            if path.exists() and not path.is_file():
                number = errno.EISDIR if path.is_dir() else errno.EINVAL
                raise OSError(number, os.strerror(number) if path.is_dir() else "Not a file", self.path)
            with replacement(path, is_durable=False) as file:
                yield path, lambda text: write_all(file.fileno(), text)
            return
        path, fd = self._next()
        try:
            yield path, lambda text: write_all(fd, text)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)

    def _next(self) -> tuple[Path, int]:
        folder = private_folder(runs_folder())
        for number in range(1, MOST_TRIED):
            path = folder / f"{self.run}.{self.extension}.{number}{ENDING}"
            try:
                return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                continue
        raise OSError(errno.EEXIST, f"Has {MOST_TRIED} profiles of {self.extension}", str(folder))


def runs_folder() -> Path:
    """The folder of traces and of what lies beside them."""
    return zot_home() / "runs"


def run_id(started: float, pid: int) -> str:
    """The id of a run that started at this time, in seconds since the epoch."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(started))}-{pid}"


def latest_profile(extension: str) -> Path | None:
    """The newest profile of an extension beside the traces; None without one."""
    names = re.compile(rf"\d{{8}}-\d{{6}}-\d+\.{re.escape(extension)}\.\d+{re.escape(ENDING)}")
    try:
        found = [entry for entry in os.scandir(runs_folder()) if names.fullmatch(entry.name)]
        newest = max(((entry.stat().st_mtime_ns, entry.path) for entry in found), default=None)
    except OSError:
        return None
    return None if newest is None else Path(newest[1])
