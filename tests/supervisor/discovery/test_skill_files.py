"""Which files of an extension are its skills, and that none is outside of its folder."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.discovery import skill_files as search
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.skill_files import kebab_case, skill_files
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An extension, beside another folder with a skill."""
    for path in ("pack/skills/one", "pack/skills/Two Parts/deep", "pack/.git/hooks", "pack/empty/below", "outside/x"):
        (tmp_path / path).mkdir(parents=True)
    for path in ("pack/skills/one", "pack/skills/Two Parts/deep", "pack/.git/hooks", "outside/x"):
        (tmp_path / path / "SKILL.md").write_text("Body\n")
    (tmp_path / "pack" / "skills" / "notes.md").write_text("no skill\n")
    return tmp_path / "pack"


def seen(folder: Path, *skills: object) -> tuple[dict[str, str], tuple[str, ...]]:
    """The names by the paths in the folder, and the faults."""
    manifest = parse_manifest(json.dumps({"name": "pack", "exec": "x", "skills": skills}).encode())
    listed = skill_files(FoundExtension(folder, manifest, Scope.EXPLICIT))
    return {os.path.relpath(file.path, folder.resolve()): file.name for file in listed.files}, listed.faults


ALL = {"skills/one/SKILL.md": "one", "skills/Two Parts/deep/SKILL.md": "two-parts-deep"}


@pytest.mark.parametrize("skills", [["skills"], ["./skills/"], ["/skills"], ["."], ["skills/../skills", "skills/one"]])
def test_all_folders_below_are_searched_and_each_file_counts_once(folder: Path, skills: list[str]):
    named = {path.rpartition("/")[0]: name.removeprefix("skills-") for path, name in seen(folder, *skills)[0].items()}
    assert named == {"skills/one": "one", "skills/Two Parts/deep": "two-parts-deep"}
    assert seen(folder, *skills)[1] == ()


def test_a_file_may_be_named(folder: Path):
    assert seen(folder, "skills/one/SKILL.md", "skills") == (ALL, ())


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("", "skills[0] '' is no path; name a folder, or a SKILL.md"),
        ("  ", "skills[0] '' is no path; name a folder, or a SKILL.md"),
        ("a\0b", "is no path"),
        ("..", "skills[0] '..' leads out of its folder; put the skills into it"),
        ("../outside", "leads out of its folder"),
        ("skills/../../outside/x/SKILL.md", "leads out of its folder"),
        ("link", "skills[0] 'link' leads out of its folder"),
        ("link/x", "leads out of its folder"),
        (".git", "leads out of its folder"),
        (".git/hooks/SKILL.md", "leads out of its folder"),
        ("/etc", "skills[0] '/etc' is not there; name a folder, or a SKILL.md"),
        ("nope", "is not there"),
        ("skills/notes.md", "skills[0] 'skills/notes.md' is neither a folder nor a SKILL.md"),
        ("empty", "skills[0] 'empty' has no SKILL.md in it, nor in a folder below"),
        ("pipe/SKILL.md", "pipe/SKILL.md is no file"),
        ("pipe", "pipe/SKILL.md is no file"),
        ("away/SKILL.md", "skills[0] 'away/SKILL.md' leads out of its folder"),
        ("away", "away/SKILL.md is a link out of its folder"),
        ("mixed", "skills[0]: mixed/out is a link out of its folder"),
        ("x" * 5000, "is not there"),
    ],
    ids=lambda value: value[:40],
)
def test_a_bad_entry_is_told_and_hides_no_other(folder: Path, entry: str, fault: str):
    (folder / "link").symlink_to("../outside")
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "SKILL.md")
    (folder / "away").mkdir()
    (folder / "away" / "SKILL.md").symlink_to("../../outside/x/SKILL.md")
    (folder / "mixed").mkdir()
    (folder / "mixed" / "out").symlink_to("../../outside")
    names, faults = seen(folder, entry, "skills")
    assert names == ALL
    assert len(faults) == 1
    assert fault in faults[0]
    assert len(f"extension pack: {faults[0]}") <= 160


def test_a_folder_whose_skill_another_entry_has_named_is_no_fault(folder: Path):
    assert seen(folder, "skills/one/SKILL.md", "skills/one") == ({"skills/one/SKILL.md": "one"}, ())


def test_links_inside_count_once_and_may_go_in_circles(folder: Path):
    (folder / "skills" / "again").symlink_to("one")
    (folder / "skills" / "one" / "up").symlink_to("..")
    (folder / "skills" / "loop").symlink_to("loop")
    (folder / "lone").symlink_to("skills/one")
    assert seen(folder, "skills", "lone") == (ALL, ())


@pytest.mark.slow
def test_a_folder_with_ten_thousand_files_is_read_to_a_bound(folder: Path, monkeypatch: pytest.MonkeyPatch):
    many = folder / "many"
    many.mkdir()
    for number in range(10_000):
        (many / f"f{number}").touch()
    names, faults = seen(folder, "skills", "many")
    assert (names, faults) == (ALL, (f"skills[1]: it has more than {search.LOOKED_AT} files; the rest is skipped",))
    monkeypatch.setattr(search, "SKILLS", 1)
    names, faults = seen(folder, "skills")
    assert (list(names), faults) == (
        ["skills/one/SKILL.md"],
        ("skills: it has more than 1 skills; the rest is skipped",),
    )
    monkeypatch.setattr(search, "ENTRIES", 1)
    assert seen(folder, "empty", "skills")[1][-1] == "skills: it has 2 entries, and only the first 1 are used"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_told(folder: Path):
    (folder / "skills" / "one").chmod(0)
    try:
        assert seen(folder, "skills")[1] == ("skills[0]: skills/one cannot be read: Permission denied",)
    finally:
        (folder / "skills" / "one").chmod(0o700)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("git-tools", "git-tools"),
        ("Git Tools", "git-tools"),
        ("a__b.c!", "a-b-c"),
        ("größe 2", "größe-2"),
        ("!!", "!!"),
    ],
)
def test_kebab_case(name: str, expected: str):
    assert kebab_case(name) == expected


@given(st.text(min_size=1))
def test_kebab_case_of_it_is_itself(name: str):
    assert kebab_case(kebab_case(name)) == kebab_case(name)
