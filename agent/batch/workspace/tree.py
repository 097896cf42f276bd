"""The content of a folder, by paths relative to it: files, folders and links, with the facts that tell a change."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from supervisor.home.delete_tree import OPEN_FOLDER
from supervisor.home.safe_files import SPECIAL

if TYPE_CHECKING:
    from collections.abc import Callable

OF_A_BATCH = frozenset({"batch.json", "journal.jsonl"})
"""Names that the folder of every batch has. With its workspaces it would be copied into each copy."""
Skipped = dict[str, str]
"""Paths relative to the folder, with the reason for each."""


class TreeEntry(NamedTuple):
    path: str
    """Relative to the folder."""
    mode: int
    """As in `os.stat_result.st_mode`."""
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    disk: int
    """Bytes that it takes on the disk."""
    target: str
    """Target of a link; empty for all else."""

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)


class Tree(msgspec.Struct, frozen=True):
    entries: list[TreeEntry]
    """Each folder before what is in it; the folder itself is not among them."""
    skipped: Skipped
    """Files and folders that cannot be listed or copied."""


def scan(root: str, rundir: tuple[int, int] | None = None, open_folder: Callable[[str], int] | None = None) -> Tree:
    """All that is in the folder. With `rundir`, the device and inode of a batch's folder, that folder does not count,
    nor does anything in the folders of other batches. `open_folder` opens a folder by its path relative to the root,
    and raises `OSError`; by default no link for its last name is followed. Raises `OSError` if the root cannot be
    listed."""
    opens = open_folder or (lambda folder: _open_folder(root, folder))
    entries: list[TreeEntry] = []
    skipped: Skipped = {}
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            here = opens(folder)
        except OSError as error:
            if not folder:
                raise
            skipped[folder] = error.strerror or "cannot be listed"
            continue
        try:
            names = sorted(os.listdir(here))
            if rundir is not None and folder and OF_A_BATCH.issubset(names):
                skipped[folder] = "the folder of another batch"
                continue
            for name in names:
                path = os.path.join(folder, name)
                try:
                    entry = _entry(here, name, path, rundir)
                except OSError as error:
                    skipped[path] = error.strerror or "cannot be read"
                    continue
                if isinstance(entry, str):
                    skipped[path] = entry
                elif entry is not None:
                    entries.append(entry)
                    if entry.is_folder:
                        waiting.append(path)
        finally:
            os.close(here)
    return Tree(entries, skipped)


def _open_folder(root: str, folder: str) -> int:
    return os.open(os.path.join(root, folder), OPEN_FOLDER if folder else OPEN_FOLDER & ~os.O_NOFOLLOW)


def _entry(here: int, name: str, path: str, rundir: tuple[int, int] | None) -> TreeEntry | str | None:
    """None for what does not count; a text for what is neither file, folder nor link. `here` is the open folder."""
    found = os.lstat(name, dir_fd=here)
    if (found.st_dev, found.st_ino) == rundir:
        return None
    kind = stat.S_IFMT(found.st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
        return SPECIAL.get(kind, "a device")
    target = os.readlink(name, dir_fd=here) if kind == stat.S_IFLNK else ""
    return TreeEntry(
        path, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino,
        found.st_blocks * 512, target,
    )  # fmt: skip
