"""The folder in which zot keeps the user's files."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path


def zot_home() -> Path:
    """Returns `$ZOT_HOME`, else zot's default: on macOS `$XDG_DATA_HOME/zot` or `~/Library/Application Support/zot`;
    elsewhere `$XDG_STATE_HOME/zot` or `~/.local/state/zot`. Does not make the folder."""
    if given := os.environ.get("ZOT_HOME"):
        return Path(given).expanduser().absolute()
    from platformdirs import user_data_path, user_state_path  # 20 ms: only without $ZOT_HOME

    return (
        user_data_path("zot", appauthor=False) if sys.platform == "darwin" else user_state_path("zot", appauthor=False)
    )


def private_folder(path: Path) -> Path:
    """Makes a folder, and missing folders above it, for the user only (0700), whatever the umask. Returns the path.
    Leaves the modes of folders that exist. Raises `OSError`."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            try:
                folder.mkdir(mode=0o700, exist_ok=True)
            except FileExistsError:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None
    return path


def open_home_warning(home: Path) -> str:
    """A warning if others may put extensions into `$ZOT_HOME`, which zot would run as the user; else "". zot makes it
    for the user only, but leaves the modes of a folder that is there: it may be shared on purpose."""
    shared = []
    for folder in (home, home / "extensions"):
        try:
            if stat.S_IMODE(os.stat(folder).st_mode) & 0o022:
                shared.append(str(folder))
        except OSError:
            continue
    if not shared:
        return ""
    return (
        f"others may write to {' and '.join(shared)}, and so decide what is run from it: chmod go-w {' '.join(shared)}"
    )
