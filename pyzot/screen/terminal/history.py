"""Entered lines of past screens, in one file for the user."""

from __future__ import annotations

import os

from prompt_toolkit.history import FileHistory

from ...connection.host_places import zot_home

LONGEST = 512 * 1024
"""Bytes. A longer file begins anew, so that a screen always starts fast."""
LINE_LIMIT = 20_000
"""Characters of a line that are kept."""


class UserHistory(FileHistory):
    """The history in `$ZOT_HOME/history`, which only the user can read. If it cannot be used, lines are kept in memory
    only."""

    def __init__(self) -> None:
        super().__init__(os.path.join(zot_home(), "history"))

    def load_history_strings(self) -> list[str]:
        """The lines, newest first."""
        try:
            os.makedirs(os.path.dirname(self.filename), mode=0o700, exist_ok=True)
            os.close(os.open(self.filename, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            if os.path.getsize(self.filename) > LONGEST:
                os.replace(self.filename, f"{os.fsdecode(self.filename)}.old")
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Adds a line. A full disk loses it, and nothing else."""
        try:
            super().store_string(string[:LINE_LIMIT])
        except OSError:
            return
