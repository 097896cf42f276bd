"""Hashes the content of an extension. The hash shows whether the user has trusted this content.

The hash covers every file below the folder with its path, its exec bit and its content, every folder, and every
symbolic link with its target. It also covers files outside of the folder if a relative link, the manifest's `exec` or
one of its `args` leads to them: the next commit of a project can change these files. For an absolute link it covers
only the target path: the file there, such as the `python` of a virtual environment, is not shipped with the project.

The hash covers `__pycache__`: Python runs the files there in place of the source beside them, even if a commit has
brought them. Extensions of projects are told not to write there (`environment.py`). The hash also covers the record of
the installation: it names the source from which `zot ext update` fetches, and an update from there is trusted.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from wire.manifest import Manifest

HISTORY = ".git"
"""Folders of this name are left out at every level."""
MAX_FILES = 20_000
MAX_BYTES = 512 * 2**20
CHUNK = 1 << 20
"""Bytes."""
PREFIX = "sha256:"
PART = 16
"""Hexadecimal digits of the hash of a part. It serves only to tell which parts have changed."""


class ContentError(Exception):
    """The content cannot be hashed; the text names the file and what to do."""


@dataclass(frozen=True)
class Bounds:
    """The upper limits for the content of one extension."""

    files: int = MAX_FILES
    bytes: int = MAX_BYTES


@dataclass(frozen=True)
class Content:
    """The hash of an extension's content, with its files and parts."""

    hash: str
    """`sha256:` and 64 hexadecimal digits."""
    files: dict[str, int] = field(default_factory=dict)
    """The size in bytes of each regular file, by its path relative to the folder, sorted."""
    parts: dict[str, str] = field(default_factory=dict)
    """A short hash of each file, folder and link, by its path, sorted."""

    @property
    def bytes(self) -> int:
        return sum(self.files.values())

    @property
    def short(self) -> str:
        """The first 12 digits of the hash: enough to compare by eye."""
        return self.hash.removeprefix(PREFIX)[:12]


def hash_content(folder: Path, manifest: Manifest | None = None, bounds: Bounds | None = None) -> Content:
    """Reads all files and returns their hash. Raises `ContentError` if a file cannot be read, or if there is more than
    the bounds allow."""
    walk = _Walk(folder, bounds or Bounds())
    walk.folder(os.path.realpath(folder), "")
    if manifest is not None:
        for word in (manifest.exec, *(manifest.args or ())):
            walk.named(word)
    return walk.content()


def hash_states(states: Iterable[tuple[str, bytes]]) -> str:
    """`sha256:` and the hash of paths with the state of each: kind, exec bit and content. The order does not matter."""
    whole = hashlib.sha256()
    for path, state in sorted(states):
        name = os.fsencode(path)
        whole.update(b"%d:%b=%d:%b\n" % (len(name), name, len(state), state))
    return PREFIX + whole.hexdigest()


def file_state(fd: int, mode: int, on_read: Callable[[int], None] | None = None) -> bytes:
    """The state of an open regular file. `on_read` gets the number of bytes of each piece. Raises `OSError`."""
    digest = hashlib.sha256()
    while chunk := os.read(fd, CHUNK):
        digest.update(chunk)
        if on_read is not None:
            on_read(len(chunk))
    return (b"program " if mode & 0o111 else b"file ") + digest.hexdigest().encode()


def link_state(target: str) -> bytes:
    """The state of a symbolic link."""
    return b"link " + os.fsencode(target)


class _Walk:
    def __init__(self, folder: Path, bounds: Bounds) -> None:
        self._name = str(folder)
        self._root = os.path.realpath(folder)
        self._bounds = bounds
        self._lines: list[tuple[str, bytes]] = []
        self._files: dict[str, int] = {}
        self._bytes = 0
        self._seen: set[str] = set()
        """Real paths outside of the folder that are covered already. Links may lead in circles."""

    def content(self) -> Content:
        parts = {path: hashlib.sha256(line).hexdigest()[:PART] for path, line in sorted(self._lines)}
        return Content(hash_states(self._lines), dict(sorted(self._files.items())), parts)

    def folder(self, path: str, shown: str) -> None:
        """Covers all that the folder contains. `shown` is the path that enters the hash, relative to the extension's
        folder."""
        pending = [(path, shown)]
        while pending:
            path, shown = pending.pop()
            for entry in self._entries(path):
                inside = f"{shown}/{entry.name}" if shown else entry.name
                if entry.name == HISTORY:
                    continue
                found = self._stat(entry.path)
                if stat.S_ISDIR(found.st_mode):
                    self._add(inside, b"folder")
                    pending.append((entry.path, inside))
                elif stat.S_ISLNK(found.st_mode):
                    self._link(entry.path, inside)
                elif stat.S_ISREG(found.st_mode):
                    self._file(entry.path, inside)
                else:
                    self._add(inside, b"special %o" % stat.S_IFMT(found.st_mode))

    def named(self, word: str) -> None:
        """Covers the file or folder that a word of the command line names. Does so only for a relative path that leads
        out of the folder."""
        if os.path.isabs(word) or "\0" in word:
            return
        path = os.path.join(self._root, word)
        if not self._is_inside(os.path.realpath(path)) and os.path.exists(path):
            self._outside(path, word)

    def _link(self, path: str, shown: str) -> None:
        try:
            target = os.readlink(path)
        except OSError as error:
            raise self._unreadable(path, error) from None
        self._add(shown, link_state(target))
        if not os.path.isabs(target) and not self._is_inside(os.path.realpath(path)) and os.path.exists(path):
            self._outside(path, f"{shown} -> ./{target}")  # no file inside can have this path

    def _outside(self, path: str, shown: str) -> None:
        real = os.path.realpath(path)
        if real in self._seen:
            return
        self._seen.add(real)
        mode = self._stat(real).st_mode
        if stat.S_ISREG(mode):
            self._file(real, shown)
        elif stat.S_ISDIR(mode):
            self._add(shown, b"folder")
            self.folder(real, shown)

    def _is_inside(self, real: str) -> bool:
        """Whether the walk through the folder covers this real path."""
        inside = os.path.relpath(real, self._root).split("/")
        return inside[0] != ".." and HISTORY not in inside

    def _entries(self, path: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(path) as entries:
                # Sorted: otherwise the file system would decide which of two links to one file comes first.
                yield from sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            raise self._unreadable(path, error) from None

    def _stat(self, path: str) -> os.stat_result:
        try:
            return os.lstat(path)
        except OSError as error:
            raise self._unreadable(path, error) from None

    def _file(self, path: str, shown: str) -> None:
        before = self._bytes
        try:
            # O_NONBLOCK: a FIFO may have replaced the file meanwhile.
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                mode = os.fstat(fd).st_mode
                if not stat.S_ISREG(mode):
                    raise ContentError(f"{path} changes while it is read; try again when nothing writes to it")
                state = file_state(fd, mode, self._on_read)
            finally:
                os.close(fd)
        except OSError as error:
            raise self._unreadable(path, error) from None
        self._files[shown] = self._bytes - before
        self._add(shown, state)

    def _on_read(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._bounds.bytes:
            raise self._too_much(f"{self._bounds.bytes / 2**20:g} MB")

    def _add(self, shown: str, line: bytes) -> None:
        self._lines.append((shown, line))
        if len(self._lines) > self._bounds.files:
            raise self._too_much(f"{self._bounds.files} files")

    def _unreadable(self, path: str, error: OSError) -> ContentError:
        return ContentError(f"{path} cannot be read: {error.strerror}; make it readable or remove it")

    def _too_much(self, bound: str) -> ContentError:
        return ContentError(
            f"{self._name} holds more than {bound}, too much to check before each start; move what it does not need"
            " out of it (caches, build output, data), or name it with --ext"
        )
