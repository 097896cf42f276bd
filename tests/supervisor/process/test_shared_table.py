"""Orphans that the host has adopted are collected when they end; children of its own are left to their owners."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.host import Host

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
PROGRAM = """
import json, os, sys, time
from supervisor.loop.loop import Loop
from supervisor.process.shared_table import collect_orphans
from supervisor.process.table import children_of
def fork(status):
    pid = os.fork()
    if not pid:
        os._exit(status)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it has ended
    return pid
loop = Loop()
"""


def said(code: str) -> object:
    """The output of a process that has no other children."""
    done = subprocess.run([sys.executable, "-c", PROGRAM + code], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_exit_status_of_an_own_child_is_left_to_its_owner() -> None:
    code = """
own = fork(7)
loop.children.add(own)
orphans = [fork(0) for _ in range(3)]
again = collect_orphans(loop)
waited = os.waitstatus_to_exitcode(os.waitpid(own, 0)[1])
loop.children.discard(own)
print(json.dumps([again > 0, waited, collect_orphans(loop), sorted(children_of(os.getpid()))]))
"""
    assert said(code) == [True, 7, None, []]


def test_children_that_live_are_not_waited_for() -> None:
    code = """
read, write = os.pipe()
living = os.fork()
if not living:
    os.close(write)
    os.read(read, 1)
    os._exit(0)
ended = fork(0)
print(json.dumps([collect_orphans(loop), children_of(os.getpid()) == {living}]))
"""
    assert said(code) == [None, True]


def test_a_storm_of_orphans_is_collected_in_pieces() -> None:
    code = """
storm = [fork(0) for _ in range(25)]
seen = []
while (again := collect_orphans(loop, most=10)) is not None:
    seen.append([again, len(children_of(os.getpid()))])
print(json.dumps([seen, len(children_of(os.getpid()))]))
"""
    assert said(code) == [[[0.0, 15], [0.0, 5]], 0]


ORPHANS = """
hello("leave")
send(type="ready")
for frame in frames():
    made = [subprocess.run(["sh", "-c", "sleep 0.05 >&2 & echo $!"], capture_output=True, text=True) for _ in range(5)]
    result(frame, " ".join(each.stdout.strip() for each in made))
"""


def test_an_orphan_is_collected_when_it_ends_without_a_look_at_the_table(tmp_path: Path) -> None:
    with Host(tmp_path) as host, host.loop.signals([], print):
        host.write("forker", ORPHANS)
        host.start()
        host.supervisor.sampler.stop()
        before = host.supervisor._processes.table._read_at
        pids = host.text("leave").split()
        host.until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))
        assert host.supervisor._processes.table._read_at == before


def test_an_embedded_host_leaves_the_children_of_its_program_alone(tmp_path: Path) -> None:
    with Host(tmp_path, owns_process=False) as host, host.loop.signals([], print):
        host.add("echo")
        host.start()
        other = subprocess.Popen(["sh", "-c", "exit 7"])
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert host.text("echo", text="x") == "x"
        assert host.stop() >= 0
        assert other.wait() == 7
