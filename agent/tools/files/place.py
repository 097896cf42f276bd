"""Finds the file that a tool is to open. With a root, that of a run with `--in`, only beneath it.

There the file and its folder are open before anything is done with them, and `/proc/self/fd/N` names them from then
on: whoever exchanges a name for a link meanwhile leads nobody anywhere.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress

from agent.tools.outcome import ToolError, os_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LINKS = 40
"""Maximum of links for the last name of a path, as in the kernel."""
USE_BASH = "with --in, read, write and edit reach only what is in it"


class FilePlace:
    """A file, or the place of one that is missing."""

    __slots__ = ("file", "is_missing", "shown", "target")

    def __init__(self, shown: str, file: str, target: str = "", *, is_missing: bool = False) -> None:
        self.shown = shown
        """The path in errors."""
        self.file = file
        """The path by which to open it."""
        self.target = target
        """The path, without a link for its last name, by which to replace it; empty: that to which `file` leads."""
        self.is_missing = is_missing
        """Whether it is known to be missing: `file` is of no use then."""


@contextmanager
def find_place(path: str, root: str = "", *, makes_folders: bool = False) -> Iterator[FilePlace]:
    """The place of the file at `path`, which is absolute, and without `..`. With a root and `makes_folders`, missing
    folders on the way are made, 0755 less the umask. Raises `ToolError` for what is not beneath the root."""
    if not root:
        yield FilePlace(path, path)
        return
    relative = os.path.relpath(path, root) if path == root or path.startswith(root.rstrip("/") + "/") else ""
    if not relative:
        raise ToolError(f"{path} is not in the workspace {root}: {USE_BASH}")
    opened: list[int] = []
    try:
        yield _find(path, root, relative, opened, makes_folders=makes_folders)
    finally:
        for fd in opened:
            os.close(fd)


def _find(path: str, root: str, relative: str, opened: list[int], *, makes_folders: bool) -> FilePlace:
    from agent.tools.files import beneath  # most runs have no root

    try:
        opened.append(top := beneath.open_root(root))
        for _ in range(LINKS):
            above, name = os.path.split(relative)
            if name in ("", ".", ".."):  # a link to a folder
                opened.append(file := beneath.open_beneath(top, relative, os.O_PATH))
                return FilePlace(path, _name_of(file))
            folder = _open_folder(top, above, makes=makes_folders)
            makes_folders = False  # those that a link names are not made
            opened.append(folder)
            target = f"{_name_of(folder)}/{name}"
            try:
                opened.append(file := os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder))
            except FileNotFoundError:
                return FilePlace(path, target, target, is_missing=True)
            if not stat.S_ISLNK(os.fstat(file).st_mode):
                return FilePlace(path, _name_of(file), target)
            link = os.readlink("", dir_fd=file)
            if os.path.isabs(link):
                raise OSError(errno.EXDEV, "")
            relative = os.path.join(above, link)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise ToolError(f"{path}: a link leads out of the workspace {root}: {USE_BASH}") from None
        if error.errno == errno.EAGAIN:
            raise ToolError(f"{path}: folders on the way are renamed all the time; try again") from None
        raise os_failure("mkdir" if makes_folders else "open", path, error) from None


def _open_folder(top: int, path: str, *, makes: bool) -> int:
    """A descriptor of the folder; with `makes` it is made, and missing ones above it. Raises `OSError`."""
    from agent.tools.files import beneath

    here, missing = path, list[str]()
    while True:
        try:
            folder = beneath.open_beneath(top, here, os.O_PATH | os.O_DIRECTORY)
            break
        except FileNotFoundError:
            if not makes:
                raise
            here, name = os.path.split(here)
            missing.append(name)
    for name in reversed(missing):
        try:
            with suppress(FileExistsError):  # another process was quicker; the next line says whether it is a folder
                os.mkdir(name, 0o755, dir_fd=folder)
            inner = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _name_of(fd: int) -> str:
    return f"/proc/self/fd/{fd}"
