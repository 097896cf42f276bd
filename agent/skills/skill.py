"""One skill, and what the model is told of it. Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.skills.allowed_tools import ToolRule

BUILT_IN = "builtin"
"""The source of a skill that comes with zot."""
NAME_LENGTH = 64
"""Characters."""
DESCRIPTION_SHOWN = 1024
"""Characters of a description in the system prompt."""
MANIFEST_LENGTH = 32 * 1024
"""Characters of the list of skills in the system prompt."""
LEAD = (
    "Skills are instructions for certain kinds of work. If one of these fits the task, load it with the skill tool "
    "before you begin:"
)


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str = ""
    body: str = ""
    """The instructions: the file without its frontmatter."""
    path: str = ""
    """The absolute path of its SKILL.md; empty for a skill that comes with zot."""
    extension: str = ""
    """The extension that it comes with."""
    allowed: tuple[ToolRule, ...] | None = None
    """The tools that may be called while it is active, besides `skill`. None: it restricts nothing."""

    @property
    def source(self) -> str:
        return self.path or BUILT_IN

    @property
    def label(self) -> str:
        """The source, for people."""
        return f"extension {self.extension}" if self.extension else self.source

    @property
    def allowed_names(self) -> tuple[str, ...] | None:
        """The entries of `allowed-tools` as they were written."""
        return None if self.allowed is None else tuple(rule.written for rule in self.allowed)

    @property
    def text(self) -> str:
        """The result of the tool `skill`."""
        parts = [f"# Skill: {self.name}", *([self.description] if self.description else []), "---", self.body]
        return "\n\n".join(parts)


def manifest(skills: Sequence[Skill], cwd: str = "") -> tuple[str, int]:
    """The list of skills for the system prompt, sorted by name, and how many did not fit into `MANIFEST_LENGTH`. ""
    without skills. Skills in the working folder go by their path in it, so that all copies of a project have the same
    list."""
    lines: list[str] = []
    left = MANIFEST_LENGTH
    by_name = sorted(skills, key=lambda skill: skill.name)
    for number, skill in enumerate(by_name):
        described = one_line(skill.description, DESCRIPTION_SHOWN) or "(no description)"
        line = f"- {skill.name} [{skill.source.removeprefix(os.path.join(cwd, ''))}]: {described}"
        left -= len(line) + 1
        if left < 0:
            return "\n".join([LEAD, "", *lines]), len(by_name) - number
        lines.append(line)
    return ("\n".join([LEAD, "", *lines]) if lines else ""), 0
