"""Hashes the content of an extension. The hash shows whether the user has trusted this content.

The hash covers every file below the folder with its path, its exec bit and its content, every folder, and every
symbolic link with its target. It also covers files outside of the folder if a relative link, the manifest's `exec` or
one of its `args` leads to them: the next commit of a project can change these files. Of a folder that contains the
extension, such as the project's, it covers only `__main__.py`. For an absolute link it covers only the target path: the
file there, such as the `python` of a virtual environment, is not shipped with the project.

The manifest's `data` names what is left out: files that the extension writes itself. A file counts all the same if
`exec`, `args` or a link leads to it.

The manifest is covered with the very bytes that were parsed: what is started is what was hashed.

The hash covers `__pycache__`: Python runs the files there in place of the source beside them, even if a commit has
brought them. Extensions of projects are told not to write there (`environment.py`). The hash also covers the record of
the installation: it names the source from which `zot ext update` fetches, and an update from there is trusted.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from supervisor.discovery.seal import HISTORY, Names, stamp_of
from supervisor.discovery.steps import STEP_BYTES, Allowance, finish
from wire.data_files import paths_in
from wire.manifest import FILE, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from supervisor.discovery.seal import Stamp
    from supervisor.discovery.steps import Steps

ENTRY = "__main__.py"
"""Python runs this file of a folder that it is given."""
MAX_DEPTH = 100
"""Folders within one another."""
ENTRY_COST = 8 * 1024
"""Looking at one entry takes as long as hashing so many bytes."""
MAX_LINKS = 40
"""No system follows more of them in one path."""
PREFIX = "sha256:"
PART = 16
"""Hexadecimal digits of the hash of a part. It serves only to tell which parts have changed."""
PATH_SHOWN = 300
"""Characters of a path that an error names."""


class ContentError(Exception):
    """The content cannot be hashed; the text names the file and what to do."""


@dataclass(frozen=True)
class Content:
    """The hash of an extension's content, with its files and parts."""

    hash: str
    """`sha256:` and 64 hexadecimal digits."""
    files: dict[str, int] = field(default_factory=dict)
    """The size in bytes of each regular file, by its path relative to the folder, sorted."""
    states: tuple[tuple[str, bytes], ...] = ()
    """The path and the state of each file, folder and link, sorted."""
    stamps: tuple[tuple[str, Stamp], ...] = ()
    """For a `Seal`."""
    folders: Mapping[str, Names] = field(default_factory=dict)
    """For a `Seal`: if the manifest names data, the folders in which it may be, by the path of their stamp."""

    @cached_property
    def parts(self) -> dict[str, str]:
        """A short hash of each file, folder and link, by its path, sorted."""
        return {path: hashlib.sha256(state).hexdigest()[:PART] for path, state in self.states}

    @property
    def bytes(self) -> int:
        return sum(self.files.values())

    @property
    def short(self) -> str:
        """The first 12 digits of the hash: enough to compare by eye."""
        return self.hash.removeprefix(PREFIX)[:12]


def hash_content(folder: Path, manifest: Manifest | None = None, allowance: Allowance | None = None) -> Content:
    """Reads all files and returns their hash. Raises `ContentError` if a file cannot be read or changes meanwhile, if
    it is not the manifest that was parsed, or if there is more than the allowance."""
    return finish(hashing(folder, manifest, allowance))


def hashing(
    folder: Path, manifest: Manifest | None = None, allowance: Allowance | None = None, beside: Iterable[str] = ()
) -> Steps[Content]:
    """`hash_content` in steps. What is read is taken from the allowance. Covers also what is `beside` the folder: paths
    relative to it."""
    walk = _Walk(folder, allowance or Allowance(), manifest)
    yield from walk.all()
    if manifest is not None:
        for word in (manifest.exec, *(manifest.args or ()), *beside):
            yield from walk.named(word)
    yield from walk.data_led_to()
    return walk.content()


def hash_states(states: Iterable[tuple[str, bytes]]) -> str:
    """`sha256:` and the hash of paths with the state of each: kind, exec bit and content. The order does not matter."""
    whole = hashlib.sha256()
    for path, state in sorted(states):
        name = os.fsencode(path)
        whole.update(b"%d:%b=%d:%b\n" % (len(name), name, len(state), state))
    return PREFIX + whole.hexdigest()


def file_state(fd: int, mode: int) -> bytes:
    """The state of an open regular file. Raises `OSError`."""
    digest = hashlib.sha256()
    while chunk := os.read(fd, STEP_BYTES):
        digest.update(chunk)
    return digest_state(digest.hexdigest(), mode)


def digest_state(digest: str, mode: int) -> bytes:
    """The state of a regular file with this hash."""
    return (b"program " if mode & 0o111 else b"file ") + digest.encode()


def link_state(target: str) -> bytes:
    """The state of a symbolic link."""
    return b"link " + os.fsencode(target)


class _Walk:
    def __init__(self, folder: Path, allowance: Allowance, manifest: Manifest | None) -> None:
        self._name = str(folder)
        self._root = os.path.realpath(folder)
        self._allowance = allowance
        self._text = None if manifest is None else manifest.text
        self._is_data = manifest.is_data if manifest is not None and manifest.data else None
        self._left_out: set[tuple[int, int]] = set()
        """Device and inode of each file of data: a file system may take several spellings for one name."""
        self._led_to: list[tuple[str, str, os.stat_result]] = []
        """Files inside that a link or a word leads to: the path, the path that enters the hash, and the state."""
        self._folders: dict[str, Names] = {}
        self._states: list[tuple[str, bytes]] = []
        self._stamps: list[tuple[str, Stamp]] = []
        self._files: dict[str, int] = {}
        self._cost = 0
        """Bytes of the present step, with `ENTRY_COST` for each entry."""
        self._seen: set[str] = set()
        """Real paths outside of the folder that are covered already. Links may lead in circles."""

    def content(self) -> Content:
        states = tuple(sorted(self._states))
        files = dict(sorted(self._files.items()))
        return Content(hash_states(states), files, states, tuple(self._stamps), self._folders)

    def all(self) -> Steps[None]:
        """Covers all that the extension's folder contains."""
        for link in _links_to(self._name):
            self._stamp(link, self._stat(link))
        self._stamp(self._name, self._stat(self._root))
        yield from self._folder(self._root, "", self._name)
        if self._text and FILE not in self._files:  # it is a link; an empty text is of a folder without a manifest
            self._add(f"./{FILE}", digest_state(hashlib.sha256(self._text).hexdigest(), 0))

    def named(self, word: str) -> Steps[None]:
        """Covers the files and folders that a word of the command line names by relative paths that lead out of the
        folder."""
        for named in paths_in(word):
            if "\0" in named:
                continue
            path = os.path.join(self._root, named)
            if ("/" not in named and named != "..") or os.path.isabs(named):
                self._lead_to(path, named)  # a name in the folder, or an absolute path
                continue
            self._count(named)
            yield from self._outside(path, named)

    def data_led_to(self) -> Steps[None]:
        """Covers the files of data that a link or a word of the command line leads to: they are part of the program."""
        for path, shown, found in self._led_to:
            if (found.st_dev, found.st_ino) in self._left_out:
                yield from self._file(path, shown)

    def _lead_to(self, path: str, shown: str) -> None:
        """Remembers what a path inside leads to. Does nothing if there is no data."""
        if self._is_data is not None:
            with suppress(OSError):
                self._led_to.append((os.path.realpath(path), shown, os.stat(path)))

    def _folder(self, path: str, shown: str, stamped: str = "") -> Steps[None]:
        """Covers all that a folder contains. `shown` is the path that enters the hash, relative to the extension's
        folder, and `stamped` that of its stamp; without it the folder is outside, where no data is."""
        pending = [(path, shown, stamped, 1)]
        while pending:
            path, shown, stamped, depth = pending.pop()
            names = []
            for entry in self._entries(path):
                inside = f"{shown}/{entry.name}" if shown else entry.name
                if entry.name == HISTORY:
                    continue
                found = self._stat(entry.path)
                if stamped and self._is_data is not None and stat.S_ISREG(found.st_mode) and self._is_data(inside):
                    self._left_out.add((found.st_dev, found.st_ino))
                    self._count(inside)
                    continue
                names.append(entry.name)
                if stat.S_ISDIR(found.st_mode):
                    self._check_depth(depth)
                    self._add(inside, b"folder")
                    self._stamp(entry.path, found)
                    pending.append((entry.path, inside, entry.path if stamped else "", depth + 1))
                elif stat.S_ISLNK(found.st_mode):
                    yield from self._link(entry.path, inside, found)
                elif stat.S_ISREG(found.st_mode):
                    yield from self._file(entry.path, inside)
                else:
                    self._add(inside, b"special %o" % stat.S_IFMT(found.st_mode))
                if self._is_step_full():
                    yield
            if stamped and self._is_data is not None:
                self._folders[stamped] = Names(shown, frozenset(names))

    def _check_depth(self, depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise ContentError(
                f"{self._name} holds more than {MAX_DEPTH} folders within one another; remove those that it does not"
                " need"
            )

    def _link(self, path: str, shown: str, found: os.stat_result) -> Steps[None]:
        try:
            target = os.readlink(path)
        except OSError as error:
            raise self._unreadable(path, error) from None
        self._add(shown, link_state(target))
        self._stamp(path, found)
        if not os.path.isabs(target):
            yield from self._outside(path, f"{shown} -> ./{target}")  # no file inside can have this path

    def _outside(self, path: str, shown: str) -> Steps[None]:
        """Covers what a path leads to, if that is outside of the folder."""
        try:
            found = os.stat(path)  # fails for links in a circle, and for more links than `realpath` can follow
        except OSError:
            return
        real = os.path.realpath(path)
        if self._is_inside(real):
            self._lead_to(real, shown)
            return
        is_folder = stat.S_ISDIR(found.st_mode)
        if not (is_folder and self._is_above(real)):
            self._stamp(path, found)
        if real in self._seen:
            return
        self._seen.add(real)
        if stat.S_ISREG(found.st_mode):
            yield from self._file(real, shown)
        elif is_folder:
            self._add(shown, b"folder")
            if not self._is_above(real):
                yield from self._folder(real, shown)
            elif os.path.isfile(entry := os.path.join(real, ENTRY)):
                yield from self._outside(entry, f"{shown}/{ENTRY}")

    def _is_inside(self, real: str) -> bool:
        """Whether the walk through the folder covers this real path."""
        inside = os.path.relpath(real, self._root).split("/")
        return inside[0] != ".." and HISTORY not in inside

    def _is_above(self, real: str) -> bool:
        """Whether the folder with this real path contains the extension: it is what the extension works on, not a part
        of its program."""
        return self._root.startswith(real.rstrip("/") + "/")

    def _entries(self, path: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(path) as entries:
                # Sorted: otherwise the file system would decide which of two links to one file comes first. A few
                # entries more than allowed are enough to be refused.
                return sorted(islice(entries, self._allowance.files + 2), key=lambda entry: entry.name)
        except OSError as error:
            raise self._unreadable(path, error) from None

    def _stat(self, path: str) -> os.stat_result:
        try:
            return os.lstat(path)
        except OSError as error:
            raise self._unreadable(path, error) from None

    def _file(self, path: str, shown: str) -> Steps[None]:
        try:
            # O_NONBLOCK: a FIFO may have replaced the file meanwhile.
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                found = os.fstat(fd)
                if not stat.S_ISREG(found.st_mode):
                    raise self._changing(path)
                self._allow(path, found.st_size)
                digest, size = hashlib.sha256(), 0
                while chunk := os.read(fd, STEP_BYTES):
                    digest.update(chunk)
                    size += len(chunk)
                    self._cost += len(chunk)
                    if size > found.st_size:
                        raise self._changing(path)
                    if self._is_step_full():
                        yield
                if stamp_of(os.fstat(fd)) != stamp_of(found):
                    raise self._changing(path)
            finally:
                os.close(fd)
        except OSError as error:
            raise self._unreadable(path, error) from None
        if shown == FILE and self._text is not None and digest.digest() != hashlib.sha256(self._text).digest():
            raise self._changing(path)
        self._files[shown] = size
        self._add(shown, digest_state(digest.hexdigest(), found.st_mode))
        self._stamp(path, found)

    def _is_step_full(self) -> bool:
        """Whether the present step has done enough. If so, the next one begins."""
        if self._cost < STEP_BYTES:
            return False
        self._cost = 0
        return True

    def _stamp(self, path: str, found: os.stat_result) -> None:
        self._stamps.append((path, stamp_of(found)))

    def _add(self, shown: str, state: bytes) -> None:
        self._states.append((shown, state))
        self._count(shown)

    def _count(self, shown: str) -> None:
        self._cost += ENTRY_COST
        self._allowance.used_files += 1
        if self._allowance.used_files > self._allowance.files:
            raise self._too_much(f"{self._allowance.files:,} files", f"the last one is {_cut(shown)}")

    def _allow(self, path: str, size: int) -> None:
        allowance = self._allowance
        allowance.largest = max(allowance.largest, (size, path))
        allowance.used_bytes += size
        if allowance.used_bytes > allowance.bytes:
            largest, path = allowance.largest
            raise self._too_much(
                f"{allowance.bytes / 2**20:g} MB", f"the largest file is {_cut(path)} ({largest / 2**20:.0f} MB)"
            )

    def _changing(self, path: str) -> ContentError:
        return ContentError(f"{_cut(path)} changes while it is read; try again when nothing writes to it")

    def _unreadable(self, path: str, error: OSError) -> ContentError:
        return ContentError(f"{_cut(path)} cannot be read: {error.strerror}; make it readable or remove it")

    def _too_much(self, bound: str, which: str) -> ContentError:
        return ContentError(
            f"with {self._name} more than {bound} would be read before each start; {which}; move what it does not need"
            " out of it (caches, build output, data), or name it with --ext"
        )


def _links_to(path: str) -> Iterator[str]:
    """Yields the symbolic links that this path goes through. One that led elsewhere for a moment has another state."""
    at, left, links = "/", os.path.abspath(path).split("/"), 0
    while left and links < MAX_LINKS:
        name = left.pop(0)
        if name in ("", ".", ".."):
            at = os.path.dirname(at) if name == ".." else at
            continue
        try:
            target = os.readlink(os.path.join(at, name))
        except OSError:
            at = os.path.join(at, name)  # no link
            continue
        yield os.path.join(at, name)
        links += 1
        at = "/" if os.path.isabs(target) else at
        left = target.split("/") + left


def _cut(path: str) -> str:
    return path if len(path) <= PATH_SHOWN else f"{path[:PATH_SHOWN]}…"
