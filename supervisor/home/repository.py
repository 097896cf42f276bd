"""Finds the root of the repository that a folder lies in."""

from __future__ import annotations

import os
from pathlib import Path


def repository_root(cwd: Path) -> Path | None:
    """The nearest folder, `cwd` itself or above it, that has `.git`, a folder or a file; None if no folder has it, or
    if it belongs to another user: in `/tmp` anyone could have put it there."""
    at = str(cwd)  # a Path of each would take ten times as long
    while True:
        try:
            owner = os.lstat(os.path.join(at, ".git")).st_uid
        except OSError:
            above = os.path.dirname(at)
            if above == at:
                return None
            at = above
        else:
            return Path(at) if owner in (os.geteuid(), _owner_of(cwd)) else None


def _owner_of(folder: Path) -> int | None:
    try:
        return os.stat(folder).st_uid
    except OSError:
        return None
