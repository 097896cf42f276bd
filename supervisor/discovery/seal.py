"""Tells whether files have changed since they were hashed, by their states alone: nothing is read again.

A change of a file sets its `ctime`, which no program can set back. A change that leaves the size as it was, and comes
within the same tick of the file system's clock (up to 10 ms), is not seen.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.manifest import Manifest

Stamp = tuple[int, int, int, int, int, int]


def stamp_of(status: os.stat_result) -> Stamp:
    """What changes with a file, folder or link: its identity, mode, size and times."""
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
        self, manifest: Manifest, stamps: Sequence[tuple[str, Stamp]], *, lasts: bool = False, unchecked: str = ""
    ) -> None:
        """`stamps` has each path with its state at that time: of a link its own, of all else what the path led to."""
        self.manifest = manifest
        self._stamps = stamps
        self.lasts = lasts
        """Whether it holds for every start of a process, and not only for the first one of each worker."""
        self.unchecked = unchecked
        """What of the extension this does not cover, so that it must not be started again; "" if it covers all."""

    def for_good(self, unchecked: str = "") -> Seal:
        """The same seal, for every start; with `unchecked` for the first one alone."""
        return Seal(self.manifest, self._stamps, lasts=True, unchecked=unchecked)

    def absolute_link(self, folder: str) -> str:
        """Returns the first link in the folder, a real path, that has an absolute target: what is there was not hashed.
        "" if there is none."""
        for path, stamp in self._stamps:
            if stat.S_ISLNK(stamp[2]) and path.startswith(f"{folder.rstrip('/')}/"):
                try:
                    if os.path.isabs(os.readlink(path)):
                        return path
                except OSError:
                    return path
        return ""

    def first_change(self) -> str:
        """Returns the first path whose state has changed; "" if none has. Takes 4 µs for each path."""
        for path, stamp in self._stamps:
            try:
                now = stamp_of(os.lstat(path) if stat.S_ISLNK(stamp[2]) else os.stat(path))
            except OSError:
                return path
            if now != stamp:
                return path
        return ""
