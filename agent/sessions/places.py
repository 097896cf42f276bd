"""Where session files lie: `$ZOT_HOME/sessions/FOLDER/STARTED-ID.jsonl`, with a folder for each working folder."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FOLDER = "sessions"
SUFFIX = ".jsonl"
PORTABLE_SUFFIX = ".zotsession"
"""The suffix of a session for another machine."""
UNFINISHED = ".tmp"
"""The suffix of an unfinished file. Its name also begins with a dot."""


def folder_of(home: Path, cwd: str) -> Path:
    """The folder of the sessions of a working folder. `cwd` is an absolute path: zot hashes it as given."""
    return home / FOLDER / hashlib.sha256(cwd.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def unfinished_path(path: Path) -> Path:
    """A unique name for a file until it is finished; readers do not take it for a session."""
    return path.with_name(f".{path.name}.{os.urandom(6).hex()}{UNFINISHED}")


def is_session_name(name: str) -> bool:
    return name.endswith(SUFFIX) and not name.startswith(".")


def is_unfinished_name(name: str) -> bool:
    """Whether this is the name of an unfinished session file."""
    return name.startswith(".") and f"{SUFFIX}." in name and name.endswith(UNFINISHED)


def session_entries(
    home: Path, cwd: str | None = None, tell: Callable[[str], None] | None = None
) -> Iterator[tuple[Path, os.DirEntry[str]]]:
    """All entries of the session folder of a working folder, or with None of all, each after its folder. `tell` gets a
    line about each folder that exists and cannot be read."""
    root = home / FOLDER
    if cwd is not None:
        folders = [folder_of(home, cwd)]
    else:  # entry.is_dir() would raise for a link that leads to itself
        folders = [root / entry.name for entry in _entries(root, tell) if os.path.isdir(entry.path)]
    for folder in folders:
        for entry in _entries(folder, tell):
            yield folder, entry


def session_files(home: Path, cwd: str | None = None, tell: Callable[[str], None] | None = None) -> list[Path]:
    """The session files of a working folder, or with None of all: last written first, as in zot. `tell` as in
    `session_entries`."""
    found = []
    for folder, entry in session_entries(home, cwd, tell):
        try:
            if is_session_name(entry.name) and entry.is_file():
                found.append((entry.stat().st_mtime_ns, entry.path, folder / entry.name))
        except OSError:
            continue
    return [path for _, _, path in sorted(found, reverse=True)]


def _entries(folder: Path, tell: Callable[[str], None] | None) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except FileNotFoundError:
        pass
    except OSError as error:
        if tell is not None:
            tell(f"{folder}: cannot be read: {error.strerror}")
    return []
