"""A host is killed, at any moment: its watchdog leaves nothing of what it had started, and ends nothing else."""

from __future__ import annotations

import os
import random
import secrets
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.cleanup import kill_leftovers
from supervisor.cleanup import reaper as reaper_module
from supervisor.cleanup.env_marks import TOKEN, bears_token, environment_of
from supervisor.cleanup.kill_leftovers import HostMarks, KillStage, LeftoverKiller, groups_of, next_stage, related
from supervisor.cleanup.process_groups import end_groups, start_time
from supervisor.cleanup.reaper import Reaper, ReaperState
from supervisor.loop.loop import Loop
from supervisor.process.cgroup_survey import Unavailable, survey
from supervisor.process.table import Identity, Process, ProcessTable, read_process
from tests.support.doomed import PATIENCE_S, Doomed, collect_orphans, sleeper

if TYPE_CHECKING:
    from collections.abc import Iterator

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="found by /proc and a subreaper")


@pytest.fixture(autouse=True)
def orphans_are_collected() -> Iterator[None]:
    yield
    collect_orphans()


@pytest.fixture
def bystanders() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that have nothing to do with it, however much alike they look."""
    environments = [{}, {TOKEN: secrets.token_hex(16)}, {"X": f"{TOKEN}={'a' * 32}"}]
    started = [
        subprocess.Popen(["sleep", "600"], env={**os.environ, **env}, start_new_session=True) for env in environments
    ]
    yield started
    alive = [one.poll() is None for one in started]
    for one in started:
        one.kill()
        one.wait()
    assert all(alive), "a bystander was ended"


@linux_only
def test_nothing_survives_a_host_killed_at_any_moment(tmp_path: Path, bystanders):
    """Five at once, twice: a stubborn process takes its second to be given up."""
    random.seed()
    for round_ in range(2):
        hosts = [Doomed(tmp_path / f"{round_}-{i}", pause_s=0.01) for i in range(5)]
        moments = sorted((random.uniform(0, 0.3), i) for i in range(5))
        began = time.monotonic()
        for moment, i in moments:
            # The moment of the fault, not a wait for anything.
            select.select([], [], [], max(0.0, began + moment - time.monotonic()))
            hosts[i].kill()
        for host in hosts:
            with host:
                host.watchdog_ends()
                assert host.survivors() == []
                assert list(host.folder.iterdir()) == [], "the record is removed with them"


@linux_only
def test_all_kinds_of_children_are_ended(tmp_path: Path, bystanders):
    with Doomed(tmp_path / "run") as host:
        host.hear("all there")
        assert host.survivors() != []
        host.kill()
        host.watchdog_ends()
        assert host.survivors() == []


@linux_only
def test_leaves_hold_what_nothing_else_could(tmp_path: Path, bystanders):
    """A daemon with an empty environment, whose parents are gone, in a session of its own."""
    if isinstance(place := survey(), Unavailable):
        pytest.skip(place.reason)
    with Doomed(tmp_path / "run", "hidden,plain,gone", leaves=True) as host:
        host.hear("all there")
        host.kill()
        host.watchdog_ends()
        assert host.survivors() == []
        assert not Path(f"{place.path}/zot-{host.process.pid}").exists()


@linux_only
def test_it_survives_the_end_of_the_hosts_group_and_requests_to_end(tmp_path: Path):
    with Doomed(tmp_path / "run", "plain,stubborn") as host:
        host.hear("all there")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(host.watchdog, number)
        os.killpg(host.process.pid, signal.SIGKILL)
        host.process.wait()
        host.watchdog_ends()
        assert host.survivors() == []
        assert list(host.folder.iterdir()) == []


@linux_only
def test_a_copy_of_the_host_that_holds_the_pipe_hides_nothing(tmp_path: Path):
    with Doomed(tmp_path / "run", "plain") as host:
        host.hear("all there")
        host.say("fork")
        copy = int(host.hear("copy"))
        host.kill()
        host.watchdog_ends()
        assert host.survivors() == []
        assert read_process(copy) is not None, "it had not been started as a child"
        os.kill(copy, signal.SIGKILL)


@linux_only
def test_a_pid_that_belongs_to_another_by_now_is_left_alone(tmp_path: Path, bystanders):
    found = [read_process(one.pid) for one in bystanders]
    with Doomed(tmp_path / "run", "plain") as host:
        host.hear("all there")
        for process in found:
            host.say("note", process.identity.pid, process.identity.started - 1)
            host.say("other", process.identity.pid, process.identity.started + 1)
            host.say("note", process.identity.pid, process.identity.started)
            host.say("forget", process.identity.pid, process.identity.started)
        host.say("name")
        host.hear("watchdog")
        host.kill()
        host.watchdog_ends()
        assert host.survivors() == []


@linux_only
def test_what_was_noted_needs_no_token(tmp_path: Path):
    with sleeper() as adopted, Doomed(tmp_path / "run", "") as host:
        identity = read_process(adopted.pid).identity
        host.say("other", identity.pid, identity.started)
        host.say("name")
        host.hear("watchdog")
        host.kill()
        host.watchdog_ends()
        assert adopted.wait() == -signal.SIGTERM


# --- the host's side ----------------------------------------------------------------------------------------


@pytest.fixture
def loop() -> Iterator[Loop]:
    one = Loop()
    yield one
    one.close()


def until(loop: Loop, predicate) -> None:
    assert loop.run_until(predicate, loop.clock() + PATIENCE_S)


def test_a_dismissed_one_ends_nothing(loop: Loop, bystanders):
    token = secrets.token_hex(16)
    with sleeper({TOKEN: token}) as child:
        reaper = Reaper(loop, token)
        reaper.start()
        reaper.add(read_process(child.pid).identity)
        pid = reaper.pid
        assert read_process(pid).session == pid
        reaper.dismiss()
        assert (reaper.state, reaper.pid, reaper.error) == (ReaperState.DISMISSED, None, "")
        assert read_process(pid) is None
        assert child.poll() is None


def test_it_is_started_again_once(loop: Loop):
    errors: list[str] = []
    reaper = Reaper(loop, secrets.token_hex(16), on_error=errors.append)
    reaper.start()
    first = reaper.pid
    os.kill(first, signal.SIGKILL)
    until(loop, lambda: reaper.pid not in (first, None))
    assert errors == []
    os.kill(reaper.pid, signal.SIGKILL)
    until(loop, lambda: reaper.state is ReaperState.LOST)
    assert errors == [reaper.error]
    assert reaper.error.startswith("no watchdog: it ended twice, last with signal SIGKILL; if this host is killed")
    reaper.add(Identity(os.getpid(), 1))
    reaper.dismiss()
    assert reaper.pid is None


@linux_only
def test_the_second_one_knows_what_the_first_was_told(tmp_path: Path):
    with Doomed(tmp_path / "run") as host:
        host.hear("all there")
        os.kill(host.watchdog, signal.SIGKILL)
        first = host.watchdog
        while host.watchdog in (first, None):
            host.say("name")
            host.watchdog = int(host.hear("watchdog").replace("None", str(first)))
        host.kill()
        host.watchdog_ends()
        assert host.survivors() == []


def test_one_that_cannot_be_started_costs_a_line(loop: Loop, monkeypatch: pytest.MonkeyPatch):
    errors: list[str] = []
    monkeypatch.setattr(reaper_module.sys, "executable", "/nowhere/python")
    reaper = Reaper(loop, "token", on_error=errors.append)
    reaper.start()
    reaper.add(Identity(1, 1))
    reaper.forget(Identity(1, 1))
    reaper.dismiss()
    assert len(errors) == 1
    assert "cannot start /nowhere/python: no such file" in errors[0]


def test_one_that_does_not_read_holds_nobody_up(loop: Loop):
    reaper = Reaper(loop, "token")
    reaper.start()
    os.kill(reaper.pid, signal.SIGSTOP)
    for number in range(100_000):
        reaper.add(Identity(number, number))
    assert reaper.state is ReaperState.LOST
    assert "it does not read what it is told" in reaper.error
    reaper.dismiss()


def test_its_environment_has_neither_a_token_nor_keys(loop: Loop, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(TOKEN, "of the host of this host")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    reaper = Reaper(loop, "token")
    reaper.start()
    if sys.platform == "linux":
        environment = Path(f"/proc/{reaper.pid}/environ").read_bytes()
        assert b"secret" not in environment
        assert TOKEN.encode() not in environment
    reaper.dismiss()


# --- who belongs to a host ----------------------------------------------------------------------------------


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
def test_who_belongs_to_whom(starts, sessions, expected):
    assert related(TABLE, starts, sessions, spared=()).keys() == expected


def test_the_spared_are_never_found():
    assert related(TABLE, [10, 11], [], spared={11}).keys() == {10}


@pytest.mark.parametrize(
    ("found", "expected"), [({10, 11, 12, 13}, {10, 11, 12}), ({31}, set()), ({20}, {19}), ({40}, set())]
)
def test_only_groups_that_are_found_whole_are_killed(found, expected):
    assert groups_of({pid: TABLE.by_pid[pid] for pid in found}, TABLE) == expected


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.booleans()), min_size=1, max_size=60),
    st.lists(st.integers(1, 60), max_size=5),
    st.sets(st.integers(1, 60), max_size=5),
)
def test_all_found_are_linked_to_a_start(rows, starts, spared):
    table = ProcessTable(
        process(i + 1, parent, session, is_zombie=dead) for i, (parent, session, dead) in enumerate(rows)
    )
    found = related(table, starts, [], spared)
    assert not found.keys() & spared
    assert not any(one.is_zombie for one in found.values())
    living_starts = {pid for pid in starts if pid in table.by_pid and not table.by_pid[pid].is_zombie}
    assert found.keys() >= living_starts - spared
    if not set(starts) - spared & table.by_pid.keys():
        assert found == {}


@given(st.sampled_from(list(KillStage)), st.integers(0, 3), st.integers(0, 200), st.floats(0, 20), st.integers(0, 6))
def test_a_hunt_ends_and_never_goes_back(stage, left, late, since, empty_reads):
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
def test_the_environment_decides_not_what_looks_like_it():
    token = "a" * 32
    for env, expected in (
        ({TOKEN: token}, True),
        ({"A": "1", TOKEN: token, "Z": "2"}, True),
        ({TOKEN: token + "b"}, False),
        ({"X" + TOKEN: token}, False),
        ({"X": f"{TOKEN}={token}"}, False),
    ):
        with sleeper(env) as child:
            environment = environment_of(child.pid)
            assert environment
            assert bears_token(environment, token) is expected, env
    assert environment_of(2**22 + 1) == b""


@linux_only
def test_a_group_of_those_that_cannot_be_seen(monkeypatch: pytest.MonkeyPatch):
    """They are there for less time than a look takes; their leader had not been waited for when the host ended."""
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
def test_a_crowd_that_keeps_forking_is_ended():
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


# --- where there is no /proc --------------------------------------------------------------------------------


def test_process_groups_without_proc(bystanders):
    script = "trap '' TERM; sleep 600 & sleep 600 & echo; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True) as leader:
        leader.stdout.readline()
        started = start_time(leader.pid)
        assert abs(started - time.time()) < 60
        others = [Identity(one.pid, start_time(one.pid) - 100) for one in bystanders]
        end_groups([Identity(leader.pid, started), *others], term_s=0.1)
        assert leader.wait() == -signal.SIGKILL
    assert start_time(2**22 + 1) is None
