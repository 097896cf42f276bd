"""Workspaces: the folders of sessions for notes and files of extensions, `$ZOT_HOME/workspaces/ID`; `run-ID` if the
session is not kept."""

from __future__ import annotations

import hashlib
import os
import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "workspaces"
LOOKS = 10_000
"""Maximum of entries that `has_files` looks at; with more, the workspace counts as having a file."""
UNKEPT = "run-"
"""The prefix of a folder whose session is not kept."""
LEFT_S = 30 * 86_400.0
"""Seconds without a change after which such a folder counts as left by a killed run."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def workspace_of(home: Path, session: str, *, is_kept: bool = True) -> Path:
    """The folder of the session with this id. An id that is no plain word, such as one in a file from elsewhere, is
    hashed."""
    name = session if _PLAIN.fullmatch(session) else hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()
    return home / FOLDER / (name if is_kept else UNKEPT + name)


def sweep(home: Path) -> None:
    """Removes the folders that killed runs have left, if their sessions are not kept."""
    from supervisor.home.delete_tree import delete  # most runs have no workspace

    try:
        with os.scandir(home / FOLDER) as entries:
            latest = time.time() - LEFT_S
            left = [each.name for each in entries if each.name.startswith(UNKEPT) and _is_older(each, latest)]
    except OSError:
        return
    for name in left:
        delete(home / FOLDER / name)


def _is_older(entry: os.DirEntry[str], latest: float) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < latest
    except OSError:
        return False


def has_files(folder: Path) -> bool:
    """Whether anything but folders lies below `folder`. True if unknown."""
    left = LOOKS
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if not left or not entry.is_dir(follow_symlinks=False):
                        return True
                    waiting.append(entry.path)
        except FileNotFoundError:
            continue
        except OSError:
            return True
    return False


def remove_workspace(home: Path, session: str, *, is_kept: bool = True) -> str:
    """Removes the folder with its content, and the folder above if it is empty then. Returns what could not be removed,
    and why; "" if nothing is left."""
    folder = workspace_of(home, session, is_kept=is_kept)
    if not folder.parent.is_dir():
        return ""
    from supervisor.home.delete_tree import delete  # most runs have no workspace

    trouble = delete(folder)
    try:
        os.rmdir(folder.parent)
    except OSError:
        pass  # other sessions have one, or the folder does not exist
    return trouble
