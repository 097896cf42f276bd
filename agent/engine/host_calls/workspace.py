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
"""Maximum of one file that is read or written, in bytes."""
LISTED = 1_000
"""Maximum of files in a list."""
LOOKS = 5_000
"""Maximum of entries that a list looks at: a million take seconds, while all other extensions wait."""
PARTS = 32
"""Maximum of parts of a path, and of nested folders that a list looks into."""
NAME_BYTES = 4096
"""Maximum of a path in bytes."""


class SessionWorkspaceError(Exception):
    """A file of the workspace cannot be used; the text names it and says why."""


class SessionWorkspace:
    """The folder of one session, created by `make` or by the first written file."""

    def __init__(self, home: Path, session: str, file: Path | None = None) -> None:
        """`file`: the session file, which need not exist; None if the session is not kept."""
        self.session = session
        self._file = file
        self.path = workspace_of(home, session, is_kept=file is not None)
        self.created_at = ""
        """ISO 8601; "" before `make`."""
        self._home = home
        self._has_failed = False

    def make(self) -> None:
        """Creates the folder if missing. Raises `SessionWorkspaceError`."""
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
        """Creates the folder. Returns the reason of a failure, the first time only; else ""."""
        if self.created_at or self._has_failed:
            return ""
        try:
            self.make()
        except SessionWorkspaceError as error:
            self._has_failed = True
            return str(error)
        return ""

    def close(self) -> str:
        """Removes the folder if it has no file; also with files if the session has no file of its own. Returns what
        could not be removed, and why; else ""."""
        is_kept = self._file is not None and self._file.exists()
        if not self.created_at or (is_kept and has_files(self.path)):
            return ""
        return remove_workspace(self._home, self.session, is_kept=self._file is not None)

    # --- files ----------------------------------------------------------------------------------------------

    def files(self, folder: str) -> list[str]:
        """The files, as in `host_calls.ListFiles`, without links and special files. Raises `SessionWorkspaceError`."""
        top = self._resolve(folder, may_be_top=True)
        found: list[str] = []
        self._look(str(top), "", found, PARTS, LOOKS)
        return sorted(found)

    def _look(self, folder: str, prefix: str, found: list[str], depth: int, left: int) -> int:
        """Adds files to `found`, looking at `left` entries at most. Returns the rest of `left`."""
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
        """The absolute path and the text, None if there is no such file. Bytes that are not UTF-8 become U+FFFD. Raises
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
        """The file of this name. Raises `SessionWorkspaceError` if a link is on the way, or if it leads out."""
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
