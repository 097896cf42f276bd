"""Where skills are found, which of several wins, and what is told of faulty ones."""

from __future__ import annotations

import os

import pytest

from agent.skills import discover as discovery
from agent.skills.builtin_skills import DESCRIPTIONS
from agent.skills.discover import discover, places
from agent.skills.offer import offer


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A project, `$ZOT_HOME` and the user's home."""
    for name in ("project", "zot", "user"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return tmp_path


def put(parent, name, text="---\ndescription: D\n---\nBody\n"):
    folder = parent / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / "SKILL.md"


def found(here):
    return discover(here / "project", here / "zot")


def test_the_first_of_each_name_wins(here):
    parents = places(here / "project", here / "zot")
    assert [str(parent.relative_to(here)) for parent in parents] == [
        "project/.zot/skills", "zot/skills", "project/.claude/skills", "user/.claude/skills", "project/.agents/skills",
        "user/.agents/skills",
    ]  # fmt: skip
    files = [put(parent, "same") for parent in parents]
    own = put(parents[5], "own", "---\nname: other\n---\n")
    builtin = put(parents[4], "x", "---\nname: write-zot-extension\n---\n")
    result = found(here)
    assert {skill.name: skill.source for skill in result.skills} == {
        "same": str(files[0]), "other": str(own), "write-zot-extension": str(builtin),
    }  # fmt: skip
    assert [(each.skill.source, each.by.source) for each in result.shadowed] == [
        *[(str(file), str(files[0])) for file in files[1:]],
        ("builtin", str(builtin)),
    ]
    assert result.faults == ()


def test_only_the_built_in_one_is_offered_by_default(here):
    put(here / "project" / ".zot" / "skills", "mine")
    assert [skill.name for skill in offer(cwd=str(here / "project"), home=here / "zot", with_users=False).skills] == [
        *DESCRIPTIONS
    ]
    both = offer(cwd=str(here / "project"), home=here / "zot", with_users=True)
    assert {skill.name for skill in both.skills} == {"mine", *DESCRIPTIONS}


def test_the_user_in_his_own_home_has_each_skill_once(here, monkeypatch):
    monkeypatch.setenv("HOME", str(here / "project"))
    put(here / "project" / ".claude" / "skills", "mine")
    assert found(here).shadowed == ()


def test_links_to_folders_count_and_loops_do_no_harm(here):
    parent = here / "zot" / "skills"
    put(here / "elsewhere", "linked")
    parent.mkdir()
    (parent / "linked").symlink_to(here / "elsewhere" / "linked")
    (parent / "self").symlink_to("self")
    (parent / "gone").symlink_to(here / "nowhere")
    (parent / "up").symlink_to(parent)
    (parent / "file").write_text("no folder")
    (parent / "empty").mkdir()
    (parent / "half").mkdir()
    (parent / "half" / "SKILL.md").symlink_to("nowhere")
    result = found(here)
    assert [skill.name for skill in result.skills] == ["linked", *DESCRIPTIONS]
    assert sorted(str(fault) for fault in result.faults) == [
        f"skill {parent / name}: is a link that leads nowhere; the skill is skipped"
        for name in ("gone", "half/SKILL.md", "self")
    ]


def test_a_faulty_one_is_told_and_hides_no_other(here):
    parent = here / "project" / ".zot" / "skills"
    bad = put(parent, "a", "---\nname: good\ndescription: a: b\n---\n")
    huge = put(parent, "b", b"x" * (discovery.LIMIT + 1))
    (parent / "c").mkdir()
    os.mkfifo(parent / "c" / "SKILL.md")
    (parent / "d").mkdir()
    (parent / "d" / "SKILL.md").symlink_to("/dev/zero")
    (parent / "e" / "SKILL.md").mkdir(parents=True)
    odd = put(parent, "f", "---\npermissions: {}\n---\n")
    good = put(here / "zot" / "skills", "good")
    result = found(here)
    assert {skill.name: skill.source for skill in result.skills if skill.path} == {"good": str(good), "f": str(odd)}
    assert [str(fault) for fault in result.faults] == [
        f"skill {bad}:3: not YAML: mapping values are not allowed in this context; the skill is skipped",
        f"skill {huge}: cannot be read: Larger than 256 KiB; the skill is skipped",
        f"skill {parent}/c/SKILL.md: cannot be read: Not a file; the skill is skipped",
        f"skill {parent}/d/SKILL.md: cannot be read: Not a file; the skill is skipped",
        f"skill {parent}/e/SKILL.md: cannot be read: Is a directory; the skill is skipped",
        f"skill {odd}:2: permissions: has no effect here; allowed-tools restricts tools",
    ]


def test_a_path_that_is_no_text_is_told(here):
    parent = os.fsencode(here / "zot" / "skills" / "a")
    os.makedirs(parent + b"\xff")
    with open(parent + b"\xff/SKILL.md", "w") as file:
        file.write("Body")
    (fault,) = found(here).faults
    assert "not valid UTF-8" in str(fault)
    str(fault).encode()


def test_a_place_that_cannot_be_listed_is_told(here, monkeypatch):
    def scandir(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(discovery.os, "scandir", scandir)
    assert str(found(here).faults[0]) == (
        f"skill {here}/project/.zot/skills: cannot be read: Permission denied; the skills in it are skipped"
    )


def test_only_so_many_folders_are_read(here, monkeypatch):
    monkeypatch.setattr(discovery, "FOLDERS", 2)
    for name in "cab":
        put(here / "zot" / "skills", name)
    result = found(here)
    assert [skill.name for skill in result.skills if skill.path] == ["a", "b"]
    assert str(result.faults[0]) == f"skill {here}/zot/skills: has 3 folders: only the first 2 are read"
