"""Finds the data that an extension keeps in the folder of its program, carries it to a new version, or moves it away.
Deletes no data without a flag."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

from supervisor.discovery import data_dir
from supervisor.discovery.discover import Found
from supervisor.install import tree
from wire.manifest import Manifest

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.install.installed import Installed


def folder_of(extension: Installed, home: Path) -> Path:
    """Returns the extension's data folder under `$ZOT_HOME`; it may not exist."""
    found = extension.found or Found(extension.folder, Manifest(extension.name, "?"), extension.scope)
    return home / data_dir.FOLDER / data_dir.name_of(found)


def left_by(extension: Installed) -> list[str]:
    """Returns the data files in an extension's folder: files that did not come from its source. Without a record these
    are files with typical names of data. Leaves out what tools make, such as caches and `node_modules`. Raises
    `OSError`."""
    if extension.is_link or not extension.folder.is_dir():
        return []
    if extension.record is None:
        return data_dir.state_in(extension.folder)
    return [
        path
        for path in foreign(extension)
        if not path.startswith(".") and path.split("/")[0] not in data_dir.TOOL_FOLDERS
    ]


def foreign(extension: Installed) -> list[str]:
    """Returns all files and links in an extension's folder that did not come from its source; none without a record."""
    if extension.record is None:
        return []
    installed = frozenset(extension.record.files)
    return [path for path in tree.files(extension.folder) if path not in installed]


def carry_over(paths: list[str], old: Path, new: Path) -> list[str]:
    """Links data into the new version's folder. If the new version has a file of the same name, the data is kept beside
    this file, as `NAME.kept`, and the path is in the returned list. The running extension still writes to the data
    until its restart: hard links keep that too. Raises `OSError`."""
    in_the_way = []
    for path in paths:
        target = new / path
        if _is_blocked(new, path):
            in_the_way.append(path)
            target = _free(new, path)
        _make_folders(old, new, target.relative_to(new).parent.as_posix() if target.parent != new else "")
        try:
            os.link(old / path, target, follow_symlinks=False)
        except FileNotFoundError:
            continue  # a temporary file that is gone again
        except (OSError, NotImplementedError):
            if (old / path).is_symlink():
                os.symlink(os.readlink(old / path), target)
            else:
                tree.copy_file(old / path, target)
    return in_the_way


def move_away(paths: list[str], folder: Path, data: Path) -> list[Path]:
    """Moves data out of a folder that will be deleted. Returns the new paths. Overwrites nothing. Raises `OSError`."""
    moved = []
    for path in paths:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = _free(data, path) if _is_blocked(data, path) else data / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.rename(folder / path, target)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            shutil.move(folder / path, target)  # the target is on another file system
        moved.append(target)
    return moved


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
    number = 0
    while os.path.lexists(free := base.with_name(f"{base.name}.kept{number or ''}")):
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
