"""Where session files lie: `$ZOT_HOME/sessions/FOLDER/STARTED-ID.jsonl`, with a folder for each working folder."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FOLDER = "sessions"
SUFFIX = ".jsonl"
TEMPORARY = ".tmp"
"""How the name ends of a file that is being made. Such a name begins with a dot."""


def folder_of(home: Path, cwd: str) -> Path:
    """The folder of the sessions of a working folder, an absolute path: zot hashes the path as it is given."""
    return home / FOLDER / hashlib.sha256(cwd.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def temporary_of(path: Path) -> Path:
    """The name that a session file has while it is made: no session, to readers."""
    return path.with_name(f".{path.name}{TEMPORARY}")


def session_files(home: Path, cwd: str | None = None, tell: Callable[[str], None] | None = None) -> list[Path]:
    """The session files of a working folder, or of all: the one that was written to last first, as in zot. `tell` gets
    a line about each folder that is there and cannot be read."""
    folders = [folder_of(home, cwd)] if cwd is not None else _folders(home / FOLDER, tell)
    found = []
    for folder in folders:
        for entry in _entries(folder, tell):
            try:
                if entry.name.endswith(SUFFIX) and entry.is_file():
                    found.append((entry.stat().st_mtime_ns, entry.path, folder / entry.name))
            except OSError:
                continue
    return [path for _, _, path in sorted(found, reverse=True)]


def _folders(root: Path, tell: Callable[[str], None] | None) -> list[Path]:
    # entry.is_dir() would raise for a link that leads to itself.
    return [root / entry.name for entry in _entries(root, tell) if os.path.isdir(entry.path)]


def _entries(folder: Path, tell: Callable[[str], None] | None) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except FileNotFoundError:
        pass
    except OSError as error:
        if tell is not None:
            tell(f"{folder}: cannot be read: {error.strerror}")
    return []
