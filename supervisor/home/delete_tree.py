"""Deletes a folder with everything in it, whatever a program has made there."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

FILES_IN_STEP = 100
LISTINGS = 5
"""Maximum number of listings of a folder that is deleted: something may write into it."""
NAMES_SHOWN = 4
"""Maximum number of names of a path in the reason for a failure."""
OCTAL = re.compile(rb"\\([0-7]{3})")
MOUNTS = "/proc/self/mountinfo"
OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def delete(path: Path) -> str:
    """Deletes a file, or a folder with everything in it, with any depth, names and modes. Does not follow links, and
    leaves mounts in it, even of a folder of the same file system. Deletes as much as possible. Returns a path that was
    not deleted, and why; "" if all is deleted. Raises nothing."""
    steps = deletion_steps(path)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            trouble: str = end.value
            return trouble


def deletion_steps(path: Path) -> Generator[None, None, str]:
    """`delete` in short steps."""
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            return ""
        above = os.open(path.parent, OPEN_FOLDER & ~os.O_NOFOLLOW)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{path}: {error.strerror}"
    deletion = _Deletion(path, above, _mounts_in(path))
    try:
        yield from deletion.steps()
    except OSError as error:
        deletion.note("", error.strerror)
    finally:
        deletion.close()
    return deletion.trouble


@dataclass
class _Level:
    """A folder on the way from the root to the folder that is being emptied."""

    identity: tuple[int, int]
    folders: list[str]
    """Its subfolders that are still to be deleted. The last one is next."""
    listings: int = 1
    """Number of listings of the next subfolder so far."""
    is_stuck: bool = False
    """Whether something in it cannot be deleted."""


@dataclass
class _Deletion:
    """Walks by names relative to an open folder, and upwards by `..`: paths would get too long for the kernel, and each
    open folder on the way costs a descriptor."""

    root: Path
    here: int
    """The descriptor of the present folder of the walk. At the start it is the root's parent."""
    mounted: frozenset[tuple[int, int]]
    """The mounts in the root, by device and inode."""
    trouble: str = ""
    levels: list[_Level] = field(default_factory=list)

    def steps(self) -> Iterator[None]:
        self.levels = [_Level(_identity(os.fstat(self.here)), [self.root.name])]
        while True:
            level = self.levels[-1]
            if level.folders:
                yield from self._enter(level.folders[-1])
            elif len(self.levels) == 1:
                return
            else:
                self._leave()

    def _enter(self, name: str) -> Iterator[None]:
        """Goes into a subfolder and deletes its files."""
        level = self.levels[-1]
        inner = -1
        try:
            try:
                inner = os.open(name, OPEN_FOLDER, dir_fd=self.here)
            except PermissionError:
                os.chmod(name, 0o700, dir_fd=self.here)
                inner = os.open(name, OPEN_FOLDER, dir_fd=self.here)
            found = os.fstat(inner)
            is_elsewhere = len(self.levels) > 1 and found.st_dev != self.levels[1].identity[0]
            if is_elsewhere or _identity(found) in self.mounted:
                raise OSError(errno.EBUSY, "something is mounted there")
            if stat.S_IMODE(found.st_mode) & 0o700 != 0o700:
                os.fchmod(inner, 0o700)
            os.stat("..", dir_fd=inner)  # fails if there would be no way back
        except OSError as error:
            if inner >= 0:
                os.close(inner)
            if not isinstance(error, FileNotFoundError):
                self.note(name, error.strerror)
            level.folders.pop()
            return
        os.close(self.here)
        self.here = inner
        self.levels.append(_Level(_identity(found), []))
        yield from self._unlink_files()

    def _unlink_files(self) -> Iterator[None]:
        level = self.levels[-1]
        with os.scandir(self.here) as found:
            inside = [(item.name, item.is_dir(follow_symlinks=False)) for item in found]
        for number, (name, is_folder) in enumerate(inside):
            if number % FILES_IN_STEP == 0:
                yield
            if is_folder:
                level.folders.append(name)
                continue
            try:
                os.unlink(name, dir_fd=self.here)
            except FileNotFoundError:
                pass
            except OSError as error:
                self.note(name, error.strerror)

    def _leave(self) -> None:
        """Goes up and deletes the folder that the walk leaves; if it is not empty, lists it again."""
        left = self.levels.pop()
        level = self.levels[-1]
        above = os.open("..", OPEN_FOLDER, dir_fd=self.here)
        os.close(self.here)
        self.here = above
        if _identity(os.fstat(above)) != level.identity:
            raise OSError(errno.EBUSY, "something moved a folder in it meanwhile")
        name = level.folders[-1]
        level.is_stuck |= left.is_stuck
        if not left.is_stuck:
            try:
                os.rmdir(name, dir_fd=above)
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and level.listings < LISTINGS:
                    level.listings += 1
                    return
                self.note(name, error.strerror)
        level.folders.pop()
        level.listings = 1

    def note(self, name: str, reason: str | None) -> None:
        """Keeps the first trouble, with its path."""
        self.levels[-1].is_stuck = True
        if not self.trouble:
            names = [*(level.folders[-1] for level in self.levels[:-1]), name]
            shown = names if len(names) <= NAMES_SHOWN else [*names[: NAMES_SHOWN - 1], "…", name]
            self.trouble = f"{self.root.parent.joinpath(*shown)}: {reason}"

    def close(self) -> None:
        os.close(self.here)


def _mounts_in(root: Path) -> frozenset[tuple[int, int]]:
    """The mounts at or below the root (Linux). A folder of the same file system can be mounted, too (`mount --bind`,
    containers): its device does not tell."""
    try:
        with open(MOUNTS, "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return frozenset()
    at = os.path.realpath(os.fsencode(root))
    found = set()
    for line in lines:
        point = OCTAL.sub(lambda code: bytes([int(code[1], 8)]), line.split(b" ")[4])
        if point == at or point.startswith(at + b"/"):
            with suppress(OSError):
                found.add(_identity(os.stat(point)))
    return frozenset(found)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
