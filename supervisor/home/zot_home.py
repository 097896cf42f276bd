"""The folder in which zot keeps the user's files."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def zot_home() -> Path:
    """Returns `$ZOT_HOME`, else zot's default: `~/Library/Application Support/zot` on macOS; elsewhere
    `$XDG_STATE_HOME/zot` or `~/.local/state/zot`. Does not make the folder."""
    if given := os.environ.get("ZOT_HOME"):
        return Path(given).expanduser().absolute()
    from platformdirs import user_data_path, user_state_path  # 20 ms: only without $ZOT_HOME

    return (
        user_data_path("zot", appauthor=False) if sys.platform == "darwin" else user_state_path("zot", appauthor=False)
    )


def private_folder(path: Path) -> Path:
    """Makes a folder, and those above it that are missing, for the user only (0700), whatever the umask. Returns the
    path. Leaves the modes of folders that exist. Raises `OSError`."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
    return path
