"""The tool `skill`: gives the model the instructions of a skill. Its error texts begin as zot's do. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.tools import arguments
from agent.tools.outcome import ToolError
from wire.suggest import some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.skills.skill import Skill

NAMES_SHOWN = 50
QUOTED = 80
"""Characters of an unknown name in the error about it."""


def find(args: arguments.Arguments, skills: Sequence[Skill]) -> Skill:
    """The skill that a call names. Raises `ToolError`."""
    try:
        name = arguments.text(args, "name").strip()
    except ToolError as error:
        raise ToolError(f"skill: {error}") from None
    if not name:
        raise ToolError("skill: name is required")
    for skill in skills:
        if skill.name == name:
            return skill
    known = some(sorted(skill.name for skill in skills), NAMES_SHOWN)
    raise ToolError(f'skill: no skill named "{name[:QUOTED]}"; there {"is" if len(skills) == 1 else "are"} {known}')
