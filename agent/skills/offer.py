"""Which skills a run offers to the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.skills.builtin_skills import builtin_skills
from agent.skills.skill import Skill, manifest
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from supervisor.discovery.found_extension import FoundExtension


class SkillOffer(msgspec.Struct, frozen=True):
    skills: tuple[Skill, ...] = ()
    manifest: str = ""
    """Their list in the system prompt."""
    remarks: tuple[str, ...] = ()
    """Lines for the user about skills that are left out, and about what of a skill has no effect."""


def offer(*, cwd: str, home: Path, with_users: bool, extensions: Collection[FoundExtension] = ()) -> SkillOffer:
    """The skills that come with zot and with the extensions, and `with_users` those of the user and of the project."""
    if not with_users and not any(found.manifest.skills for found in extensions):
        return _listed(builtin_skills(), [], cwd)
    from agent.skills.discover import discover  # other runs need not look

    found = discover(Path(cwd), home, extensions, with_users=with_users)
    return _listed(found.skills, [str(fault) for fault in found.faults], cwd)


def _listed(skills: Sequence[Skill], remarks: list[str], cwd: str) -> SkillOffer:
    listed, unlisted = manifest(skills, cwd)
    if unlisted:
        remarks.append(f"the system prompt has no room for {counted(unlisted, 'skill')} of {len(skills)}: remove some")
    return SkillOffer(tuple(skills), listed, tuple(remarks))
