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
    cwd: str,
    today: date,
    skills: str = "",
    context: str = "",
) -> str:
    """The custom text, else `HOME/SYSTEM.md`, else the built-in identity; then the appended texts, the list of skills,
    and the texts of context files: what is the same in most projects comes first. The date and the folder come last:
    the long beginning stays the same from day to day, and the provider serves it from its cache. Raises `OSError` for a
    `SYSTEM.md` that is there and cannot be read: nobody would notice that its rules do not hold."""
    base = (custom or "").strip() or _from_file(home) or IDENTITY
    parts = [base, *(text for text in (*appended, skills, context) if text.strip())]
    return "\n\n".join(parts) + f"\n\nCurrent date: {today:%Y-%m-%d}\nCurrent working directory: {cwd}\n"


def _from_file(home: Path | None) -> str:
    if home is None:
        return ""
    try:
        return read_file(home / NAME).decode("utf-8", "replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
