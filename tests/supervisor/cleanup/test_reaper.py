"""A host is killed, at any moment: its reaper leaves nothing of what the host had started, and ends nothing else."""

from __future__ import annotations

import os
import random
import secrets
import select
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from supervisor.cleanup import reaper as reaper_module
from supervisor.cleanup.env_marks import TOKEN
from supervisor.cleanup.reaper import Reaper, ReaperState
from supervisor.process.cgroup_survey import Unavailable, survey
from supervisor.process.table import Identity, read_process
from tests.support.killed_host import KilledHost, sleeper
from tests.support.patience import soon

if TYPE_CHECKING:
    from supervisor.loop.loop import Loop

pytestmark = pytest.mark.usefixtures("orphans_are_collected")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="found by /proc and a subreaper")


@pytest.fixture(params=[False, True], ids=["without leaves", "with leaves"])
def leaves(request: pytest.FixtureRequest) -> bool:
    """Whether the children of a host have cgroup leaves."""
    if request.param and isinstance(place := survey(), Unavailable):
        pytest.skip(place.reason)
    return bool(request.param)


@linux_only
@pytest.mark.parametrize(("rounds", "count"), [(1, 2), pytest.param(4, 5, marks=pytest.mark.slow)])
def test_nothing_survives_a_host_killed_at_any_moment(
    tmp_path: Path, bystanders, leaves: bool, rounds: int, count: int
):
    """Several hosts at once: a stubborn process takes one second each time."""
    random.seed()
    for round_ in range(rounds):
        hosts = [KilledHost(tmp_path / f"{round_}-{i}", pause_s=0.01, leaves=leaves) for i in range(count)]
        moments = sorted((random.uniform(0, 0.3), i) for i in range(count))
        began = time.monotonic()
        for moment, i in moments:
            # The moment of the fault, not a wait for anything.
            select.select([], [], [], max(0.0, began + moment - time.monotonic()))
            hosts[i].kill()
        for host in hosts:
            with host:
                host.reaper_ends()
                assert host.survivors() == []
                assert list(host.folder.iterdir()) == [], "the record is removed with them"


@linux_only
def test_all_kinds_of_children_are_ended(tmp_path: Path, bystanders, leaves: bool):
    with KilledHost(tmp_path / "run", leaves=leaves) as host:
        host.hear("all there")
        assert host.survivors() != []
        host.kill()
        host.reaper_ends()
        assert host.survivors() == []


@linux_only
def test_a_daemon_that_left_no_trace_is_found_in_its_cgroup(tmp_path: Path, bystanders):
    """A daemon with an empty environment, whose parents are gone, in a session of its own."""
    if isinstance(place := survey(), Unavailable):
        pytest.skip(place.reason)
    with KilledHost(tmp_path / "run", "hidden,plain,gone", leaves=True) as host:
        host.hear("all there")
        host.kill()
        host.reaper_ends()
        assert host.survivors() == []
        assert not Path(f"{place.path}/zot-{host.process.pid}").exists()


@linux_only
def test_the_reaper_survives_signals_and_the_end_of_the_hosts_group(tmp_path: Path):
    with KilledHost(tmp_path / "run", "plain,stubborn") as host:
        host.hear("all there")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(host.reaper, number)
        os.killpg(host.process.pid, signal.SIGKILL)
        host.process.wait()
        host.reaper_ends()
        assert host.survivors() == []
        assert list(host.folder.iterdir()) == []


@linux_only
def test_the_reaper_sees_the_hosts_end_though_a_fork_holds_its_pipe(tmp_path: Path):
    with KilledHost(tmp_path / "run", "plain") as host:
        host.hear("all there")
        host.say("fork")
        copy = int(host.hear("copy"))
        host.kill()
        host.reaper_ends()
        assert host.survivors() == []
        assert read_process(copy) is not None, "it had not been started as a child"
        os.kill(copy, signal.SIGKILL)


@linux_only
def test_a_process_with_a_reused_pid_is_left_alone(tmp_path: Path, bystanders):
    found = [read_process(process.pid) for process in bystanders]
    with KilledHost(tmp_path / "run", "plain") as host:
        host.hear("all there")
        for process in found:
            host.say("note", process.identity.pid, process.identity.started - 1)
            host.say("other", process.identity.pid, process.identity.started + 1)
            host.say("note", process.identity.pid, process.identity.started)
            host.say("forget", process.identity.pid, process.identity.started)
        host.say("name")
        host.hear("reaper")
        host.kill()
        host.reaper_ends()
        assert host.survivors() == []


@linux_only
def test_a_noted_process_is_ended_without_a_token(tmp_path: Path):
    with sleeper() as adopted, KilledHost(tmp_path / "run", "") as host:
        identity = read_process(adopted.pid).identity
        host.say("other", identity.pid, identity.started)
        host.say("name")
        host.hear("reaper")
        host.kill()
        host.reaper_ends()
        assert adopted.wait() == -signal.SIGTERM


# --- the host's side ------------------------------------------------------------------------------------------


def end(reaper: Reaper) -> None:
    reaper.dismiss()
    reaper.collect()


def test_a_dismissed_reaper_ends_nothing(loop: Loop, bystanders):
    token = secrets.token_hex(16)
    with sleeper({TOKEN: token}) as child:
        reaper = Reaper(loop, token)
        reaper.start()
        reaper.add(read_process(child.pid).identity)
        pid = reaper.pid
        assert read_process(pid).session == pid
        end(reaper)
        assert (reaper.state, reaper.pid, reaper.error) == (ReaperState.DISMISSED, None, "")
        assert read_process(pid) is None
        assert child.poll() is None


def test_a_reaper_that_dies_is_started_again_once(loop: Loop):
    errors: list[str] = []
    reaper = Reaper(loop, secrets.token_hex(16), on_error=errors.append)
    reaper.start()
    first = reaper.pid
    os.kill(first, signal.SIGKILL)
    soon(loop, lambda: reaper.pid not in (first, None))
    assert errors == []
    os.kill(reaper.pid, signal.SIGKILL)
    soon(loop, lambda: reaper.state is ReaperState.LOST)
    assert errors == [reaper.error]
    assert reaper.error.startswith("no reaper: it ended twice, last with signal SIGKILL; if this host is killed")
    reaper.add(Identity(os.getpid(), 1))
    end(reaper)
    assert reaper.pid is None


@linux_only
def test_the_second_reaper_knows_what_the_first_was_told(tmp_path: Path):
    with KilledHost(tmp_path / "run") as host:
        host.hear("all there")
        os.kill(host.reaper, signal.SIGKILL)
        first = host.reaper
        while host.reaper in (first, None):
            host.say("name")
            host.reaper = int(host.hear("reaper").replace("None", str(first)))
        host.kill()
        host.reaper_ends()
        assert host.survivors() == []


def test_a_reaper_that_cannot_be_started_is_reported_once(loop: Loop, monkeypatch: pytest.MonkeyPatch):
    errors: list[str] = []
    monkeypatch.setattr(reaper_module.sys, "executable", "/nowhere/python")
    reaper = Reaper(loop, "token", on_error=errors.append)
    reaper.start()
    reaper.add(Identity(1, 1))
    reaper.forget(Identity(1, 1))
    end(reaper)
    assert len(errors) == 1
    assert "cannot start /nowhere/python: no such file" in errors[0]


def test_a_reaper_that_does_not_read_is_given_up(loop: Loop):
    reaper = Reaper(loop, "token")
    reaper.start()
    os.kill(reaper.pid, signal.SIGSTOP)
    for number in range(100_000):
        reaper.add(Identity(number, number))
    assert reaper.state is ReaperState.LOST
    assert "it does not read what it is told" in reaper.error
    end(reaper)


def test_the_environment_of_the_reaper_has_neither_token_nor_keys(loop: Loop, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(TOKEN, "of the host of this host")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    reaper = Reaper(loop, "token")
    reaper.start()
    if sys.platform == "linux":
        environment = Path(f"/proc/{reaper.pid}/environ").read_bytes()
        assert b"secret" not in environment
        assert TOKEN.encode() not in environment
    end(reaper)
