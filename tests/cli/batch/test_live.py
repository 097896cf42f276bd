"""The live view in a real terminal (tmux): what it shows, its keys, and that it leaves the terminal as it was."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from tests.support.terminal import open_terminal
from tests.support.zot_process import ROOT, wait_until

FAKE = "./fake"


@pytest.fixture
def terminal(zot):
    fake = zot.cwd / "fake"
    fake.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m tests.support.fake_batch "$@"\n')
    fake.chmod(0o755)
    with open_terminal(zot) as terminal:
        yield terminal


def test_the_view_its_keys_and_the_summary(zot, terminal):
    before = terminal.modes()
    terminal.command(f"{FAKE} > out; echo status $?")
    _, _, text = terminal.wait_for(r"remark of the batch\n(?s:.*)q drain").partition("a remark of the batch\n")
    shown = text.splitlines()
    assert "  1 of 3  33%  " in shown[0]
    assert [line.split()[0] for line in shown[3:6]] == ["TASK", "two", "three"]
    assert shown[6:] == ["p pause  q drain  Q stop"]
    terminal.keys("p")
    terminal.wait_for(r"^paused: p resumes$")
    terminal.resize(60, 20)
    terminal.wait_for(r"^p resume  q drain  Q stop$")
    terminal.resize(90, 24)
    terminal.keys("p")
    terminal.wait_for(r"^p pause  q drain  Q stop$")
    terminal.keys("q")
    terminal.wait_for(r"^draining: no new tasks start, 2 still running$")
    terminal.keys("Q")
    shown = terminal.wait_for(r"^status 130$")
    assert "draining" not in shown, "the view is erased"
    assert "1 of 3 tasks ok in 1 s; 1,200 tokens, $0.0123" in shown
    assert "zot batch results runs" in shown
    assert terminal.modes() == before
    assert (zot.cwd / "out").read_bytes() == b""


def started(zot, terminal, flags=""):
    (zot.cwd / "pid").unlink(missing_ok=True)
    terminal.command(f"{FAKE} {flags} & echo $! > pid; fg; echo status $?")
    terminal.wait_for(r"q drain")
    wait_until((zot.cwd / "pid").read_text)
    return int((zot.cwd / "pid").read_text())


def test_a_failure_is_said_above_the_view(zot, terminal):
    pid = started(zot, terminal)
    os.kill(pid, signal.SIGUSR1)
    shown = terminal.wait_for(r"^\[2/3\] crashed +two +12.5 s +\$0.0123 +killed by SIGKILL$")
    terminal.wait_for(r"^1 ok  1 failed  1 running")
    assert "ok            one" not in shown, "the view counts those that are well"
    terminal.keys("C-c")
    terminal.wait_for(r"^status 130$")


def test_every_end_restores_the_terminal(zot, terminal):
    before = terminal.modes()
    pid = started(zot, terminal)
    os.kill(pid, signal.SIGTERM)
    terminal.wait_for(r"^draining")
    os.kill(pid, signal.SIGTERM)
    terminal.wait_for(r"^status 130$")
    assert terminal.modes() == before

    terminal.command(f"{FAKE} --crash; echo status $?")
    assert "a defect" in terminal.wait_for(r"^status 1$")
    assert terminal.modes() == before


def test_ctrl_z_restores_the_terminal_and_fg_draws_again(zot, terminal):
    before = terminal.modes()
    started(zot, terminal)
    terminal.keys("C-z")
    terminal.wait_for(r"Stopped")
    assert terminal.modes() == before
    terminal.command("bg; echo behi''nd")
    terminal.wait_for(r"^behind$")
    assert terminal.modes() == before, "in the background the terminal is the shell's"
    terminal.command("clear; fg")
    terminal.wait_for(r"q drain")
    terminal.keys("q")
    terminal.wait_for(r"^draining")
    terminal.keys("Q")
    terminal.wait_for(r"^ready>$")
    assert terminal.modes() == before


def test_tasks_in_a_pipe_leave_the_keys_to_the_terminal(zot, terminal):
    terminal.command(f"echo tasks | {FAKE} | cat; echo ended")
    terminal.wait_for(r"q drain")
    terminal.type("Q")
    terminal.wait_for(r"^ended$")


@pytest.mark.parametrize(("words", "flags"), [("TERM=dumb", ""), ("", "--no-progress")])
def test_lines_where_no_view_is_wanted(terminal, words, flags):
    terminal.command(f"{words} {FAKE} --short {flags}; echo status $?")
    shown = terminal.wait_for(r"^status 0$")
    assert "[1/3] ok            one  12.5 s  $0.0123" in shown
    assert "q drain" not in shown


def test_records_on_the_terminal_itself_leave_no_room_for_a_view(terminal):
    terminal.command(f"{FAKE} --short --json; echo status $?")
    shown = terminal.wait_for(r"^status 0$")
    assert '"type":"batch_end"' in shown.replace("\n", "")
    assert "zot batch results runs" in shown
    assert "q drain" not in shown
