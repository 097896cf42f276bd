"""What an extension has left in the folder that it was installed in: never thrown away unasked."""

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


def folder_of(one: Installed, home: Path) -> Path:
    """Its data folder under `$ZOT_HOME`, which need not exist."""
    found = one.found or Found(one.folder, Manifest(one.name, "?"), one.scope)
    return home / data_dir.FOLDER / data_dir.name_of(found)


def left_by(one: Installed) -> list[str]:
    """Files in its folder that are data: those that did not come from its source; where nothing says what did, those
    that are named as data is. Not what tools make: caches, `node_modules`. Raises `OSError`."""
    if one.is_link or not one.folder.is_dir():
        return []
    if one.record is None:
        return data_dir.state_in(one.folder)
    return [path for path in foreign(one) if not path.startswith(".") and path.split("/")[0] not in data_dir.MADE]


def foreign(one: Installed) -> list[str]:
    """All files and links in its folder that did not come from its source; none if nothing says what did."""
    if one.record is None:
        return []
    installed = frozenset(one.record.files)
    return [path for path in tree.files(one.folder) if path not in installed]


def carry_over(paths: list[str], old: Path, new: Path) -> list[str]:
    """Brings data to the new version's folder, and returns what could not be because the new version has brought a file
    of that name; the old one of these is kept beside it, as `NAME.kept`. Files are linked, so that what a running
    extension writes to them until it is restarted is not lost. Raises `OSError`."""
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
            continue  # a temporary one, gone again
        except (OSError, NotImplementedError):
            if (old / path).is_symlink():
                os.symlink(os.readlink(old / path), target)
            else:
                tree.copy_file(old / path, target)
    return in_the_way


def move_away(paths: list[str], folder: Path, data: Path) -> list[Path]:
    """Moves data out of a folder that is to be deleted, and returns where it is now. What is there already stays.
    Raises `OSError`."""
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
            shutil.move(folder / path, target)  # to another file system
        moved.append(target)
    return moved


def _is_blocked(root: Path, path: str) -> bool:
    """Whether the file, or a file in the place of one of its folders, is there."""
    if os.path.lexists(root / path):
        return True
    parts = path.split("/")[:-1]
    above = [root.joinpath(*parts[: n + 1]) for n in range(len(parts))]
    return any(os.path.lexists(one) and (one.is_symlink() or not one.is_dir()) for one in above)


def _free(root: Path, path: str) -> Path:
    """A name beside it, or at the root where its folder cannot be."""
    base = root / path if (root / path).parent.is_dir() else root / path.replace("/", "-")
    number = 0
    while os.path.lexists(free := base.with_name(f"{base.name}.kept{number or ''}")):
        number += 1
    return free


def _make_folders(old: Path, new: Path, path: str) -> None:
    """With the modes that they have."""
    parts = path.split("/") if path else []
    for n in range(len(parts)):
        inside = "/".join(parts[: n + 1])
        if not (new / inside).is_dir():
            (new / inside).mkdir(mode=0o700)
            if (old / inside).is_dir():
                os.chmod(new / inside, (old / inside).stat().st_mode & 0o777 | 0o700)
