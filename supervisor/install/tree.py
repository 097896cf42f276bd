"""Lists, checks, copies and hashes the files of an extension."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.discovery.content.covered_files import file_state, hash_states, link_state
from supervisor.discovery.data_dir import RECORD
from supervisor.home.delete_tree import delete
from supervisor.home.safe_files import SPECIAL, open_regular, write_all
from supervisor.install.errors import InstallError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wire.manifest import Manifest

LEFT_OUT = frozenset({".git", "__pycache__"})
"""Names that are not installed, at any depth: history and caches."""
DEEPEST = 64
"""Maximum depth of folders that are installed. Linux opens no path of more than 4096 bytes."""
LONGEST_PATH = 1024
"""Maximum of bytes of an installed path, from the root."""
KEPT_MODE = 0o755
"""The bits of a mode that are installed: only the owner may write, and no program runs as another user."""
PIECE = 1 << 20
"""Bytes of one read."""


@dataclass(frozen=True)
class TreeEntry:
    """A file, link, folder or special file below a root."""

    path: str
    """The path from the root, with slashes."""
    stat: os.stat_result

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.stat.st_mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.stat.st_mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.stat.st_mode)


def entries(
    root: Path, without: Path | None = None, into: Callable[[str], bool] = lambda _path: True
) -> Iterator[TreeEntry]:
    """Yields everything below the root except `LEFT_OUT`, the record and the folder `without`. Sorted by name; a folder
    comes before its content, which is read if `into` says so for the folder's path. Raises `OSError`, also for a path
    that is too long for the system."""
    try:
        skipped = None if without is None else os.stat(without)
    except OSError:
        skipped = None
    pending = [""]
    while pending:
        above = pending.pop()
        with os.scandir(root / above) as found:
            names = sorted(item.name for item in found if item.name not in LEFT_OUT)
        folders = []
        for name in names:
            path = f"{above}/{name}" if above else name
            entry = TreeEntry(path, os.lstat(root / path))
            if path == RECORD or (skipped is not None and os.path.samestat(entry.stat, skipped)):
                continue
            yield entry
            if entry.is_folder and into(path):
                folders.append(path)
        pending += reversed(folders)


def is_of_program(entry: TreeEntry, manifest: Manifest | None) -> bool:
    """Whether an entry is a file or a link that the manifest does not call data."""
    return entry.is_link or (entry.is_file and not (manifest is not None and manifest.is_data(entry.path)))


def files(root: Path, manifest: Manifest | None = None) -> tuple[str, ...]:
    """Returns the paths of all files and links of the program, sorted. Without a manifest nothing is data."""
    return tuple(sorted(entry.path for entry in entries(root) if is_of_program(entry, manifest)))


def bounded_entries(root: Path, without: Path | None = None) -> Iterator[TreeEntry]:
    """Yields as `entries`. Raises `InstallError` for the first entry that is deeper than `DEEPEST`, or whose path is
    longer than `LONGEST_PATH`; and `OSError`."""
    for entry in entries(root, without):
        top = root / entry.path.split("/", 1)[0]
        if entry.is_folder and entry.path.count("/") >= DEEPEST:
            raise InstallError(f"{top}: holds more than {DEEPEST} folders within each other; make it less deep")
        if len(os.fsencode(entry.path)) > LONGEST_PATH:
            raise InstallError(f"{top}: holds a path of more than {LONGEST_PATH} bytes; shorten the names in it")
        yield entry


def check(root: Path, without: Path | None = None) -> list[TreeEntry]:
    """Returns all entries. Raises `InstallError` for the first entry that cannot be installed, and `OSError`."""
    found = []
    real_root = os.path.realpath(root)
    for entry in bounded_entries(root, without):
        try:
            entry.path.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(entry.path).decode("utf-8", "replace")
            raise InstallError(f"{root}: the name {shown!r} is not valid UTF-8; rename it") from None
        if entry.is_link:
            _check_link(root, real_root, entry.path)
        elif not entry.is_file and not entry.is_folder:
            kind = SPECIAL.get(stat.S_IFMT(entry.stat.st_mode), "neither file nor folder")
            raise InstallError(f"{root / entry.path}: is {kind}; only files, folders and links are installed")
        found.append(entry)
    return found


def _check_link(root: Path, real_root: str, path: str) -> None:
    """Raises `InstallError` for a link out of the folder, since after the install it would lead elsewhere. A link
    within the folder may be broken."""
    target = os.readlink(root / path)
    real = os.path.realpath(root / path)
    if os.path.isabs(target):
        raise InstallError(
            f"{root / path}: is a link to the absolute path {target}; make it relative and within the folder, or"
            " remove it"
        )
    if real != real_root and not real.startswith(real_root.rstrip("/") + "/"):
        raise InstallError(f"{root / path}: is a link out of the folder, to {target}; put what it means there instead")


def copy(source: Path, target: Path, without: Path | None = None) -> None:
    """Copies the tree into an existing folder. Keeps times, and modes within `KEPT_MODE`. Raises `InstallError`, and
    `OSError` if the copy fails midway."""
    folders = [("", os.stat(source))]
    for entry in check(source, without):
        at = target / entry.path
        if entry.is_folder:
            at.mkdir(mode=0o700)
            folders.append((entry.path, entry.stat))
        elif entry.is_link:
            os.symlink(os.readlink(source / entry.path), at)
        else:
            copy_file(source / entry.path, at)
    for path, found in reversed(folders):
        # The owner gets all rights. Otherwise only root could remove the folder.
        os.chmod(target / path, stat.S_IMODE(found.st_mode) & KEPT_MODE | 0o700)
        os.utime(target / path, ns=(found.st_atime_ns, found.st_mtime_ns))


def copy_file(source: Path, target: Path) -> None:
    """Copies one file. The target must not exist. Raises `OSError`."""
    reader = open_regular(source, os.O_NOFOLLOW)  # a link may have taken the file's place
    try:
        found = os.fstat(reader)
        writer = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            while piece := os.read(reader, PIECE):
                write_all(writer, piece)
            os.fchmod(writer, stat.S_IMODE(found.st_mode) & KEPT_MODE)
            os.utime(writer, ns=(found.st_atime_ns, found.st_mtime_ns))
        finally:
            os.close(writer)
    finally:
        os.close(reader)


def content_hash(root: Path, paths: Iterable[str]) -> str:
    """Returns `sha256:` and a hash over path, kind, exec bit and content of these files, sorted by path. A missing file
    changes the hash too. Raises `OSError`."""
    return hash_states((path, _state(root / path)) for path in paths)


def _state(path: Path) -> bytes:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return link_state(os.readlink(path))
        if not stat.S_ISREG(mode):
            return b"other"
        fd = open_regular(path, os.O_NOFOLLOW)
        try:
            return file_state(fd, mode)
        finally:
            os.close(fd)
    except (FileNotFoundError, NotADirectoryError):
        return b"missing"


def remove_left_out(root: Path) -> None:
    """Deletes files that are not installed (`LEFT_OUT`) from a tree that `check` has passed. Raises `OSError`."""
    pending = [root]
    while pending:
        with os.scandir(pending.pop()) as found:
            inside = list(found)
        for item in inside:
            if item.name in LEFT_OUT:
                if trouble := delete(Path(item.path)):
                    raise OSError(errno.EIO, trouble)
            elif item.is_dir(follow_symlinks=False):
                pending.append(Path(item.path))
