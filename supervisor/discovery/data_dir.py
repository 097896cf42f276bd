"""Makes the data folder of an extension. The folder is apart from the program and holds state that outlives the
process.

The folder is `$ZOT_HOME/data/NAME`. For an extension of a project it is `$ZOT_HOME/data/NAME-DIGITS`, with 8 digits of
a hash of the project's path. In zot it is the folder of the program: an extension with state there, and without a data
folder, still uses that folder.
"""

from __future__ import annotations

import hashlib
import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import msgspec

from supervisor.home.safe_files import read_file
from supervisor.home.zot_home import private_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension

FOLDER = "data"
RECORD = ".zot-install.json"
STATE_FILES = ("*.json", "*.jsonl", "*.ndjson", "*.db", "*.db3", "*.sqlite", "*.sqlite3", "*.sqlite-*")
"""Names of files that usually hold state."""
PROGRAM_FILES = (
    "extension.json", "package*.json", "npm-shrinkwrap.json", "tsconfig*.json", "jsconfig*.json", "deno*.json",
    "composer.json", "biome.json", "pyrightconfig.json", "renovate.json", "*.schema.json", "schema.json",
    "test*", "*.test.*", "*_test.*", ".*",
)  # fmt: skip
"""Names that match `STATE_FILES` but usually belong to a program."""
TOOL_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})
"""Folders that build tools make beside a program."""


class DataDir(msgspec.Struct, frozen=True):
    """The data folder that an extension gets."""

    path: Path
    trouble: str = ""
    """Why the extension keeps its data in its own folder, and what to do; empty if there is no trouble."""


def prepare(found: FoundExtension, data: Path | None) -> DataDir:
    """Makes the data folder, for its user only, and returns it. `data` is `$ZOT_HOME/data`. Without `data`, for a kind
    of extension without a data folder, or if it cannot be made, returns the extension's own folder, as in zot."""
    if data is None or not found.kind.has_data_dir:
        return DataDir(found.folder)
    own = data / name_of(found)
    try:
        if found.link is None and not own.is_dir() and state_in(found.folder):
            return DataDir(found.folder)
        private_folder(own)
    except OSError as error:
        return DataDir(
            found.folder, f"its data folder {own} cannot be made: {error.strerror}; it keeps its data in {found.folder}"
        )
    return DataDir(own)


def name_of(found: FoundExtension) -> str:
    """Returns the name of the extension's data folder. Projects do not share one. An extension of a project keeps its
    data folder if it is named with `--ext`."""
    name = found.manifest.name
    if not found.is_of_a_project:
        return name
    folder = found.folder.absolute()
    project = os.fsencode((folder.parents[2] if found.mcp_file is None else found.mcp_file.absolute().parent).resolve())
    return f"{name}-{hashlib.sha256(project).hexdigest()[:8]}"


def state_in(folder: Path) -> list[str]:
    """Returns the names of the files that an extension has written into the folder of its program, sorted.

    For an installed extension: all names that were not installed, except names that begin with a dot and
    `TOOL_FOLDERS`. For others: files with a name for state, such as `todo.json` or `cache.sqlite3`, but not with a name
    of a program file.
    """
    try:
        with os.scandir(folder) as entries:
            names = sorted((entry.name, entry.is_file()) for entry in entries)
    except OSError:
        return []
    installed = _installed(folder)
    if installed is None:
        return [name for name, is_file in names if is_file and is_state(name)]
    return [name for name, _ in names if not (name in installed or name in TOOL_FOLDERS or name.startswith("."))]


def is_state(name: str) -> bool:
    """Whether a file of this name usually holds state."""
    return _matches(name, STATE_FILES) and not _matches(name, PROGRAM_FILES)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern) for pattern in patterns)


class _InstallRecord(msgspec.Struct):
    files: list[str] | dict[str, object]


def _installed(folder: Path) -> frozenset[str] | None:
    """Returns the installed names in the folder; None if there is no record of an installation."""
    try:
        record = msgspec.json.decode(read_file(folder / RECORD), type=_InstallRecord)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return frozenset(path.split("/", 1)[0] for path in record.files)
