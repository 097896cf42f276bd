"""Finds out whether files have changed since they were hashed, only from their states: reads no file again.

Until the processes start, each folder must also have the same names, except for the extension's data. Afterwards only
hashed files are compared: the extension may have written a file of its own.

A change of a file sets its `ctime`, which no program can set back. A change that leaves the size as it was, and comes
within the same tick of the file system's clock (up to 10 ms), is not seen.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wire.manifest import Manifest

HISTORY = ".git"
"""Name of folders that are not part of an extension, at any level."""

Stamp = tuple[int, int, int, int, int, int]


class Names(NamedTuple):
    """A folder of an extension that may hold its data."""

    inside: str
    """Its path in the extension's folder; "" for that folder itself."""
    names: frozenset[str]
    """The names in it, without data and `HISTORY`."""


def stamp_of(status: os.stat_result) -> Stamp:
    """The properties that change with a file, folder or link: identity, mode, size and times."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


class Seal:
    """The manifest and the files of an extension as they were hashed and found to be trusted."""

    def __init__(
        self,
        manifest: Manifest,
        stamps: Sequence[tuple[str, Stamp]],
        folders: Mapping[str, Names] | None = None,
        *,
        lasts: bool = False,
        unchecked: str = "",
    ) -> None:
        """`stamps` has each path with its state at the time of the hash: of a link its own, of all others the target's.
        `folders` are the folders whose times may change, by the path of their stamp; by default none."""
        self.manifest = manifest
        self._stamps = stamps
        self._folders = folders or {}
        self.lasts = lasts
        """Whether the seal holds for every start of a process, not only for the first one of each worker."""
        self.unchecked = unchecked
        """A part that the seal does not cover: then the extension must not be restarted; "" if it covers all."""

    def for_good(self, unchecked: str = "") -> Seal:
        """The same seal for every start; with `unchecked` only for the first one."""
        return Seal(self.manifest, self._stamps, self._folders, lasts=True, unchecked=unchecked)

    def absolute_link(self, folder: str) -> str:
        """Returns the first link in the folder, a real path, that has an absolute target, whose content was not hashed;
        "" without one."""
        for path, stamp in self._stamps:
            if stat.S_ISLNK(stamp[2]) and path.startswith(f"{folder.rstrip('/')}/"):
                try:
                    if os.path.isabs(os.readlink(path)):
                        return path
                except OSError:
                    return path
        return ""

    def first_change(self, *, has_begun: bool = False) -> str:
        """Returns the first path whose state has changed; "" if none has. If the extension `has_begun`, a folder may
        have other names in it. Takes 4 µs for each path."""
        for path, stamp in self._stamps:
            try:
                now = stamp_of(os.lstat(path) if stat.S_ISLNK(stamp[2]) else os.stat(path))
                if now != stamp and not (_is_same_folder(now, stamp) and (has_begun or self._has_its_names(path))):
                    return path
            except OSError:
                return path
        return ""

    def _has_its_names(self, path: str) -> bool:
        """Whether a folder has the same names as when it was hashed. False if these are unknown. Raises `OSError`."""
        known = self._folders.get(path)
        if known is None:
            return False
        start = f"{known.inside}/" if known.inside else ""
        with os.scandir(path) as entries:
            return known.names == {
                entry.name
                for entry in entries
                if entry.name != HISTORY
                and not (self.manifest.is_data(start + entry.name) and entry.is_file(follow_symlinks=False))
            }


def _is_same_folder(now: Stamp, before: Stamp) -> bool:
    """Whether both are the same folder with the same mode. Size and times may differ: they stand for its content."""
    return stat.S_ISDIR(now[2]) and now[:3] == before[:3]
