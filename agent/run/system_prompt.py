"""Puts the system prompt together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.home.small_file import read_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

NAME = "SYSTEM.md"
IDENTITY = """\
You are zot, a coding agent that works in the user's project through tools.
Look before you change: read the files that matter, make the smallest change that does what was asked, and check it.
Say what you did in a few plain sentences. If a tool call is refused, respect the reason and do not work around it."""


def system_prompt(
    *,
    home: Path | None,
    custom: str | None,
    appended: Sequence[str],
    skills: str = "",
    context: str = "",
) -> str:
    """The part that does not change from day to day, nor from one copy of a project to the next, so that the provider
    can serve it from its cache: the custom text, else `HOME/SYSTEM.md`, else the built-in identity; then the appended
    texts, the list of skills, and the texts of context files. Raises `OSError` for a `SYSTEM.md` that is there and
    cannot be read: nobody would notice that its rules do not hold."""
    base = (custom or "").strip() or _from_file(home) or IDENTITY
    return "\n\n".join([base, *(text for text in (*appended, skills, context) if text.strip())])


def date_and_folder(today: date, cwd: str) -> str:
    """The part that changes. It stands behind all of the other."""
    return f"\n\nCurrent date: {today:%Y-%m-%d}\nCurrent working directory: {cwd}\n"


def _from_file(home: Path | None) -> str:
    if home is None:
        return ""
    try:
        return read_file(home / NAME).decode("utf-8", "replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
