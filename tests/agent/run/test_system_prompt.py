"""The system prompt: which text, and what is appended to it."""

from __future__ import annotations

from datetime import date

from agent.run.system_prompt import IDENTITY, date_and_folder, system_prompt


def test_the_system_prompt_has_a_part_that_stays_and_one_that_changes(tmp_path):
    assert system_prompt(home=tmp_path, custom=None, appended=["One.", " ", "Two."]) == f"{IDENTITY}\n\nOne.\n\nTwo."
    changing = "\n\nCurrent date: 2026-01-02\nCurrent working directory: /p\n"
    assert date_and_folder(date(2026, 1, 2), "/p") == changing


def test_the_system_prompt_of_the_user(tmp_path):
    (tmp_path / "SYSTEM.md").write_bytes(b"\nMine \xff\n")

    def start(custom, home=tmp_path):
        return system_prompt(home=home, custom=custom, appended=())

    assert start(None) == "Mine \ufffd"
    assert start("") == "Mine \ufffd"
    assert start("Flag") == "Flag"
    assert start(None, home=None) == IDENTITY
    assert start(None, home=tmp_path / "missing") == IDENTITY


def test_skills_and_context_files_stand_last():
    assert system_prompt(home=None, custom="C", appended=["A"], skills="S", context="F") == "C\n\nA\n\nS\n\nF"
