"""Finds the root of the repository that a folder lies in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def repository_root(cwd: Path) -> Path | None:
    """The nearest folder, `cwd` itself or above it, that has `.git`, a folder or a file; None if there is none, or if
    it belongs to somebody else: in `/tmp` anyone could have put it there."""
    for folder in (cwd, *cwd.parents):
        try:
            owner = os.lstat(folder / ".git").st_uid
        except OSError:
            continue
        try:
            return folder if owner in (os.geteuid(), os.stat(cwd).st_uid) else None
        except OSError:
            return None
    return None
