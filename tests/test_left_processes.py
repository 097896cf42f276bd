"""The fixture that looks for processes which outlive their test: its messages at the worst moments."""

from __future__ import annotations

import os
import signal
import subprocess

import psutil
import pytest

from tests import conftest


@pytest.fixture
def orphan():
    """Makes a process whose parent has ended: it comes to this one. It runs a command of the shell."""

    def make(command: str) -> int:
        begun = subprocess.run(["sh", "-c", f"({command}) >/dev/null 2>&1 & echo $!"], capture_output=True, check=True)
        return int(begun.stdout)

    return make


def end(pid):
    """Ends a child of this process, and leaves it to be waited for."""
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


@pytest.fixture
def no_grace(monkeypatch):
    monkeypatch.setattr(conftest, "GRACE_S", 0.0)


def test_an_orphan_that_ends_after_the_last_look_is_no_leak(orphan, no_grace):
    before = conftest.children_now()
    pid = orphan("exec sleep 600")
    assert conftest.leaked(before) == {pid}
    end(pid)
    assert conftest.describe_and_end({pid}) == ""
    assert not psutil.pid_exists(pid)


def test_an_orphan_that_is_alive_is_named_and_ended(orphan, no_grace):
    before = conftest.children_now()
    pid = orphan("exec sleep 600")
    assert conftest.describe_and_end(conftest.leaked(before)) == f"{pid} is alive: sleep 600"
    assert not psutil.pid_exists(pid)


def test_what_comes_with_the_end_of_an_orphan_is_found(orphan, monkeypatch):
    """The orphan ends between the looks at the children and at itself; its child is alive."""
    look = conftest.is_zombie
    before = conftest.children_now()
    pid = orphan("sleep 600 & wait")
    (child,) = until_one(psutil.Process(pid).children)

    def end_and_look(asked):
        if asked == pid:
            end(pid)
        return look(asked)

    monkeypatch.setattr(conftest, "is_zombie", end_and_look)
    monkeypatch.setattr(conftest, "GRACE_S", 0.1)
    assert conftest.describe_and_end(conftest.leaked(before)) == f"{child.pid} is alive: sleep 600"


def until_one(look):
    while not (found := look()):
        pass
    return found


def test_a_process_that_the_test_has_not_waited_for_is_named():
    before = conftest.children_now()
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert conftest.leaked(before) == {process.pid}
    assert conftest.describe_and_end({process.pid}) == f"{process.pid} ended, but was not waited for: true"
    process.wait()
