"""The process table is true, and a signal reaches the process that was meant or none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from supervisor.process import table as processes
from supervisor.process.table import Identity, Process, ProcessTable, children_of, is_alive, read_process, send_signal

TREE = """
import os, subprocess, sys
child = subprocess.Popen(["sleep", "600"])
apart = subprocess.Popen(["sleep", "600"], start_new_session=True)
print(child.pid, apart.pid, flush=True)
sys.stdin.read()
for one in (child, apart):
    one.kill(); one.wait()
"""


@pytest.fixture
def tree():
    """A leader of its own session with one child in it and one outside."""
    command = [sys.executable, "-I", "-S", "-c", TREE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as leader:
        inside, outside = map(int, leader.stdout.readline().split())
        yield leader.pid, inside, outside


def test_a_tree_is_the_session_and_all_below_it(tree: tuple[int, int, int]):
    leader, inside, outside = tree
    table = ProcessTable.read()
    assert set(table.tree([leader])) == {leader, inside, outside}
    assert set(table.tree([], session=leader)) == {leader, inside, outside}
    assert set(table.tree([inside])) == {inside}
    assert table.tree([], session=outside).keys() == {outside}
    assert set(table.children_of(leader)) == {inside, outside}
    assert table.tree([2**22 + 1]) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="there is only the portable reader here")
def test_both_readers_agree(tree: tuple[int, int, int]):
    for pid in (os.getpid(), *tree):
        ours, theirs = read_process(pid), processes._read_portable(pid)
        assert ours is not None
        assert theirs is not None
        assert ours[1:4] == theirs[1:4], "parent, group, session"
        assert ours.threads == theirs.threads
        assert ours.is_zombie is theirs.is_zombie is False
        assert ours.cpu_s == pytest.approx(theirs.cpu_s, abs=1.0)
        if pid in (os.getpid(), tree[0]):  # the kernel may still load the others, which grow between the two reads
            assert ours.rss == pytest.approx(theirs.rss, rel=0.2, abs=1024 * 1024)
    assert set(ProcessTable.read().by_pid) >= set(tree)


def test_a_name_with_spaces_and_parentheses_is_no_obstacle(tmp_path):
    program = tmp_path / "a) S 1 (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "60"]) as child:
        found = read_process(child.pid)
        child.kill()
    assert found is not None
    assert found.parent == os.getpid()


def test_a_zombie_is_seen_and_belongs_to_no_tree():
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        found = read_process(child.pid)
        assert found is not None
        assert found.is_zombie
        table = ProcessTable.read()
        assert table.has(found.identity)
        assert table.tree([child.pid]) == {}
    assert read_process(child.pid) is None


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's lists of children are Linux's")
def test_children_are_listed_for_every_thread_and_with_zombies(tree: tuple[int, int, int]):
    leader, inside, outside = tree
    assert children_of(leader) == {inside, outside}
    assert children_of(inside) == set()
    code = (
        "import subprocess, sys, threading\n"
        "def start():\n    child = subprocess.Popen(sys.argv[1:])\n"  # without a name it would be waited for
        "    print(child.pid, flush=True)\n    sys.stdin.read()\n"
        "thread = threading.Thread(target=start)\nthread.start()\nthread.join()"
    )
    command = [sys.executable, "-I", "-c", code, "true"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        child = int(parent.stdout.readline())
        while not read_process(child).is_zombie:
            pass
        assert children_of(parent.pid) == {child}
        assert not is_alive(read_process(child).identity)
    assert children_of(parent.pid) is None


def test_a_signal_reaches_its_process():
    with subprocess.Popen(["sleep", "600"]) as child:
        found = read_process(child.pid)
        assert found is not None
        assert send_signal(found.identity, signal.SIGTERM)
        assert child.wait() == -signal.SIGTERM
    assert not send_signal(found.identity, signal.SIGTERM), "it is gone"


@pytest.mark.parametrize("has_pidfd", [True, False])
def test_a_reused_pid_is_not_signalled(monkeypatch: pytest.MonkeyPatch, has_pidfd: bool):
    if not has_pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    with subprocess.Popen(["sleep", "600"]) as child:
        found = read_process(child.pid)
        assert found is not None
        older = Identity(child.pid, found.identity.started - 1)
        assert not send_signal(older, signal.SIGKILL)
        assert not ProcessTable.read().has(older)
        assert child.poll() is None
        assert send_signal(found.identity, signal.SIGKILL)


def test_a_process_that_is_gone_has_no_peak():
    assert processes.peak_rss(os.getpid()) > 1024 * 1024
    assert processes.peak_rss(2**22 + 1) == 0
    assert read_process(2**22 + 1) is None


def test_trees_of_a_made_up_table():
    def process(pid: int, parent: int, session: int, *, is_zombie: bool = False) -> Process:
        return Process(Identity(pid, pid), parent, session, session, 0.0, 0, 1, is_zombie)

    table = ProcessTable(
        [
            process(10, 1, 10),
            process(11, 10, 10),
            process(12, 1, 10),  # its parent has died
            process(13, 12, 13),  # and this one has left the session
            process(14, 11, 10, is_zombie=True),
            process(15, 14, 15),
            process(20, 1, 20),
        ]
    )
    assert set(table.tree([10])) == {10, 11, 15}
    assert set(table.tree([10], session=10)) == {10, 11, 12, 13, 15}
    assert set(table.tree([], session=10)) == {10, 11, 12, 13, 15}


def test_the_tests_themselves_are_a_subreaper():
    assert processes.become_subreaper() is (sys.platform == "linux")
    orphan = subprocess.run(
        ["sh", "-c", "sleep 600 >/dev/null & echo $!"], stdout=subprocess.PIPE, text=True, check=False
    )
    pid = int(orphan.stdout)
    if sys.platform == "linux":
        assert psutil.Process(pid).ppid() == os.getpid()
    os.kill(pid, signal.SIGKILL)
    if sys.platform == "linux":
        os.waitpid(pid, 0)
