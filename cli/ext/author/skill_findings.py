"""The findings of `zot ext doctor` about an extension's skills, and about one without a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.skills.discover import discover
from supervisor.harness.findings import Finding, FindingLevel
from supervisor.home.zot_home import zot_home
from wire.suggestions import join_names
from wire.text import counted

if TYPE_CHECKING:
    from supervisor.discovery.found_extension import FoundExtension


def skill_findings(found: FoundExtension) -> list[Finding]:
    """The skills of the extension, and their faults; for one without program and skills, its kind."""
    manifest = found.manifest
    if not manifest.skills:
        return [Finding(FindingLevel.OK, "theme", manifest.without_program)] if manifest.without_program else []
    seen = discover(found.folder, zot_home(), (found,), with_users=False)
    names = [skill.name for skill in seen.skills if skill.extension]
    what = ", no program" if manifest.without_program else ""
    findings = [Finding(FindingLevel.WARN, "skills", str(replace(fault, extension=""))) for fault in seen.faults]
    if names:
        said = f"{counted(len(names), 'skill')}{what}: {join_names(names)}"
        findings.insert(0, Finding(FindingLevel.OK, "skills", said))
    return findings
