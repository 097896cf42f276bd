"""The fields of a skill's file, and the errors in it."""

from __future__ import annotations

import pytest

from agent.skills.read import SkillError, read_skill
from agent.skills.skill import LEAD, MANIFEST_LENGTH, Skill, manifest


def read(text: str | bytes, folder: str = "folder"):
    return read_skill(text.encode() if isinstance(text, str) else text, f"/p/{folder}/SKILL.md", folder)


def test_all_that_a_file_says():
    skill, remarks = read(
        "\ufeff---\nname: deploy\ndescription: >\n  Puts it\n  on the server.\nallowed-tools:\n  - Read\n"
        "  - Bash(git log:*)\nlicense: MIT\n---\n\n# Steps\n"
    )
    assert (skill.name, skill.description, skill.body) == ("deploy", "Puts it on the server.", "# Steps\n")
    assert skill.allowed_names == ("Read", "Bash(git log:*)")
    assert skill.text == "# Skill: deploy\n\nPuts it on the server.\n\n---\n\n# Steps\n"
    assert remarks == []


@pytest.mark.parametrize("text", ["Just do it.\n", "---\n---\nJust do it.\n", "---\nname:\n---\nJust do it.\n"])
def test_without_a_name_it_has_that_of_its_folder(text):
    skill, _ = read(text)
    assert (skill.name, skill.description, skill.body, skill.allowed) == ("folder", "", "Just do it.\n", None)


@pytest.mark.parametrize(
    ("written", "entries"),
    [
        ("Read, Grep Bash(git add:*, git log:*)", None),
        ("Read, Bash(git log:*) todo_*", ("Read", "Bash(git log:*)", "todo_*")),
        ("[]", ()),
        ("[read, 'Bash(npm run test:*)']", ("read", "Bash(npm run test:*)")),
    ],
)
def test_the_lists_of_tools_that_people_write(written, entries):
    skill, _ = read(f"---\nallowed_tools: {written}\n---\n")
    assert entries is None or skill.allowed_names == entries


def test_what_has_no_effect_is_told():
    _, remarks = read(
        "---\nallowed-tools: [Read(src/**), Bash(* --help), Bash, '(x)']\npermissions: {bash: [ls]}\n---\n"
    )
    assert [line for line, _ in remarks] == [2, 2, 2, 3]
    assert remarks[0][1] == "allowed-tools: 'Read(src/**)' allows nothing: only a pattern of Bash can be held"
    assert "has no effect" in remarks[3][1]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (b"---\nname: a\n---\n\xe9\n", 4, "not UTF-8"),
        ("---\nname: [a]\n---\n", 2, "name: must be text, not a list"),
        ("---\nname: a\ndescription: {a: b}\n---\n", 3, "description: must be text, not keys with values"),
        (f"---\nname: {'a' * 65}\n---\n", 2, "longer than 64 characters"),
        ('---\nname: "a\\nb"\n---\n', 2, "one line of printable characters"),
        ('---\nname: "a\\e[31mb"\n---\n', 2, "one line of printable characters"),
        ("---\nallowed-tools:\n---\n", 2, "allowed-tools: must be a list of tools, such as .read, edit., not nothing"),
        ("---\nallowed-tools: {a: b}\n---\n", 2, "not keys with values"),
        ("---\nallowed-tools: Bash(git\n---\n", 2, "must be a list of tools"),
        ("---\nallowed-tools: [a]\nallowed_tools: [b]\n---\n", 3, "mean the same"),
        ("---\nname: a\n", 1, "has no end"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, line, said):
    with pytest.raises(SkillError, match=said) as caught:
        read(text)
    assert caught.value.line == line


def test_the_manifest_lists_them_by_name():
    skills = [Skill(name="b", path="/p/SKILL.md"), Skill(name="a", description="Does\n  it.")]
    assert manifest(skills) == (f"{LEAD}\n\n- a [builtin]: Does it.\n- b [/p/SKILL.md]: (no description)", 0)
    assert manifest([]) == ("", 0)


def test_the_manifest_has_a_limit():
    many = [Skill(name=f"s{number:03}", description="x" * 2000) for number in range(100)]
    text, left_out = manifest(many)
    assert len(text) <= MANIFEST_LENGTH + len(LEAD) + 2
    assert left_out == 100 - text.count("\n- s")
    assert 0 < left_out < 100
