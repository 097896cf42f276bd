"""Which calls the active skills allow."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.skills.allowed_tools import ActiveSkills, entries_in, rule_from


def fits(entry: str, tool: str, command: object = None) -> bool:
    args = {} if command is None else {"command": command}
    return rule_from(entry)[0].fits(tool, json.dumps(args).encode())


@pytest.mark.parametrize(
    ("entry", "tool", "is_allowed"),
    [
        ("read", "read", True), ("Read", "read", True), ("READ", "Read", True), ("read", "reader", False),
        ("todo_*", "todo_add", True), ("todo_*", "todo", False), ("*", "anything", True),
        ("Read(*)", "read", True), ("Read()", "read", True), ("Read(src/**)", "read", False),
        ("mcp__db__query", "mcp__db__query", True), ("a*b", "axb", False), ("", "read", False),
    ],
)  # fmt: skip
def test_names(entry, tool, is_allowed):
    assert fits(entry, tool) is is_allowed


@pytest.mark.parametrize(
    ("entry", "command", "is_allowed"),
    [
        ("Bash", "rm -rf x; ls", True),
        ("Bash(*)", "anything | at all", True),
        ("Bash(git status)", "git status", True),
        ("Bash(git status)", " git status\n", True),
        ("Bash(git status)", "git status -s", False),
        ("Bash(ls | wc -l)", "ls | wc -l", True),
        ("Bash(git log:*)", "git log", True),
        ("Bash(git log:*)", "git  log --oneline", True),
        ("Bash(git log *)", "git log -1", True),
        ("Bash(git log:*)", "git logx", False),
        ("Bash(git log:*)", "git push", False),
        ("Bash(git log:*)", "GIT_PAGER=sh git log", False),
        ("Bash(git log:*)", "git log; rm x", False),
        ("Bash(git log:*)", "git log && rm x", False),
        ("Bash(git log:*)", "git log | sh", False),
        ("Bash(git log:*)", "git log > x", False),
        ("Bash(git log:*)", "git log `rm x`", False),
        ("Bash(git log:*)", "git log $(rm x)", False),
        ("Bash(git log:*)", "git log\nrm x", False),
        ("Bash(git log:*)", "git log & rm x", False),
        ("Bash(git log:*)", "git\tlog", True),
        ("Bash(git log:*)", "git\u00a0log", False),  # one word for a shell
        ("Bash(git log:*)", "git log\u2028-1", False),
        ("Bash(git status)", "\u2003git status", False),
        ("Bash(git log:*)", 7, False),
        ("Bash(git log:*)", None, False),
        ("Bash(* --help)", "rm --help", False),
        ("bash(:*)", "ls", False),
    ],
)
def test_commands(entry, command, is_allowed):
    assert fits(entry, "bash", command) is is_allowed


def test_a_pattern_that_cannot_be_held_is_told():
    told = [entry for entry in ("Read(x)", "Bash(* x)", "Bash(:*)", "(x)", "Read", "Bash(x:*)") if rule_from(entry)[1]]
    assert told == ["Read(x)", "Bash(* x)", "Bash(:*)", "(x)"]


@given(st.text(st.sampled_from("gitlog ;&|<>`$()\n\r'\"\\x-"), max_size=30))
def test_what_fits_a_beginning_is_one_command(tail):
    if fits("Bash(git log:*)", "bash", f"git log{tail}"):
        assert not set(tail.strip()) & set(";&|<>`$()\n\r")
        assert tail.strip() == "" or tail[0] in " \t"


def test_a_pattern_of_bash_holds_no_other_tool():
    assert fits("bash", "Bash")
    assert not fits("Bash(git log:*)", "Bash", "git log"), "an extension's tool may do anything with that argument"


@given(st.text(max_size=50))
def test_any_entry_is_a_rule_or_told(text):
    rule, fault = rule_from(text)
    assert bool(rule.tool) != bool(fault)
    assert entries_in(text) is None or all("\n" not in entry or "(" in entry for entry in entries_in(text))


def test_nothing_is_restricted_without_a_skill_that_has_a_list():
    active = ActiveSkills()
    assert active.refusal("bash", b"{}") == ""
    active.begin("free", None)
    assert active.refusal("bash", b"{}") == ""


def test_several_skills_allow_what_one_of_them_allows():
    active = ActiveSkills()
    active.begin("review", (rule_from("Read")[0], rule_from("Bash(git log:*)")[0]))
    assert active.refusal("read", b"{}") == ""
    assert active.refusal("skill", b"{}") == ""
    assert active.refusal("write", b"{}") == (
        "write was not run: until the end of this prompt the skill review allows only Read, Bash(git log:*) and skill"
    )
    assert active.refusal("bash", b'{"command": "git log; ls"}').endswith(
        "and skill; such a command of bash must be a single one, without ; & | < > ` $ ( ) and line breaks"
    )
    active.begin("free", None)
    assert active.refusal("write", b"{}")
    active.begin("fix", (rule_from("write")[0],))
    assert active.refusal("write", b"{}") == ""
    assert "the skills review and fix allow only Read, Bash(git log:*), write and skill" in active.refusal(
        "edit", b"{}"
    )


def test_an_empty_list_allows_only_skill():
    active = ActiveSkills()
    active.begin("think", ())
    assert active.refusal("read", b"{}").endswith("the skill think allows only skill")
