"""The system prompt: which text, and what is appended to it."""

from __future__ import annotations

from datetime import date

from agent.run.system_prompt import IDENTITY, system_prompt

DAY = date(2026, 1, 2)


def test_the_system_prompt_ends_with_what_changes(tmp_path):
    text = system_prompt(home=tmp_path, custom=None, appended=["One.", " ", "Two."], cwd="/p", today=DAY)
    assert text == f"{IDENTITY}\n\nOne.\n\nTwo.\n\nCurrent date: 2026-01-02\nCurrent working directory: /p\n"


def test_the_system_prompt_of_the_user(tmp_path):
    (tmp_path / "SYSTEM.md").write_bytes(b"\nMine \xff\n")

    def start(custom, home=tmp_path):
        return system_prompt(home=home, custom=custom, appended=(), cwd="/p", today=DAY).partition("\n\nCurrent")[0]

    assert start(None) == "Mine \ufffd"
    assert start("") == "Mine \ufffd"
    assert start("Flag") == "Flag"
    assert start(None, home=None) == IDENTITY
    assert start(None, home=tmp_path / "missing") == IDENTITY


def test_skills_and_context_files_stand_before_what_changes(tmp_path):
    text = system_prompt(home=None, custom="C", appended=["A"], cwd="/p", today=DAY, skills="S", context="F")
    assert text == "C\n\nA\n\nS\n\nF\n\nCurrent date: 2026-01-02\nCurrent working directory: /p\n"
