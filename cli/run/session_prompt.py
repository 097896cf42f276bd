"""Asks on the terminal which session `-r` goes on with, before a run is started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cli.run.trust_prompt import can_ask, read_line, tell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent.sessions.store import SessionInfo

SHOWN = 20
"""Sessions, the newest ones."""
TITLE = 60
"""Characters."""


class NoChoiceError(Exception):
    """There is no session to choose, or no terminal to ask on; the text says which."""


def ask(cwd: str | None, home: Path) -> str | None:
    """The file of a session of the working folder that the user chooses; None if the user wants none. Raises
    `NoChoiceError` and `KeyboardInterrupt`."""
    folder = os.path.abspath(cwd or os.curdir)
    if not can_ask():
        raise NoChoiceError(
            "--resume without an ID needs a terminal to ask on: give the ID (zot session list), or"
            " --continue for the newest session"
        )
    if not (found := _sessions(home, folder)):
        raise NoChoiceError(f"there is no session of {folder} to resume")
    for line in choices(found):
        tell(line)
    while True:
        tell(f"Go on with which session? [1-{len(found)}, q leaves] ", end="")
        word = read_line()
        if word is None or word in ("q", "quit"):
            return None
        if (number := _number(word, len(found))) is not None:
            return str(found[number - 1].path)


def _sessions(home: Path, folder: str) -> list[SessionInfo]:
    from agent.sessions.load import SessionError
    from agent.sessions.places import session_files
    from agent.sessions.store import describe

    found: list[SessionInfo] = []
    for path in session_files(home, folder):
        try:
            info = describe(path)
        except SessionError:
            continue
        if info.messages and not info.is_hidden:
            found.append(info)
        if len(found) == SHOWN:
            break
    return found


def choices(sessions: Sequence[SessionInfo]) -> list[str]:
    """A line for each session: its number, when it was begun, its messages, and how its first prompt begins."""
    from wire.text import printable

    lines = []
    for number, session in enumerate(sessions, 1):
        title = printable(session.title) or "(no text)"
        title = title if len(title) <= TITLE else f"{title[: TITLE - 1]}…"
        when = printable(session.started[:16].replace("T", " "))
        lines.append(f"{number:>3}  {when:16}  {session.messages:>4} messages  {title}")
    return lines


def _number(word: str, most: int) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) < 4 and 1 <= int(word) <= most else None
