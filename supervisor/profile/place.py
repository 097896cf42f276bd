"""The file of a profile: the one that the user names, or the next one of the extension beside the traces of runs."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from supervisor.home.safe_files import replacement, write_all
from supervisor.home.zot_home import private_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENDING = ".profile.json"
MOST = 20
"""Maximum number of profiles of one extension in one run: each may have megabytes."""


class Place(msgspec.Struct, frozen=True):
    """Where a profile goes."""

    path: str = ""
    """The user's file; it is replaced once the profile is there. Empty: the next file with the `start`."""
    start: str = ""
    """The folder and the beginning of the name, `…/runs/ID.NAME.`; a number and `ENDING` follow."""

    @contextmanager
    def opened(self) -> Iterator[tuple[Path, Callable[[bytes], None]]]:
        """Gives the file's path, and the function that writes all of it. Raises `OSError` at once if it cannot be
        written. If the block raises, no new file is left, and an old one is as it was."""
        if self.path:
            with self._replaced(Path(self.path)) as write:
                yield Path(self.path), write
            return
        path, fd = self._next()
        try:
            yield path, lambda text: write_all(fd, text)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)

    @contextmanager
    def _replaced(self, path: Path) -> Iterator[Callable[[bytes], None]]:
        if path.exists() and not path.is_file():
            number = errno.EISDIR if path.is_dir() else errno.EINVAL
            raise OSError(number, os.strerror(number) if path.is_dir() else "Not a file", self.path)
        try:
            with replacement(path, is_durable=False) as file:
                yield lambda text: write_all(file.fileno(), text)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from None

    def _next(self) -> tuple[Path, int]:
        private_folder(Path(self.start).parent)
        for number in range(1, MOST + 1):
            path = Path(f"{self.start}{number}{ENDING}")
            try:
                return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                continue
        raise OSError(errno.EEXIST, f"There are {MOST} profiles of it", self.start)
