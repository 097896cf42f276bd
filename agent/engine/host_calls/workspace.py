"""The workspace of a session: a folder for notes and files of its extensions. Reads and writes nothing outside it."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from agent.sessions.workspaces import has_files, remove_workspace, sweep, workspace_of
from supervisor.home.safe_files import read_file, replace_file
from supervisor.home.zot_home import private_folder

if TYPE_CHECKING:
    from pathlib import Path

FILE_BYTES = 1024 * 1024
"""Of one file that is read or written."""
LISTED = 1_000
"""Files that a list has at most."""
LOOKS = 5_000
"""Entries that a list looks at. To look at a million takes seconds, in which all other extensions wait."""
PARTS = 32
"""Folders of a path, and folders within each other that a list looks into."""
NAME_BYTES = 4096
"""Of a path."""


class SessionWorkspaceError(Exception):
    """A file of the workspace cannot be used so; the text names it and says why."""


class SessionWorkspace:
    """The folder of one session. It is made by `make`, or by the first file that is written."""

    def __init__(self, home: Path, session: str, file: Path | None = None) -> None:
        """`file` is that of the session, which need not be there; None if the session is not kept."""
        self.session = session
        self._file = file
        self.path = workspace_of(home, session, is_kept=file is not None)
        self.created_at = ""
        """ISO 8601; "" before `make`."""
        self._home = home
        self._has_failed = False

    def make(self) -> None:
        """Makes the folder if it is not there. Raises `SessionWorkspaceError`."""
        import supervisor.home.delete_tree  # noqa: F401  (the end needs it, and is not to import anything)

        sweep(self._home)
        try:
            is_new = not self.path.is_dir()
            private_folder(self.path)
            since = datetime.now(UTC) if is_new else datetime.fromtimestamp(self.path.stat().st_ctime, UTC)
        except OSError as error:
            raise SessionWorkspaceError(f"{self.path}: the workspace cannot be made: {error.strerror}") from None
        self.created_at = self.created_at or since.isoformat()

    def make_once(self) -> str:
        """Makes the folder. Returns why that is not possible, at the first time alone, or ""."""
        if self.created_at or self._has_failed:
            return ""
        try:
            self.make()
        except SessionWorkspaceError as error:
            self._has_failed = True
            return str(error)
        return ""

    def close(self) -> str:
        """Removes the folder if it has no file, and with its files if the session has none of its own. Returns what
        could not be removed, and why, or ""."""
        is_kept = self._file is not None and self._file.exists()
        if not self.created_at or (is_kept and has_files(self.path)):
            return ""
        return remove_workspace(self._home, self.session, is_kept=self._file is not None)

    # --- files ----------------------------------------------------------------------------------------------

    def files(self, folder: str) -> list[str]:
        """As in `host_calls.ListFiles`. Links and what is no file are left out. Raises `SessionWorkspaceError`."""
        top = self._resolve(folder, may_be_top=True)
        found: list[str] = []
        self._look(str(top), "", found, PARTS, LOOKS)
        return sorted(found)

    def _look(self, folder: str, prefix: str, found: list[str], depth: int, left: int) -> int:
        """Looks at `left` entries at most. Returns how many more may be looked at."""
        try:
            with os.scandir(folder) as entries:
                inside = sorted(islice(entries, left), key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return left
        except OSError as error:
            raise SessionWorkspaceError(f"{folder}: cannot be read: {error.strerror}") from None
        left -= len(inside)
        for entry in inside:
            if len(found) >= LISTED:
                break
            if entry.is_file(follow_symlinks=False):
                found.append(prefix + entry.name)
            elif left and depth and entry.is_dir(follow_symlinks=False):
                left = self._look(entry.path, f"{prefix}{entry.name}/", found, depth - 1, left)
        return left

    def read(self, path: str) -> tuple[str, str | None]:
        """The absolute path and the text, None if there is no such file. Bytes that are no UTF-8 become U+FFFD. Raises
        `SessionWorkspaceError`."""
        file = self._resolve(path)
        try:
            return str(file), read_file(file, FILE_BYTES).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return str(file), None
        except OSError as error:
            raise SessionWorkspaceError(f"{path}: cannot be read: {error.strerror}") from None

    def write(self, path: str, content: str) -> None:
        """Raises `SessionWorkspaceError`."""
        file = self._resolve(path)
        data = content.encode("utf-8", "replace")
        if len(data) > FILE_BYTES:
            raise SessionWorkspaceError(f"{path}: {len(data):,} bytes; a file may have {FILE_BYTES:,}")
        self.make()
        try:
            private_folder(file.parent)
            if os.path.lexists(file) and not stat.S_ISREG(os.lstat(file).st_mode):
                raise SessionWorkspaceError(f"{path}: it is there, and is no file")
            replace_file(file, data, 0o600, durable=False)
        except OSError as error:
            raise SessionWorkspaceError(f"{path}: cannot be written: {error.strerror}") from None

    def remove(self, path: str) -> None:
        """Raises `SessionWorkspaceError`."""
        try:
            os.unlink(self._resolve(path))
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            raise SessionWorkspaceError(f"{path}: cannot be removed: {error.strerror}") from None

    def _resolve(self, path: str, *, may_be_top: bool = False) -> Path:
        """The file of this name, without a link on the way. Raises `SessionWorkspaceError` if it leads out."""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        shown = path[:200]
        if "\0" in path or len(path.encode("utf-8", "surrogatepass")) > NAME_BYTES or len(parts) > PARTS:
            raise SessionWorkspaceError(f"{shown!r}: no such name can be in a workspace")
        if path.startswith("/") or ".." in parts:
            raise SessionWorkspaceError(f"{shown}: it is not in the workspace; give a path relative to it")
        if not parts and not may_be_top:
            raise SessionWorkspaceError("the path is empty")
        place = self.path
        for part in parts:
            place = place / part
            if place.is_symlink():
                raise SessionWorkspaceError(f"{shown}: there is a link on the way, which may lead out of the workspace")
        return place
