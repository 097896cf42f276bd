"""The skills of extensions: their names, and that none is read of files that have changed since they were checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent.skills.builtin_skills import builtin_skills
from agent.skills.discover import discover
from agent.skills.offer import offer
from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.discover import discover as discover_extensions
from supervisor.discovery.trust_store import TrustStore
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension


def pack(parent: Path, name: str, *texts: str) -> Path:
    folder = parent / name
    for number, text in enumerate(texts):
        (folder / "skills" / f"s{number}").mkdir(parents=True)
        (folder / "skills" / f"s{number}" / "SKILL.md").write_text(text)
    (folder / "extension.json").write_text(json.dumps({"name": name, "skills": ["skills"]}))
    return folder


def extensions(tmp_path: Path) -> tuple[FoundExtension, ...]:
    home = tmp_path / "home"
    admit = Admission(home, Consent()).for_one_start()
    return discover_extensions((), tmp_path / "project", home, admit).usable


def test_they_have_the_name_of_their_extension_before_their_own(tmp_path: Path):
    pack(
        tmp_path / "home" / "extensions",
        "Two Words",
        "Body",
        "---\nname: Own Name\n---\n",
        f"---\nname: {'x' * 64}\n---\n",
    )
    found = discover(tmp_path, tmp_path, extensions(tmp_path), with_users=False)
    assert [skill.name for skill in found.skills] == [
        "two-words:s0", "two-words:Own Name", f"two-words:{'x' * 64}", builtin_skills()[0].name,
    ]  # fmt: skip
    assert {skill.label for skill in found.skills} == {"extension Two Words", "builtin"}
    assert found.faults == ()


def test_none_is_read_of_a_project_whose_files_change_meanwhile(tmp_path: Path):
    folder = pack(tmp_path / "project" / ".zot" / "extensions", "pack", "Seen")
    assert extensions(tmp_path) == (), "it is not trusted"
    TrustStore(tmp_path / "home").trust(folder, parse_manifest((folder / "extension.json").read_bytes()))
    checked = extensions(tmp_path)
    offered = offer(cwd=str(tmp_path), home=tmp_path, with_users=False, extensions=checked)
    assert [skill.name for skill in offered.skills if skill.extension] == ["pack:s0"]
    (folder / "skills" / "s0" / "SKILL.md").write_text("Unseen words")
    offered = offer(cwd=str(tmp_path), home=tmp_path, with_users=False, extensions=checked)
    assert offered.skills == builtin_skills()
    (remark,) = offered.remarks
    changed = folder / "skills" / "s0" / "SKILL.md"
    assert remark.startswith(f"extension pack: its skills are skipped: {changed} has changed since it was checked")
