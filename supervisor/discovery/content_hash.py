"""What an extension consists of, as one hash: what a user has trusted, and whether it is still that.

Every file below its folder counts, with its path, its exec bit and its content, every folder, and every symbolic link
with its target. What a relative link, the manifest's `exec` or one of its `args` leads to outside of the folder counts
too: a project can change that with the next commit. An absolute link counts by its target only: what is there is not
shipped with the project (the `python` of a virtual environment, say).

`__pycache__` counts: Python runs what is there in place of the source beside it, and would not notice that a commit has
brought it. Extensions of projects are told not to write there (`environment.py`). So does the record of where
it was installed from: `zot ext update` goes there, and trusts what comes.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wire.manifest import Manifest

HISTORY = ".git"
"""Does not count, wherever it is."""
MAX_FILES = 20_000
MAX_BYTES = 512 * 2**20
PIECE = 1 << 20
PREFIX = "sha256:"
PART = 16
"""Hexadecimal digits of the hash of a part; it is only to find out what has changed."""


class ContentError(Exception):
    """The content cannot be hashed; the text names the file and what to do."""


@dataclass(frozen=True)
class Bounds:
    """Of one extension."""

    files: int = MAX_FILES
    bytes: int = MAX_BYTES


@dataclass(frozen=True)
class Content:
    hash: str
    """`sha256:` and 64 hexadecimal digits."""
    files: dict[str, int] = field(default_factory=dict)
    """Bytes of each regular file, by its path from the folder, sorted."""
    parts: dict[str, str] = field(default_factory=dict)
    """A short hash of each thing that counts, by its path, sorted."""

    @property
    def bytes(self) -> int:
        return sum(self.files.values())

    @property
    def short(self) -> str:
        """Enough to compare by eye."""
        return self.hash.removeprefix(PREFIX)[:12]


def hash_content(folder: Path, manifest: Manifest | None = None, bounds: Bounds | None = None) -> Content:
    """Reads all of it. Raises `ContentError`: a file that cannot be read, or more than the bounds."""
    walk = _Walk(folder, bounds or Bounds())
    walk.folder(os.path.realpath(folder), "")
    if manifest is not None:
        for word in (manifest.exec, *(manifest.args or ())):
            walk.named(word)
    return walk.content()


class _Walk:
    def __init__(self, folder: Path, bounds: Bounds) -> None:
        self._name = str(folder)
        self._root = os.path.realpath(folder)
        self._bounds = bounds
        self._lines: list[tuple[str, bytes]] = []
        self._files: dict[str, int] = {}
        self._bytes = 0
        self._seen: set[str] = set()
        """Real paths outside of the folder that have been counted: links may lead in circles."""

    def content(self) -> Content:
        whole = hashlib.sha256()
        parts: dict[str, str] = {}
        for path, line in sorted(self._lines):
            name = os.fsencode(path)
            whole.update(b"%d:%b=%d:%b\n" % (len(name), name, len(line), line))
            parts[path] = hashlib.sha256(line).hexdigest()[:PART]
        return Content(PREFIX + whole.hexdigest(), dict(sorted(self._files.items())), parts)

    def folder(self, path: str, shown: str) -> None:
        """`shown` is the path by which it counts, relative to the extension's folder."""
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
        """What a word of the command line leads to, if it is a relative path to something that does not count yet."""
        if os.path.isabs(word) or "\0" in word:
            return
        path = os.path.join(self._root, word)
        if not self._counts(os.path.realpath(path)) and os.path.exists(path):
            self._outside(path, word)

    def _link(self, path: str, shown: str) -> None:
        try:
            target = os.readlink(path)
        except OSError as error:
            raise self._unreadable(path, error) from None
        self._add(shown, b"link " + os.fsencode(target))
        if not os.path.isabs(target) and not self._counts(os.path.realpath(path)) and os.path.exists(path):
            self._outside(path, f"{shown} -> ./{target}")  # no file within can have that path

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

    def _counts(self, real: str) -> bool:
        """Whether the walk through the folder comes by it."""
        inside = os.path.relpath(real, self._root).split("/")
        return inside[0] != ".." and HISTORY not in inside

    def _entries(self, path: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(path) as entries:
                # By name: which of two links to the same thing is met first must not be left to the file system.
                yield from sorted(entries, key=lambda one: one.name)
        except OSError as error:
            raise self._unreadable(path, error) from None

    def _stat(self, path: str) -> os.stat_result:
        try:
            return os.lstat(path)
        except OSError as error:
            raise self._unreadable(path, error) from None

    def _file(self, path: str, shown: str) -> None:
        digest = hashlib.sha256()
        size = 0
        try:
            # Not to wait for a FIFO that has taken the file's place meanwhile.
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                mode = os.fstat(fd).st_mode
                if not stat.S_ISREG(mode):
                    raise ContentError(f"{path} changes while it is read; try again when nothing writes to it")
                while piece := os.read(fd, PIECE):
                    digest.update(piece)
                    size += len(piece)
                    self._bytes += len(piece)
                    if self._bytes > self._bounds.bytes:
                        raise self._too_much(f"{self._bounds.bytes / 2**20:g} MB")
            finally:
                os.close(fd)
        except OSError as error:
            raise self._unreadable(path, error) from None
        self._files[shown] = size
        self._add(shown, (b"program " if mode & 0o111 else b"file ") + digest.hexdigest().encode())

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
