"""Notices that files of extensions have changed, for `--watch`: looks at them, by `stat`, twice a second.

Not inotify: it has to be told of each folder, loses events when many files change at once, says nothing on network
shares and mounts that others write to, and follows a folder that is renamed to where nobody looks for it. A look at a
hundred files takes a millisecond; how often is bounded by what it costs. Nobody looks unless somebody wants it.
"""

from __future__ import annotations

import os
import time
from fnmatch import fnmatchcase
from stat import S_ISDIR
from typing import TYPE_CHECKING, NamedTuple

from supervisor.discovery.data_dir import is_state
from supervisor.discovery.discover import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from supervisor.loop.loop import Loop, Timer

LOOK_S = 0.5
"""Between two looks."""
QUIET_S = 0.2
"""What has changed is reloaded once nothing has changed any more for so long."""
SHARE = 0.02
"""Of one core, that looking may cost in the long run."""
FILES_LIMIT = 5000
"""Of one extension; what is beyond is not watched."""
DEPTH_LIMIT = 20
NOT_ENTERED = frozenset(
    {"node_modules", "__pycache__", "data", "venv", "target", ".git", ".hg", ".svn", ".venv", ".idea", ".vscode"}
)
NOT_WATCHED = ("*.pyc", "*.log", "*.tmp", "*.sw[a-p]", "*.swx", "*~", ".#*", "#*#", "4913", ".DS_Store")
"""What programs and editors write beside a program. So are files that hold state, see `data_dir.is_state`."""
SELF_MADE_S = 1.0
SELF_MADE_TIMES = 5
"""A file that has changed so often within `SELF_MADE_S` of the reload that it had caused is written by the extension
itself: it is not watched any more, or the reloads would never end."""


class Seen(NamedTuple):
    """What tells one content of a file from another: editors that replace a file give it another number."""

    inode: int
    size: int
    changed_ns: int


def look(folder: Path) -> dict[str, Seen]:
    """The files below a folder that are watched, by their path within it."""
    return dict(_files(str(folder), "", DEPTH_LIMIT, [FILES_LIMIT]))


def is_watched(name: str) -> bool:
    return not is_state(name) and not any(fnmatchcase(name, pattern) for pattern in NOT_WATCHED)


def _files(folder: str, prefix: str, depth: int, left: list[int]) -> Iterator[tuple[str, Seen]]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return  # gone, or not to be read: then that is what is seen
    for entry in found:
        try:
            status = entry.stat()  # of what a link leads to
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
            yield path, Seen(status.st_ino, status.st_size, status.st_mtime_ns)


def difference(before: Mapping[str, Seen], now: Mapping[str, Seen]) -> set[str]:
    """Files that are new, gone or not what they were."""
    return {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}


class FileWatcher:
    """Looks from `start` until `stop`. `folders` says where the extensions are now, by name; `on_change` hears the name
    of one whose files have changed and the files, once they have been left alone for `QUIET_S`. `parents` are folders
    of extension folders: `on_folders` is called when a manifest there comes, goes or changes. `say` gets a name and a
    line for the user."""

    def __init__(
        self,
        loop: Loop,
        *,
        folders: Callable[[], Mapping[str, Path]],
        on_change: Callable[[str, set[str]], None],
        parents: Iterable[Path] = (),
        on_folders: Callable[[], None],
        say: Callable[[str, str], None],
    ) -> None:
        self._loop = loop
        self._folders = folders
        self._on_change = on_change
        self._parents = tuple(parents)
        self._on_folders = on_folders
        self._say = say
        self._timer: Timer | None = None
        self._watched: dict[str, _Watched] = {}
        self._listed: dict[str, Seen] = {}
        self._listed_before: dict[str, Seen] = {}

    def start(self) -> None:
        """What is there now is taken as known."""
        if self._timer is None:
            self._listed = self._listed_before = self._list()
            self._add_new()
            self._timer = self._loop.call_later(LOOK_S, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def reloaded(self, name: str) -> None:
        """The reload of this one has come to an end."""
        if (one := self._watched.get(name)) is not None:
            one.reloaded_at = self._loop.clock()

    def _look(self) -> None:
        began = time.process_time()
        self._add_new()
        is_waiting = self._look_for_folders()
        for name, one in list(self._watched.items()):
            is_waiting = self._look_at(name, one) or is_waiting
        cost = time.process_time() - began
        self._timer = self._loop.call_later(max(QUIET_S if is_waiting else LOOK_S, cost / SHARE), self._look)

    def _add_new(self) -> None:
        folders = self._folders()
        for name in self._watched.keys() - folders.keys():
            del self._watched[name]
        for name, folder in folders.items():
            known = self._watched.get(name)
            if known is None or known.folder != folder:
                self._watched[name] = _Watched(folder)

    def _look_for_folders(self) -> bool:
        """Whether something has changed that may go on changing."""
        listed = self._list()
        if listed != self._listed:
            self._listed = listed
            return True
        if listed != self._listed_before:
            self._listed_before = listed
            self._on_folders()
        return False

    def _list(self) -> dict[str, Seen]:
        """The manifests that are there."""
        found: dict[str, Seen] = {}
        for parent in self._parents:
            try:
                names = os.listdir(parent)
            except OSError:
                continue
            for name in names:
                path = os.path.join(parent, name, MANIFEST)
                try:
                    status = os.stat(path)
                except OSError:
                    continue
                found[path] = Seen(status.st_ino, status.st_size, status.st_mtime_ns)
        return found

    def _look_at(self, name: str, one: _Watched) -> bool:
        files = look(one.folder)
        changed = difference(one.files, files) - one.ignored
        one.files = files
        if changed:
            one.changed |= changed
            return True
        if not one.changed:
            return False
        changed, one.changed = one.changed, set()
        now = self._loop.clock()
        own = one.made_itself(changed, now)
        for path in own:
            self._say(name, f"{path} changes after each reload, and is not watched any more: keep state in data_dir")
        if changed - one.ignored:
            self._on_change(name, changed)
        return False


class _Watched:
    """One extension's files, and what they have done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = look(folder)
        self.changed: set[str] = set()
        """Since the last reload was asked for."""
        self.ignored: set[str] = set()
        self.reloaded_at = float("-inf")
        self._row: dict[str, int] = {}

    def made_itself(self, changed: set[str], now: float) -> set[str]:
        """Those of the changed files that are to be ignored from now on."""
        is_soon = now - self.reloaded_at <= SELF_MADE_S + LOOK_S + QUIET_S
        self._row = {path: self._row.get(path, 0) + 1 for path in changed} if is_soon else {}
        own = {path for path, times in self._row.items() if times >= SELF_MADE_TIMES}
        self.ignored |= own
        return own
