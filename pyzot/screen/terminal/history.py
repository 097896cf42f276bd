"""Entered lines of past screens, in one file for the user."""

from __future__ import annotations

import os

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from ...connection.host_places import zot_home

LONGEST = 512 * 1024
"""Bytes. A longer file loses its older half at the next start."""
LINE_LIMIT = 20_000
"""Characters of a line that are kept."""


def user_history() -> History:
    """The history in `$ZOT_HOME/history`, which only the user can read; in memory if it cannot be written."""
    path = os.path.join(zot_home(), "history")
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with open(fd, "r+b") as file:
            if file.seek(0, os.SEEK_END) > LONGEST:
                file.seek(-LONGEST // 2, os.SEEK_END)
                kept = file.read()
                file.truncate(0)
                file.write(kept[kept.find(b"\n#") + 1 :])
    except OSError:
        return InMemoryHistory()
    return UserHistory(path)


class UserHistory(FileHistory):
    """A full disk loses the line, not the screen."""

    def store_string(self, string: str) -> None:
        try:
            super().store_string(string[:LINE_LIMIT])
        except OSError:
            return

    def load_history_strings(self):  # type: ignore[no-untyped-def]
        try:
            return list(super().load_history_strings())
        except OSError:
            return []
