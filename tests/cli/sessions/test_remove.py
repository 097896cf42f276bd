"""`zot session rm`: asks, leaves what is in use, and removes the rest."""

from __future__ import annotations

import fcntl
import os
import pty

import pytest

from agent.sessions.rows import Meta, meta_line
from tests.cli.sessions.conftest import OTHER
from tests.support.session_files import ID, write_session
from tests.support.zot_fork import run


def on_a_terminal(zot, answer, *words):
    terminal, other = pty.openpty()
    os.write(terminal, answer.encode() + b"\n")
    try:
        return run(zot, "session", "rm", *words, stdin=other)
    finally:
        os.close(terminal)
        os.close(other)


@pytest.mark.parametrize(("answer", "goes"), [("y", True), ("n", False), ("", False)])
def test_it_asks_on_a_terminal(zot, sessions, answer, goes):
    outcome = on_a_terminal(zot, answer, "3a3e", "90b1")
    assert outcome.status == 0
    assert outcome.stderr.startswith("  3a3ec9b6  just now  6 messages  Fix the test. E assert 3 == 4\n  90b1ffff  ")
    assert "remove these 2 sessions? [y/N] " in outcome.stderr
    assert ("removed 90b1ffff  add a button" in outcome.stderr) is goes
    assert ("nothing is removed" in outcome.stderr) is not goes
    assert (sessions["path"].exists(), sessions["other"].exists()) == (not goes, not goes)


def test_off_a_terminal_it_needs_yes(zot, sessions):
    assert "--yes removes them" in run(zot, "session", "rm", ID).refusal()
    assert sessions["path"].exists()
    assert run(zot, "session", "rm", ID, "-y").status == 0
    assert not sessions["path"].exists()


def test_one_in_use_stays_and_the_others_go(zot, sessions):
    with sessions["path"].open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        outcome = run(zot, "session", "rm", ID, "nope", OTHER, "-y")
    assert outcome.status == 1
    said = outcome.stderr.splitlines()
    assert [line for line in said if "in use: a run writes to it" in line]
    assert [line for line in said if "there is no session 'nope'" in line]
    assert said[-1] == "removed 90b1ffff  add a button"
    assert (sessions["path"].exists(), sessions["other"].exists()) == (True, False)


def test_the_same_twice_is_removed_once(zot, sessions):
    outcome = run(zot, "session", "rm", ID, ID[:6], "-y")
    assert (outcome.status, outcome.stderr.count("removed")) == (0, 1)


def test_empty_ones_go_and_others_stay(zot, sessions):
    path = write_session(zot.home, str(zot.cwd), [meta_line(Meta(id="e" * 8))], "e" * 8)
    assert run(zot, "session", "rm", "--empty").stderr == "no empty sessions\n"  # it is too young
    os.utime(path, (1_700_000_000, 1_700_000_000))
    outcome = run(zot, "session", "rm", "--empty")
    assert (outcome.status, outcome.stderr) == (0, f"removed {path}\n")
    assert sessions["path"].exists()


@pytest.mark.parametrize("words", [[], ["--empty", ID], ["--all", ID]])
def test_misuse(zot, sessions, words):
    run(zot, "session", "rm", *words, "-y").refusal()
    assert sessions["path"].exists()
