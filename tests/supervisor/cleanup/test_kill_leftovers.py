"""Which processes belong to a host that was killed, and how they are ended until none is found."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.cleanup import kill_leftovers
from supervisor.cleanup.env_marks import TOKEN, bears_token, environment_of
from supervisor.cleanup.kill_leftovers import HostMarks, KillStage, LeftoverKiller, groups_of, next_stage, related
from supervisor.process.table import Identity, Process, ProcessTable, read_process

pytestmark = pytest.mark.usefixtures("orphans_are_collected")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="found by /proc and a subreaper")


# --- which processes belong to a host -------------------------------------------------------------------------


def process(pid: int, parent: int, session: int, group: int | None = None, *, is_zombie: bool = False) -> Process:
    return Process(Identity(pid, pid), parent, session if group is None else group, session, 0.0, 0, 1, is_zombie)


TABLE = ProcessTable(
    [
        process(2, 0, 0),  # the kernel's
        process(3, 2, 0),
        process(10, 1, 10),  # a child of the host
        process(11, 10, 10, 11),
        process(12, 11, 12),  # left the session
        process(13, 1, 12),  # its parent has died
        process(20, 1, 19),  # its leader has died
        process(21, 1, 19, 21, is_zombie=True),
        process(30, 5, 30),  # a terminal of the user's …
        process(31, 30, 30, 31),
        process(32, 30, 30, 31),
        process(40, 1, 0),  # in a session outside of this pid namespace
    ]
)


@pytest.mark.parametrize(
    ("starts", "sessions", "expected"),
    [
        ([10], [], {10, 11, 12, 13}),
        ([11], [], {11, 12, 13}),
        ([13], [], {13}),
        ([20], [], {20}),
        ([], [19], {20}),
        ([31], [], {31}),  # … of which one process has our token: not the others
        ([40], [], {40}),
        ([99], [98], set()),
    ],
)
def test_descendants_and_sessions_of_a_start_are_found(starts, sessions, expected):
    assert related(TABLE, starts, sessions, spared=()).keys() == expected


def test_a_spared_process_is_never_found():
    assert related(TABLE, [10, 11], [], spared={11}).keys() == {10}


@pytest.mark.parametrize(
    ("found", "expected"), [({10, 11, 12, 13}, {10, 11, 12}), ({31}, set()), ({20}, {19}), ({40}, set())]
)
def test_only_a_group_that_was_found_whole_is_killed(found, expected):
    assert groups_of({pid: TABLE.by_pid[pid] for pid in found}, TABLE) == expected


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.booleans()), min_size=1, max_size=60),
    st.lists(st.integers(1, 60), max_size=5),
    st.sets(st.integers(1, 60), max_size=5),
)
def test_every_process_found_is_linked_to_a_start(rows, starts, spared):
    table = ProcessTable(
        process(i + 1, parent, session, is_zombie=dead) for i, (parent, session, dead) in enumerate(rows)
    )
    found = related(table, starts, [], spared)
    assert not found.keys() & spared
    assert not any(process.is_zombie for process in found.values())
    living_starts = {pid for pid in starts if pid in table.by_pid and not table.by_pid[pid].is_zombie}
    assert found.keys() >= living_starts - spared
    if not set(starts) - spared & table.by_pid.keys():
        assert found == {}


# --- how they are ended ---------------------------------------------------------------------------------------


@given(st.sampled_from(list(KillStage)), st.integers(0, 3), st.integers(0, 200), st.floats(0, 20), st.integers(0, 6))
def test_the_stages_end_and_never_go_back(stage, left, late, since, empty_reads):
    then, delay = next_stage(stage, left=left, late=late, since=since, term_s=1.0, empty_reads=empty_reads)
    order = list(KillStage)
    assert order.index(then) >= order.index(stage)
    assert (delay is None) == (then in (KillStage.OVER, KillStage.GIVEN_UP))
    if stage in (KillStage.TERMINATING, KillStage.KILLING):
        assert (then is KillStage.OVER) == (not left and empty_reads >= kill_leftovers.CONFIRMATIONS)
        if left and since >= 1.0:
            assert then is not KillStage.TERMINATING


def run(killer: LeftoverKiller) -> None:
    while (delay := killer.step()) is not None:
        time.sleep(delay)  # what its caller is to do


@linux_only
def test_a_group_of_unseen_processes_is_ended_only_if_its_leader_was_noted(monkeypatch: pytest.MonkeyPatch):
    """Its processes live shorter than a read of the table takes; the leader was not collected before the host ended."""
    script = "sleep 600 & exit"
    with subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True) as leader:
        os.waitid(os.P_PID, leader.pid, os.WEXITED | os.WNOWAIT)
        identity = read_process(leader.pid).identity
        leader.wait()
        monkeypatch.setattr(kill_leftovers.ProcessTable, "read", lambda: ProcessTable(()))
        monkeypatch.setattr(kill_leftovers, "_pids", set)
        for trail in (HostMarks("a" * 32), HostMarks("a" * 32, others=frozenset({identity}))):
            run(LeftoverKiller(trail, time.monotonic))
            os.killpg(leader.pid, 0)  # nothing has happened to it
        run(LeftoverKiller(HostMarks("a" * 32, leaders=frozenset({identity})), time.monotonic))
        assert leader.stdout.read() == b"", "end of file"


@linux_only
def test_processes_that_keep_forking_are_ended():
    token = secrets.token_hex(16)
    code = (
        "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nend = time.time() + 60\n"
        "for _ in range(20):\n    if os.fork() == 0:\n        while time.time() < end:\n"
        "            if os.fork(): os._exit(0)\n            time.sleep(0.02)\n"
        "        os._exit(0)\nprint(flush=True)\nos._exit(0)"
    )
    command = [sys.executable, "-I", "-S", "-c", code]
    with subprocess.Popen(command, env={TOKEN: token}, stdout=subprocess.PIPE, start_new_session=True) as leader:
        leader.stdout.readline()
    killer = LeftoverKiller(HostMarks(token), time.monotonic, term_s=0.1)
    run(killer)
    assert killer.stage is KillStage.OVER
    assert killer.seen
    assert not any(bears_token(environment_of(pid), token) for pid in ProcessTable.read().by_pid)
