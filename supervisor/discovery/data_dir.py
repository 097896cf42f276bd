"""Where an extension keeps what must outlive its process: a folder of its own, apart from its program.

`$ZOT_HOME/data/NAME`; for those of a project `$ZOT_HOME/data/NAME-` and 8 digits that stand for the project's path. In
zot it is the folder of the program: where an extension has left state there, and has no folder of its own yet, it keeps
that one.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import msgspec

from supervisor.home.small_file import read_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from supervisor.discovery.discover import Found

FOLDER = "data"
RECORD = ".zot-install.json"
STATE = ("*.json", "*.jsonl", "*.ndjson", "*.db", "*.db3", "*.sqlite", "*.sqlite3", "*.sqlite-*")
"""Names of files that hold state, as a rule."""
PROGRAM = (
    "extension.json", "package*.json", "npm-shrinkwrap.json", "tsconfig*.json", "jsconfig*.json", "deno*.json",
    "composer.json", "biome.json", "pyrightconfig.json", "renovate.json", "*.schema.json", "schema.json",
    "test*", "*.test.*", "*_test.*", ".*",
)  # fmt: skip
"""Names of such files that come with a program."""
MADE = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})
"""Folders that tools make beside a program."""


@dataclass(frozen=True)
class DataDir:
    path: Path
    trouble: str = ""
    """Why it is the extension's own folder although it should not be, and what to do."""


def prepare(found: Found, data: Path | None) -> DataDir:
    """Makes the folder, for its user only, and says which it is. `data` is `$ZOT_HOME/data`; without it, the
    extension's own folder. An extension that can have no other starts all the same, as in zot."""
    if data is None:
        return DataDir(found.folder)
    own = data / name_of(found)
    try:
        if not own.is_dir() and state_in(found.folder):
            return DataDir(found.folder)
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        own.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        return DataDir(
            found.folder, f"its data folder {own} cannot be made: {error.strerror}; it keeps its data in {found.folder}"
        )
    return DataDir(own)


def name_of(found: Found) -> str:
    """The name of its data folder. Projects do not share one; an extension of a project that is named with `--ext` has
    the same as without."""
    name = found.manifest.name
    if not found.is_of_a_project:
        return name
    project = os.fsencode(found.folder.absolute().parents[2].resolve())
    return f"{name}-{hashlib.sha256(project).hexdigest()[:8]}"


def state_in(folder: Path) -> list[str]:
    """What an extension has left in the folder of its program, sorted.

    Of an installed one, everything that was not installed, but for what begins with a dot and what tools make. Of
    others, the files that are named as state is, such as `todo.json` or `cache.sqlite3`, and not as parts of programs.
    """
    try:
        with os.scandir(folder) as entries:
            names = sorted((entry.name, entry.is_file()) for entry in entries)
    except OSError:
        return []
    installed = _installed(folder)
    if installed is None:
        return [name for name, is_file in names if is_file and is_state(name)]
    return [name for name, _ in names if name not in installed and not name.startswith(".") and name not in MADE]


def is_state(name: str) -> bool:
    return _like(name, STATE) and not _like(name, PROGRAM)


def _like(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern) for pattern in patterns)


class _Record(msgspec.Struct):
    files: list[str] | dict[str, object]


def _installed(folder: Path) -> frozenset[str] | None:
    """The names in the folder that were installed; None if nothing says so."""
    try:
        record = msgspec.json.decode(read_file(folder / RECORD), type=_Record)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return frozenset(path.split("/", 1)[0] for path in record.files)
