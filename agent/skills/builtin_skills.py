"""The skills that come with zot. Their names and descriptions are here as well as in their files, so that a run which
has no others reads no YAML; a test holds the two equal."""

from __future__ import annotations

from pathlib import Path

from agent.skills.skill import Skill

FOLDER = Path(__file__).with_name("builtin")
FILE = "SKILL.md"
DESCRIPTIONS = {
    "write-zot-extension": (
        "Write, test and install an extension for zot: a program in any language that adds tools and slash commands "
        "for the agent, or guards what it does. Use it when the user asks for an extension, tool, command, "
        "guard or hook."
    )
}


def builtin_skills() -> tuple[Skill, ...]:
    """All of them. Raises `OSError` if a file is missing."""
    return tuple(
        Skill(name=name, description=description, body=_body((FOLDER / name / FILE).read_text(encoding="utf-8")))
        for name, description in DESCRIPTIONS.items()
    )


def _body(text: str) -> str:
    return text.split("\n---\n", 1)[1].lstrip("\n")
