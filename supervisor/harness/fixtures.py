"""The files that a test project gets before the extension starts: `project` in the first line of a script.

It is an object, path → text, or the name of a folder beside the script. Every path stays within the project's folder.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Project = str | Mapping[str, str] | None


class FixtureError(ValueError):
    """The files cannot be laid; the text names the path and the rule."""


def check(project: Project, beside: Path) -> None:
    """Raises `FixtureError` for a path that leaves the project, and for a folder that is not beside the script."""
    if isinstance(project, str):
        _folder(project, beside)
        return
    paths = {_within(name): name for name in project or ()}
    for path, name in paths.items():
        if path is not None and (above := next((paths[part] for part in path.parents if part in paths), None)):
            raise FixtureError(f"project: {above!r} cannot be a file and the folder of {name!r}")


def lay(project: Project, beside: Path, target: Path) -> None:
    """Writes the files into the folder `target`. Raises `FixtureError`, and `OSError` if a file cannot be written."""
    if isinstance(project, str):
        try:
            shutil.copytree(_folder(project, beside), target, symlinks=True, dirs_exist_ok=True)
        except shutil.Error as error:
            source, _, reason = error.args[0][0]
            raise FixtureError(f"project: {source} cannot be copied: {reason}") from None
        return
    for name, text in (project or {}).items():
        file = target / _within(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")


def _within(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name or name.endswith("/"):
        raise FixtureError(f"project: {name!r} is not a file within the project: a path like src/a.txt, without '..'")
    return path


def _folder(name: str, beside: Path) -> Path:
    root = Path(os.path.realpath(beside))
    folder = Path(os.path.realpath(root / name)) if "\0" not in name else root
    if folder == root or not folder.is_relative_to(root):
        raise FixtureError(f"project: {name!r} is not a folder beside the script: a path like shop, without '..'")
    if not folder.is_dir():
        raise FixtureError(f"project: there is no folder {name!r} beside the script")
    return folder
