"""Finds a program on PATH, as a shell does, but for what PATH says of the working folder."""

from __future__ import annotations

import os
import shutil


def on_path(program: str, path: str | None = None) -> str | None:
    """The absolute path of a program; None if there is none. `path` is by default that of this process.

    Entries that are no absolute paths (`.`, `node_modules/.bin`, an empty one) are passed over: they mean the folder in
    which somebody works, and a project could put its own program in the place of the user's.
    """
    given = os.environ.get("PATH", os.defpath) if path is None else path
    return shutil.which(program, path=os.pathsep.join(filter(os.path.isabs, given.split(os.pathsep))))
