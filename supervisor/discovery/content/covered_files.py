"""The files that a hash covers: their states and the hash over them. Reads them in steps, within an allowance, and only
if nothing changes them meanwhile. The hashes of extensions, of MCP servers' entries and of installations use this.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from supervisor.discovery.content.seal import stamp_of
from supervisor.discovery.steps import STEP_BYTES
from supervisor.home.safe_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from supervisor.discovery.content.seal import Names, Stamp
    from supervisor.discovery.steps import Allowance, Steps

ENTRY_COST = 8 * 1024
"""Cost of one entry: the number of bytes whose hash takes as long."""
PREFIX = "sha256:"
PART = 16
"""Hexadecimal digits of the hash of a part, which serves only to name the changed parts."""
PATH_SHOWN = 300
"""Maximum number of characters of a path in an error."""


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
    """The stamps for a `Seal`."""
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


class Covered:
    """The files that a hash covers, read in steps and within an allowance."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._states: list[tuple[str, bytes]] = []
        self._stamps: list[tuple[str, Stamp]] = []
        self._files: dict[str, int] = {}
        self._cost = 0
        """Bytes of the present step, with `ENTRY_COST` for each entry."""

    def content(self, folders: Mapping[str, Names] | None = None) -> Content:
        states = tuple(sorted(self._states))
        files = dict(sorted(self._files.items()))
        return Content(hash_states(states), files, states, tuple(self._stamps), folders or {})

    def _add(self, shown: str, state: bytes) -> None:
        self._states.append((shown, state))
        self._count(shown)

    def _stamp(self, path: str, found: os.stat_result) -> None:
        self._stamps.append((path, stamp_of(found)))

    def _is_step_full(self) -> bool:
        """Whether the present step has done enough. If so, the next one begins."""
        if self._cost < STEP_BYTES:
            return False
        self._cost = 0
        return True

    def _entries(self, path: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(path) as entries:
                # Sorted: otherwise the file system would decide which of two links to one file comes first. A few
                # entries more than allowed are enough to be refused.
                return sorted(islice(entries, self._allowance.files + 2), key=lambda entry: entry.name)
        except OSError as error:
            raise unreadable_error(path, error) from None

    def _read(self, path: str) -> Steps[tuple[str, os.stat_result]]:
        """Reads a regular file. Returns its hash in hexadecimal digits, and its status."""
        try:
            fd = open_regular(path, os.O_NOFOLLOW)  # a link may have taken the file's place
            try:
                found = os.fstat(fd)
                self._allow(path, found.st_size)
                digest, size = hashlib.sha256(), 0
                while chunk := os.read(fd, STEP_BYTES):
                    digest.update(chunk)
                    size += len(chunk)
                    self._cost += len(chunk)
                    if size > found.st_size:
                        raise changed_error(path)
                    if self._is_step_full():
                        yield
                if stamp_of(os.fstat(fd)) != stamp_of(found):
                    raise changed_error(path)
            finally:
                os.close(fd)
        except OSError as error:
            raise unreadable_error(path, error) from None
        self._stamp(path, found)
        return digest.hexdigest(), found

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

    def _too_much(self, bound: str, which: str) -> ContentError:
        return ContentError(f"more than {bound} would be read before each start; {which}")


def changed_error(path: str) -> ContentError:
    return ContentError(f"{_cut(path)} changes while it is read; try again when nothing writes to it")


def unreadable_error(path: str, error: OSError) -> ContentError:
    return ContentError(f"{_cut(path)} cannot be read: {error.strerror}; make it readable or remove it")


def _cut(path: str) -> str:
    return path if len(path) <= PATH_SHOWN else f"{path[:PATH_SHOWN]}…"
