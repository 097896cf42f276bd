"""Finds the data that an extension keeps in the folder of its program, links it into a new version, or moves it away.
Deletes data only with a flag."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from supervisor.discovery import data_dir
from supervisor.discovery.data_dir import RECORD
from supervisor.discovery.found_extension import FoundExtension
from supervisor.home.zot_home import private_folder
from supervisor.install import staging_folder, tree
from supervisor.install.installed_extension import look_at
from wire.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from supervisor.install.installed_extension import InstalledExtension

NAME_BYTES = 240
"""Bytes that are kept of a name, so that `.kept` and a number fit behind it."""


def folder_of(extension: InstalledExtension, home: Path) -> Path:
    """Returns the extension's data folder under `$ZOT_HOME`; it may not exist."""
    found = extension.found or FoundExtension(
        extension.folder, Manifest(extension.name, "?"), extension.scope, mcp_file=extension.mcp_file
    )
    return home / data_dir.FOLDER / data_dir.name_of(found)


def data_left_by(extension: InstalledExtension) -> list[str]:
    """Returns the data in an extension's folder: files, and whole folders, that did not come from its source. Without a
    record these are files with typical names of data. Leaves out files that tools make, such as caches and
    `node_modules`. Raises `OSError`."""
    if extension.is_link or not extension.folder.is_dir():
        return []
    if extension.record is None:
        return data_dir.state_in(extension.folder)
    return [
        path
        for path in foreign_files(extension)
        if not path.startswith(".") and path.split("/")[0] not in data_dir.TOOL_FOLDERS
    ]


def foreign_files(extension: InstalledExtension) -> list[str]:
    """Returns all files, links and folders in an extension's folder that did not come from its source; none without a
    record. A folder stands for all that is in it, and is not read: it may be of any depth."""
    if extension.record is None:
        return []
    installed = frozenset(extension.record.files)
    folders = _folders_of(installed)
    return [
        entry.path
        for entry in tree.entries(extension.folder, into=folders.__contains__)
        if entry.path not in installed
        and (entry.is_file or entry.is_link or (entry.is_folder and entry.path not in folders))
    ]


def _folders_of(files: Iterable[str]) -> frozenset[str]:
    """The folders in which these files are, and the folders above them."""
    found: set[str] = set()
    for path in files:
        above = path.rpartition("/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return frozenset(found)


def open_extension(extension: InstalledExtension) -> InstalledExtension:
    """Gives the user all rights to the extension's own folders and its record, which the extension may have removed.
    Returns the extension, read again."""
    if extension.is_link:
        return extension
    for path in ("", RECORD):
        staging_folder.open_up(extension.folder / path)
    extension = look_at(extension.folder, extension.scope)
    for path in sorted(_folders_of(() if extension.record is None else extension.record.files)):
        staging_folder.open_up(extension.folder / path)
    return extension


def carry_over(paths: list[str], old: Path, new: Path, is_data: Callable[[str], bool]) -> list[str]:
    """Links data into the new version's folder. If the new version has a file of the same name, the data replaces it if
    the new manifest says that this `is_data`; else the data is kept beside it as `NAME.kept`, and the path is in the
    returned list. The links are hard, so that the folder also gets what the running extension writes until its restart.
    Raises `OSError`, and `InstallError` for data that is too deep."""
    in_the_way = []
    for path in (inside for each in paths for inside in _files_at(old, each)):
        target = new / path
        if is_data(path) and all(file.is_file() and not file.is_symlink() for file in (old / path, target)):
            target.unlink()
        if _is_blocked(new, path):
            in_the_way.append(path)
            target = _free(new, path)
        _make_folders(old, new, target.relative_to(new).parent.as_posix() if target.parent != new else "")
        try:
            os.link(old / path, target, follow_symlinks=False)
        except FileNotFoundError:
            continue  # a temporary file that is gone again
        except (OSError, NotImplementedError):
            _copy_file(old / path, target)
    return in_the_way


def _files_at(root: Path, path: str) -> list[str]:
    """Returns the files and links in a folder, or the path itself if it is no folder."""
    folder = root / path
    if folder.is_symlink() or not folder.is_dir():
        return [path]
    return [f"{path}/{entry.path}" for entry in tree.bounded_entries(folder) if entry.is_file or entry.is_link]


def move_away(paths: list[str], folder: Path, data: Path) -> list[Path]:
    """Moves data out of a folder that will be deleted. Returns the new paths. Overwrites nothing. Raises `OSError`, and
    `InstallError` for data that is too deep to be copied to another file system."""
    moved = []
    for path in paths:
        staging_folder.open_up(private_folder(data))
        target = _free(data, path) if _is_blocked(data, path) else data / path
        private_folder(target.parent)
        staging_folder.open_up(folder / path)
        try:
            os.rename(folder / path, target)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy(folder / path, target)  # the target is on another file system
        moved.append(target)
    return moved


def _copy(source: Path, target: Path) -> None:
    for path in _files_at(source.parent, source.name):
        at = target / path.removeprefix(source.name).lstrip("/")
        private_folder(at.parent)
        _copy_file(source.parent / path, at)


def _copy_file(source: Path, target: Path) -> None:
    if source.is_symlink():
        os.symlink(os.readlink(source), target)
    else:
        tree.copy_file(source, target)


def _is_blocked(root: Path, path: str) -> bool:
    """Whether the path exists, or a file is where one of its folders should be."""
    if os.path.lexists(root / path):
        return True
    parts = path.split("/")[:-1]
    above = [root.joinpath(*parts[: n + 1]) for n in range(len(parts))]
    return any(os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()) for folder in above)


def _free(root: Path, path: str) -> Path:
    """Returns a free name beside the path, or at the root if the path's folder does not exist."""
    base = root / path if (root / path).parent.is_dir() else root / path.replace("/", "-")
    name = os.fsdecode(os.fsencode(base.name)[:NAME_BYTES])
    number = 0
    while os.path.lexists(free := base.with_name(f"{name}.kept{number or ''}")):
        number += 1
    return free


def _make_folders(old: Path, new: Path, path: str) -> None:
    """Makes the folders of `path` in `new`, with their modes in `old`."""
    parts = path.split("/") if path else []
    for n in range(len(parts)):
        inside = "/".join(parts[: n + 1])
        if not (new / inside).is_dir():
            (new / inside).mkdir(mode=0o700)
            if (old / inside).is_dir():
                os.chmod(new / inside, (old / inside).stat().st_mode & 0o777 | 0o700)
