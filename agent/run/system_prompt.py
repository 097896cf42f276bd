"""Puts the system prompt together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

IDENTITY = """\
You are zot, a coding agent that works in the user's project through tools.
Look before you change: read the files that matter, make the smallest change that does what was asked, and check it.
Say what you did in a few plain sentences. If a tool call is refused, respect the reason and do not work around it."""


def system_prompt(*, home: Path | None, custom: str | None, appended: Sequence[str], cwd: str, today: date) -> str:
    """The custom text, else `HOME/SYSTEM.md`, else the built-in identity; then the appended texts. The date and the
    folder come last: the long beginning stays the same from day to day, and the provider serves it from its cache."""
    base = (custom or "").strip() or _from_file(home) or IDENTITY
    parts = [base, *(text for text in appended if text.strip())]
    return "\n\n".join(parts) + f"\n\nCurrent date: {today:%Y-%m-%d}\nCurrent working directory: {cwd}\n"


def _from_file(home: Path | None) -> str:
    if home is None:
        return ""
    try:
        return (home / "SYSTEM.md").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
