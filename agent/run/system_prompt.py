"""Puts the system prompt together, and names the parts of a request that come from this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.run.context_files import HEADING
from agent.tools.catalogue import SKILL, SPECS
from supervisor.home.safe_files import read_file
from wire.suggestions import join_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
    """The part that is the same each day and in each copy of a project, so that the provider can serve it from its
    cache: the custom text, else `HOME/SYSTEM.md`, else the built-in identity; then the appended texts, the list of
    skills, and the texts of context files. Raises `OSError` for a `SYSTEM.md` that cannot be read: without an error
    its rules would be ignored unnoticed."""
    base = (custom or "").strip() or _from_file(home) or IDENTITY
    return "\n\n".join([base, *(text for text in (*appended, skills, context) if text.strip())])


def date_and_folder(today: date, cwd: str) -> str:
    """The part that changes. It comes last."""
    return f"\n\nCurrent date: {today:%Y-%m-%d}\nCurrent working directory: {cwd}\n"


def local_additions(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Names the tools of extensions and the context files of a request that are missing in its recording, with the flag
    that leaves them out; "" if none is missing. Both are as `agent.cassette` compares them."""
    known = {*_tools(recorded), *(spec.name for spec in (*SPECS, SKILL))}
    found = []
    if tools := [name for name in _tools(asked) if name not in known]:
        found.append(f"--no-ext (extensions here offer {join_names(tools, 3)})")
    if HEADING in str(asked.get("system")) and HEADING not in str(recorded.get("system")):
        found.append("--no-context-files (an AGENTS.md or CLAUDE.md is here)")
    return f"leave out what it has not: {', '.join(found)}" if found else ""


def _tools(request: Mapping[str, Any]) -> list[str]:
    tools = request.get("tools")
    return [str(tool.get("name")) for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


def _from_file(home: Path | None) -> str:
    if home is None:
        return ""
    try:
        return read_file(home / NAME).decode("utf-8", "replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
