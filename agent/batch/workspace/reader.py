"""Reads the workspace of a confined run, in which a container may still change names: whatever links appear on the way,
nothing outside is listed or read."""

from __future__ import annotations

import os
from pathlib import Path

from agent.tools.files.beneath import open_beneath, open_root
from supervisor.home.delete_tree import OPEN_FOLDER
from supervisor.home.safe_files import read_file


class ConfinedReader:
    """Follows no links at all."""

    def __init__(self, root: Path) -> None:
        """Raises `OSError`."""
        self._root = root
        self._top = open_root(str(root))

    def open_folder(self, folder: str) -> int:
        """A descriptor of the folder with this path relative to the root. Raises `OSError`."""
        return open_beneath(self._top, folder, OPEN_FOLDER, follows=False)

    def read(self, path: Path, limit: int) -> bytes:
        """As `read_file`; of a path that is not below the root, too, which the run could not choose."""
        if not path.is_relative_to(self._root):
            return read_file(path, limit)
        file = open_beneath(self._top, str(path.relative_to(self._root)), os.O_PATH | os.O_NOFOLLOW, follows=False)
        try:
            return read_file(Path(f"/proc/self/fd/{file}"), limit)
        finally:
            os.close(file)

    def close(self) -> None:
        os.close(self._top)
