"""Finds changes of the files of extensions, for `--watch`: scans them with `stat` twice a second.

inotify is not used: it needs a watch for each folder, loses events when many files change at once, reports nothing on
network shares and mounts that others write to, and follows a renamed folder to its new place. A scan of a hundred files
takes a millisecond. The pause grows with the cost of a scan. Without `--watch` nothing is scanned.
"""

from __future__ import annotations

import os
import time
from fnmatch import fnmatchcase
from stat import S_ISDIR
from typing import TYPE_CHECKING, NamedTuple

from supervisor.discovery.data_dir import is_state
from supervisor.discovery.discover import MANIFEST
from supervisor.home.copilot_folders import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from supervisor.loop.loop import Loop, Timer

LOOK_S = 0.5
"""Seconds between two scans."""
QUIET_S = 0.2
"""Seconds without a further change after which an extension is reloaded."""
SHARE = 0.02
"""Fraction of one core that scanning may use on average."""
FILES_LIMIT = 5000
"""Maximum number of files of one extension that are watched. Further files are not watched."""
DEPTH_LIMIT = 20
NOT_ENTERED = frozenset(
    {"node_modules", "__pycache__", "data", "venv", "target", ".git", ".hg", ".svn", ".venv", ".idea", ".vscode"}
)
NOT_WATCHED = ("*.pyc", "*.log", "*.tmp", "*.sw[a-p]", "*.swx", "*~", ".#*", "#*#", "4913", ".DS_Store")
"""Files that programs and editors write beside a program. Files that hold state are not watched either, see
`data_dir.is_state`."""
SELF_MADE_S = 1.0
SELF_MADE_TIMES = 5
"""Number of times in a row that a file changes within `SELF_MADE_S` seconds of the reload that it caused before it
counts as written by the extension itself. It is then no longer watched: the reloads would never end."""


class FileStamp(NamedTuple):
    """Changes when the content of a file changes. An editor that replaces a file gives it another inode."""

    inode: int
    size: int
    changed_ns: int


def look(folder: Path) -> dict[str, FileStamp]:
    """The watched files below a folder, by their path within the folder."""
    return dict(_files(str(folder), "", DEPTH_LIMIT, [FILES_LIMIT]))


def is_watched(name: str) -> bool:
    return not is_state(name) and not any(fnmatchcase(name, pattern) for pattern in NOT_WATCHED)


def _files(folder: str, prefix: str, depth: int, left: list[int]) -> Iterator[tuple[str, FileStamp]]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return  # a missing or unreadable folder counts as empty
    for entry in found:
        try:
            status = entry.stat()  # follows a symlink to its target
        except OSError:
            continue
        path = prefix + entry.name
        if S_ISDIR(status.st_mode):
            if depth and entry.name not in NOT_ENTERED and not entry.is_symlink():
                yield from _files(entry.path, f"{path}/", depth - 1, left)
        elif is_watched(entry.name):
            if not left[0]:
                return
            left[0] -= 1
            yield path, FileStamp(status.st_ino, status.st_size, status.st_mtime_ns)


def difference(before: Mapping[str, FileStamp], now: Mapping[str, FileStamp]) -> set[str]:
    """The files that are new, removed or changed."""
    return {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}


class FileWatcher:
    """Scans from `start` until `stop`. `folders` returns the present folder of each extension by name. `on_change` gets
    the name of an extension and its changed files, `QUIET_S` seconds after the last change. `parents` are folders that
    contain extension folders. `on_folders` is called when one of the `files`, or a manifest or an `extension.mjs` in
    one of these extension folders, appears, disappears or changes. `say` gets the name of an extension and a line
    for the user."""

    def __init__(
        self,
        loop: Loop,
        *,
        folders: Callable[[], Mapping[str, Path]],
        on_change: Callable[[str, set[str]], None],
        parents: Iterable[Path] = (),
        files: Iterable[Path] = (),
        on_folders: Callable[[], None],
        say: Callable[[str, str], None],
    ) -> None:
        self._loop = loop
        self._folders = folders
        self._on_change = on_change
        self._parents = tuple(parents)
        self._files = tuple(files)
        self._on_folders = on_folders
        self._say = say
        self._timer: Timer | None = None
        self._watched: dict[str, _Watched] = {}
        self._listed: dict[str, FileStamp] = {}
        self._listed_before: dict[str, FileStamp] = {}

    def start(self) -> None:
        """Begins to scan. Only later changes of the files count."""
        if self._timer is None:
            self._listed = self._listed_before = self._list()
            self._add_new()
            self._timer = self._loop.call_later(LOOK_S, self._scan)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def reloaded(self, name: str) -> None:
        """Called when a reload of this extension has ended."""
        if (watched := self._watched.get(name)) is not None:
            watched.reloaded_at = self._loop.clock()

    def _scan(self) -> None:
        began = time.process_time()
        self._add_new()
        is_waiting = self._scan_folders()
        for name, watched in list(self._watched.items()):
            is_waiting = self._scan_files(name, watched) or is_waiting
        cost = time.process_time() - began
        self._timer = self._loop.call_later(max(QUIET_S if is_waiting else LOOK_S, cost / SHARE), self._scan)

    def _add_new(self) -> None:
        folders = self._folders()
        for name in self._watched.keys() - folders.keys():
            del self._watched[name]
        for name, folder in folders.items():
            known = self._watched.get(name)
            if known is None or known.folder != folder:
                self._watched[name] = _Watched(folder)

    def _scan_folders(self) -> bool:
        """Calls `on_folders` when the manifests have stopped changing. Returns True while they may still change."""
        listed = self._list()
        if listed != self._listed:
            self._listed = listed
            return True
        if listed != self._listed_before:
            self._listed_before = listed
            self._on_folders()
        return False

    def _list(self) -> dict[str, FileStamp]:
        """The manifests and the programs of Copilot extensions in the extension folders of `parents`, and the `files`,
        by path."""
        found: dict[str, FileStamp] = {}
        for parent in self._parents:
            try:
                names = os.listdir(parent)
            except OSError:
                continue
            for name in names:
                _put_stamp(found, os.path.join(parent, name, MANIFEST))
                _put_stamp(found, os.path.join(parent, name, PROGRAM))
        for file in self._files:
            _put_stamp(found, str(file))
        return found

    def _scan_files(self, name: str, watched: _Watched) -> bool:
        """Calls `on_change` when the files have stopped changing. Returns True while they may still change."""
        files = look(watched.folder)
        changed = difference(watched.files, files) - watched.ignored
        watched.files = files
        if changed:
            watched.changed |= changed
            return True
        if not watched.changed:
            return False
        changed, watched.changed = watched.changed, set()
        now = self._loop.clock()
        own = watched.written_by_itself(changed, now)
        for path in own:
            self._say(name, f"{path} changes after each reload, and is no longer watched: keep state in data_dir")
        if changed - watched.ignored:
            self._on_change(name, changed)
        return False


def _put_stamp(found: dict[str, FileStamp], path: str) -> None:
    try:
        status = os.stat(path)
    except OSError:
        return
    found[path] = FileStamp(status.st_ino, status.st_size, status.st_mtime_ns)


class _Watched:
    """The files of one extension and their changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = look(folder)
        self.changed: set[str] = set()
        """Files that have changed since the last call of `on_change`."""
        self.ignored: set[str] = set()
        self.reloaded_at = float("-inf")
        self._row: dict[str, int] = {}

    def written_by_itself(self, changed: set[str], now: float) -> set[str]:
        """The changed files that the extension itself writes. They are ignored from now on."""
        is_soon = now - self.reloaded_at <= SELF_MADE_S + LOOK_S + QUIET_S
        self._row = {path: self._row.get(path, 0) + 1 for path in changed} if is_soon else {}
        own = {path for path, times in self._row.items() if times >= SELF_MADE_TIMES}
        self.ignored |= own
        return own
