"""The tracker opens, uses and closes all that ends leftovers, and works without any part of it."""

from __future__ import annotations

import os
import resource
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from supervisor.cleanup.env_marks import TOKEN
from supervisor.cleanup.host_record import records_in
from supervisor.cleanup.tracker import ProcessTracker
from supervisor.loop.loop import Loop
from supervisor.process.cgroup_survey import OPT_OUT, Unavailable, survey
from supervisor.process.cgroups import Cgroups
from supervisor.process.child import Child, SpawnError
from supervisor.process.table import Identity, read_process
from tests.supervisor.cleanup.test_startup_sweep import record
from tests.support.fake_cgroups import HOST, FakeCgroups
from tests.support.host import Host
from tests.support.killed_host import collect_orphans, sleeper
from tests.support.patience import PATIENCE_S
from wire.manifest import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HIDDEN = "env -i setsid sh -c 'setsid sleep 600 & echo; exit'; read _"
"""Starts a daemon in a session of its own, with an empty environment and without living parents."""


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    yield
    resource.setrlimit(resource.RLIMIT_CORE, limits)
    collect_orphans()


class Keeper:
    """A tracker on a loop of its own."""

    def __init__(self, folder: Path, *, owns_process: bool = True) -> None:
        self.loop = Loop()
        self.said: list[str] = []
        self.folder = folder / "run"
        self.tracker = ProcessTracker(
            self.loop, "ab" * 16, folder=self.folder, version="0", owns_process=owns_process, say=self.said.append
        )

    def start(self, script: str, **limits: int) -> Child:
        env = dict(os.environ)
        argv, self.leaf = self.tracker.confine("x", ["/bin/sh", "-c", script], Limits(**limits), cwd="/", env=env)
        self.heard: list[bytes] = []
        child = Child(
            self.loop,
            argv,
            cwd="/",
            env=env,
            on_stdout=self.heard.append,
            on_exit=lambda _: self.tracker.collected(child.identity),
        )
        self.tracker.started(child, self.leaf)
        self.until(lambda: self.heard)
        return child

    def until(self, predicate) -> None:
        assert self.loop.run_until(predicate, self.loop.clock() + PATIENCE_S)

    def end(self, child: Child) -> None:
        child.stdin.close()
        self.until(lambda: not child.is_running)


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    keeper = Keeper(tmp_path)
    yield keeper
    keeper.tracker.close()
    keeper.loop.close()


def test_the_tracker_leaves_no_trace(keeper: Keeper):
    tracker = keeper.tracker
    tracker.open()
    tracker.open()
    (reaper,) = keeper.loop.children
    (own,) = records_in(keeper.folder)
    assert own.pid == os.getpid()
    child = keeper.start("echo; read _", open_files=64, processes=50)
    assert resource.prlimit(child.pid, resource.RLIMIT_NOFILE) == (64, 64)
    if keeper.leaf is not None:
        assert own.cgroup == str(keeper.leaf.join_file.parent.parent)
        assert keeper.leaf.pids() == [child.pid]
    keeper.end(child)
    tracker.ended(child.identity)
    if keeper.leaf is not None:
        assert not keeper.leaf.join_file.exists()
    tracker.close()
    tracker.close()
    assert read_process(reaper) is None
    assert list(keeper.folder.iterdir()) == []
    assert own.cgroup is None or not os.path.exists(own.cgroup)
    assert keeper.said == []


def test_the_reaper_is_told_of_a_child_when_the_next_starts_or_in_the_next_pass(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
):
    keeper.tracker.open()
    told: list[Identity] = []
    monkeypatch.setattr(keeper.tracker._reaper, "add", told.append)
    first, second, ended = (
        SimpleNamespace(pid=pid, identity=Identity(pid, 1), is_running=pid < 13) for pid in (11, 12, 13)
    )
    keeper.tracker.started(first)
    assert told == []
    keeper.tracker.started(second)
    assert told == [first.identity]
    keeper.until(lambda: told == [first.identity, second.identity])
    keeper.tracker.started(ended)
    keeper.tracker.started(first)
    keeper.until(lambda: told == [first.identity, second.identity, first.identity])


def test_the_reaper_knows_each_extension_when_the_start_of_all_is_over(tmp_path: Path):
    """Before any pass of the loop: a host that is killed then leaves nothing, whatever a child does to its traces."""
    with Host(tmp_path, runtime_folder=tmp_path / "run") as host:
        for name in ("a", "b"):
            host.add("echo", name=name)
        host.launch()
        known = {identity.pid for identity in host.supervisor._processes.tracker._reaper._known}
        assert known == {host.extension(name).pid for name in ("a", "b")}


def test_memory_kills_are_those_that_the_kernel_counts_in_the_leaf_of_a_child(keeper: Keeper, tmp_path: Path):
    tree = FakeCgroups(tmp_path)
    cgroups = Cgroups.detect(HOST, {}, tree)
    leaf = cgroups.leaf("x", Limits(rss_mb=64))
    child, other = Identity(11, 1), Identity(12, 1)
    keeper.tracker.started(SimpleNamespace(pid=11, identity=child), leaf)
    tree.put(f"{leaf.path}/memory.events", "oom 1\noom_kill 2\n")
    assert (keeper.tracker.memory_kills(child), keeper.tracker.memory_kills(other)) == (2, 0)
    keeper.tracker.ended(child)
    assert keeper.tracker.memory_kills(child) == 0
    assert not tree.exists(leaf.path)


@pytest.mark.parametrize("told", [True, False], ids=["with its child", "at the end"])
def test_a_hidden_process_ends_with_its_cgroup(keeper: Keeper, told: bool):
    if isinstance(place := survey(), Unavailable):
        pytest.skip(place.reason)
    keeper.tracker.open()
    child = keeper.start(HIDDEN, processes=50)
    leaf = keeper.leaf
    keeper.end(child)
    keeper.until(lambda: len(leaf.pids()) == 1)
    (daemon,) = leaf.pids()
    if told:
        keeper.tracker.ended(child.identity)
    keeper.tracker.close()
    left = read_process(daemon)
    assert left is None or left.is_zombie
    assert not leaf.join_file.exists()
    assert not leaf.join_file.parent.parent.exists()


def test_a_host_inside_another_program_changes_nothing_of_it(tmp_path: Path):
    keeper = Keeper(tmp_path, owns_process=False)
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    before = resource.getrlimit(resource.RLIMIT_CORE)
    keeper.tracker.open()
    assert isinstance(keeper.tracker.cgroups, Unavailable)
    child = keeper.start("echo; read _")
    assert keeper.leaf is None
    if hasattr(resource, "prlimit"):
        assert resource.prlimit(child.pid, resource.RLIMIT_CORE) == (0, 0)
    assert resource.getrlimit(resource.RLIMIT_CORE) == before
    keeper.end(child)
    keeper.tracker.close()
    keeper.loop.close()


def test_a_program_that_cannot_be_started_leaves_no_leaf(keeper: Keeper):
    keeper.tracker.open()
    with pytest.raises(SpawnError, match="no such file"):
        keeper.tracker.confine("x", ["/nowhere/x"], Limits(processes=50), cwd="/", env={})
    if isinstance(keeper.tracker.cgroups, Cgroups):
        assert [path.name for path in keeper.tracker.cgroups.real_path.iterdir() if path.is_dir()] == []


def test_without_leaves_and_limits_a_command_stays_as_it_is(keeper: Keeper, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(OPT_OUT, "1")
    keeper.tracker.open()
    argv = ["/nowhere/x", "y"]
    assert keeper.tracker.confine("x", argv, Limits(rss_mb=1), cwd="/", env={}) == (argv, None)


def test_without_a_limit_for_a_leaf_a_command_stays_as_it_is(keeper: Keeper, tmp_path: Path):
    tree = FakeCgroups(tmp_path)
    keeper.tracker.cgroups = cgroups = Cgroups.detect(HOST, {}, tree)
    argv = ["/bin/sh", "y"]
    assert keeper.tracker.confine("x", argv, Limits(cpu_seconds=1), cwd="/", env={}) == (argv, None)
    command, leaf = keeper.tracker.confine("x", argv, Limits(rss_mb=64), cwd="/", env={})
    assert command[-2:] == argv
    assert str(leaf.join_file) in command
    assert set(tree.folders(cgroups.path)) == {"host", "x-1"}
    keeper.tracker.release(leaf)


def test_a_folder_that_cannot_be_used_is_reported_once(tmp_path: Path):
    (tmp_path / "run").touch()
    keeper = Keeper(tmp_path)
    keeper.tracker.open()
    keeper.end(keeper.start("echo; read _"))
    keeper.tracker.close()
    keeper.loop.close()
    (line,) = keeper.said
    assert line.startswith("this host keeps no record, by which its remains could be found if it is killed: cannot ma")


def test_the_leftovers_of_a_dead_host_are_reported(keeper: Keeper):
    keeper.folder.mkdir()
    dead = record(pid=os.getpid(), started=1)  # it had our pid: our record takes the place of its
    dead.write(keeper.folder)
    with sleeper({TOKEN: dead.token}) as left:
        keeper.tracker.open()
        if sys.platform == "linux":
            keeper.until(lambda: keeper.said)
            assert keeper.said == [
                f"ended 1 process that a host (pid {os.getpid()}), which was killed, had left"
            ]  # fmt: skip
            assert left.poll() is not None
        assert [record.token for record in records_in(keeper.folder)] == ["ab" * 16]


def test_a_tracker_that_was_never_opened_can_be_closed(tmp_path: Path):
    keeper = Keeper(tmp_path)
    keeper.tracker.close()
    keeper.loop.close()
    assert not keeper.folder.exists()


def test_a_host_that_ends_in_order_leaves_noted_processes_alone(tmp_path: Path):
    keeper = Keeper(tmp_path)
    with sleeper() as adopted:
        keeper.tracker.open()
        identity = read_process(adopted.pid).identity
        keeper.tracker.adopted(identity)
        keeper.tracker.collected(identity)
        keeper.tracker.adopted(identity)
        keeper.tracker.close()
        assert adopted.poll() is None
    keeper.loop.close()
