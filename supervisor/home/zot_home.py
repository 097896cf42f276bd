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
