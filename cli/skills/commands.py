"""The work of `zot skill`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.skills.discover import discover_installed
from cli.columns import fit_columns, print_table
from cli.json_line import print_json
from cli.terminal import say, table_width
from supervisor.home.zot_home import zot_home
from wire.exit_codes import Status
from wire.suggestions import no_such
from wire.text import one_line, printable

if TYPE_CHECKING:
    from agent.skills.discover import SkillDiscovery
    from agent.skills.skill import Skill

COLUMNS = ("name", "source", "allowed tools", "description")
GIVES_WAY = (3, 2)
"""Columns that are left out on a terminal that is too narrow, the least important first."""
DESCRIPTION = 80
"""Characters of a description in the table."""


def list_skills(cwd: str | None, *, as_json: bool) -> int:
    """Prints a row or an object for each skill. Returns the exit status."""
    found = _find_skills(cwd, "list")
    if found is None:
        return Status.USAGE.exit_code
    hidden_by = {id(each.skill): each.by for each in found.shadowed}
    skills = [*found.skills, *(each.skill for each in found.shadowed)]
    if as_json:
        for skill in skills:
            print_json(_record(skill, hidden_by.get(id(skill))))
        return 0
    rows = [COLUMNS, *(_row(skill, hidden_by.get(id(skill))) for skill in skills)]
    print_table(fit_columns(rows, table_width(), GIVES_WAY))
    return 0


def show_skill(name: str, cwd: str | None) -> int:
    """Prints the text of one skill; for a terminal without what controls it. Returns the exit status."""
    found = _find_skills(cwd, "show")
    if found is None:
        return Status.USAGE.exit_code
    for skill in found.skills:
        if skill.name == name:
            text = printable(skill.text) if sys.stdout.isatty() else skill.text
            sys.stdout.write(text.removesuffix("\n") + "\n")
            return 0
    say(f"zot skill show: {no_such('skill', name, [skill.name for skill in found.skills])}")
    return Status.USAGE.exit_code


def _find_skills(cwd: str | None, command: str) -> SkillDiscovery | None:
    """All skills, with a line on stderr for each fault; None if `cwd` is no folder."""
    if cwd is not None and not cwd.strip():
        say(f"zot skill {command}: --cwd is empty: give it a value, or leave it out")
        return None
    folder = os.path.abspath(os.path.expanduser(cwd if cwd is not None else "."))
    if not os.path.isdir(folder):
        say(f"zot skill {command}: --cwd {cwd}: {'not a folder' if os.path.exists(folder) else 'no such folder'}")
        return None
    found = discover_installed(Path(folder), zot_home())
    for fault in found.faults:
        say(f"zot: {fault}")
    return found


def _row(skill: Skill, hidden_by: Skill | None) -> tuple[str, ...]:
    source = skill.label if hidden_by is None else f"{skill.label} (hidden by {hidden_by.label})"
    allowed = "any" if skill.allowed_names is None else ", ".join(skill.allowed_names) or "none"
    return (skill.name, one_line(source, 1000), one_line(allowed, 200), one_line(skill.description, DESCRIPTION))


def _record(skill: Skill, hidden_by: Skill | None) -> dict[str, Any]:
    return {
        "name": skill.name,
        "description": skill.description,
        "source": skill.source,
        "extension": skill.extension or None,
        "allowed_tools": skill.allowed_names,
        "shadowed_by": None if hidden_by is None else hidden_by.source,
    }
