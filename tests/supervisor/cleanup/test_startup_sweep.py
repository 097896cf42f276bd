"""The next start ends the leftovers of a host that was killed together with its reaper, and nothing else."""

from __future__ import annotations

import errno
import json
import os
import secrets
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from supervisor.cleanup import host_record
from supervisor.cleanup.env_marks import TOKEN
from supervisor.cleanup.host_record import (
    EXPIRY_S,
    HostRecord,
    HostStatus,
    PidSpace,
    decide_status,
    host_status,
    own_pid_space,
    records_in,
)
from supervisor.cleanup.startup_sweep import StartupSweep, SweptHost
from supervisor.loop.loop import Loop
from supervisor.process.table import read_process
from tests.support.killed_host import KilledHost, collect_orphans, sleeper
from tests.support.patience import PATIENCE_S
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

GONE = 2**22 + 1
"""No process has this pid."""
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="found by /proc and a subreaper")


@pytest.fixture(autouse=True)
def orphans_are_collected() -> Iterator[None]:
    yield
    collect_orphans()


def record(**fields: object) -> HostRecord:
    """Of a host that was killed."""
    own = HostRecord.of_this_process(secrets.token_hex(16), "0")
    return msgspec.structs.replace(own, **({"pid": GONE} | fields))


def sweep_leftovers(folder: Path) -> list[SweptHost]:
    """Sweeps as a host does when it starts, and closes when all is done, or after three seconds."""
    swept: list[SweptHost] = []
    loop = Loop()
    sweep = StartupSweep(loop, folder, swept.append)
    try:
        sweep.start()
        loop.run_until(lambda: sweep.is_over, loop.clock() + PATIENCE_S)
        sweep.close()
    finally:
        loop.close()
    return swept


def test_a_record_is_private_and_complete(tmp_path: Path):
    own = HostRecord.of_this_process("a" * 32, "1.2", Path("/sys/fs/cgroup/zot-1"))
    path = own.write(tmp_path)
    own.write(tmp_path)
    assert path == tmp_path / f"{os.getpid()}.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert records_in(tmp_path) == [own]
    assert host_status(own) is HostStatus.LIVING
    assert os.listdir(tmp_path) == [path.name]
    msgspec.structs.replace(own, token="b" * 32).remove(tmp_path)
    assert path.exists(), "it was another host's"
    own.remove(tmp_path)
    own.remove(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path):
    own = HostRecord.of_this_process("a" * 32, "1.2")
    tmp_path.chmod(0o500)
    if os.access(tmp_path, os.W_OK):
        pytest.skip("root may write everywhere")
    with pytest.raises(OSError, match="denied"):
        own.write(tmp_path)
    tmp_path.chmod(0o700)


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path):
    own = HostRecord.of_this_process("a" * 32, "1.2")
    with pytest.raises(FileNotFoundError):
        own.write(tmp_path / "missing")
    own.remove(tmp_path / "missing")
    (tmp_path / "file").touch()
    for folder in (tmp_path / "missing", tmp_path / "file"):
        assert records_in(folder) == []
        assert sweep_leftovers(folder) == []


HERE = PidSpace("boot", "pid:[1]", "node")


@pytest.mark.parametrize(
    ("where", "lives", "expected"),
    [
        (HERE, True, HostStatus.LIVING),
        (HERE, False, HostStatus.DEAD),
        (HERE._replace(boot="other"), True, HostStatus.OF_ANOTHER_BOOT),
        (HERE._replace(boot="other", namespace="pid:[2]"), False, HostStatus.OF_ANOTHER_BOOT),
        (HERE._replace(namespace="pid:[2]"), False, HostStatus.FOREIGN),
        (HERE._replace(boot="other", node="there"), False, HostStatus.FOREIGN),
    ],
)
def test_what_became_of_a_host(where: PidSpace, lives: bool, expected: HostStatus):
    assert decide_status(HostRecord(1, 1, *HERE, "a" * 32, "0"), where, lives=lives) is expected


# --- sweeping -----------------------------------------------------------------------------------------------


@linux_only
def test_leftovers_of_a_host_and_its_reaper_are_ended(tmp_path: Path):
    with sleeper({TOKEN: secrets.token_hex(16)}) as bystander, KilledHost(tmp_path) as host:
        host.hear("all there")
        (tmp_path / f"{host.process.pid}.sock").touch()
        host.process.send_signal(signal.SIGSTOP)  # so that it does not start another
        os.kill(host.reaper, signal.SIGKILL)
        host.kill()
        collect_orphans()
        assert host.survivors() != []
        (swept,) = sweep_leftovers(tmp_path)
        assert swept.pid == host.process.pid
        assert swept.ended >= len(host.survivors())
        assert swept.left == 0
        assert swept.line == f"ended {swept.ended} processes that a host (pid {swept.pid}), which was killed, had left"
        assert host.survivors() == []
        assert os.listdir(tmp_path) == []
        assert bystander.poll() is None
    assert sweep_leftovers(tmp_path) == []


@linux_only
def test_a_living_host_is_left_alone(tmp_path: Path):
    with KilledHost(tmp_path, "plain") as host:
        host.hear("all there")
        assert sweep_leftovers(tmp_path) == []
        assert os.listdir(tmp_path) == [f"{host.process.pid}.json"]
        assert len(wait_until(host.survivors)) == 1, "which shows no command line while it becomes a sleep"


@linux_only
def test_a_host_whose_pid_belongs_to_another_by_now_is_dead(tmp_path: Path):
    with sleeper() as other:
        found = read_process(other.pid).identity
        dead = record(pid=other.pid, started=found.started - 1)
        dead.write(tmp_path)
        (tmp_path / f"{other.pid}.sock").touch()
        with sleeper({TOKEN: dead.token}) as left:
            assert sweep_leftovers(tmp_path) == [SweptHost(other.pid, 1)]
            assert left.wait() == -signal.SIGTERM
        assert other.poll() is None
    assert os.listdir(tmp_path) == [f"{other.pid}.sock"], "it may be the other's"


def test_a_zombie_is_a_dead_host(tmp_path: Path):
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        dead = record(pid=child.pid, started=read_process(child.pid).identity.started)
        assert host_status(dead) is HostStatus.DEAD


@linux_only
def test_a_stubborn_leftover_is_killed(tmp_path: Path):
    dead = record()
    dead.write(tmp_path)
    with sleeper({TOKEN: dead.token}, stubborn=True) as left:
        assert sweep_leftovers(tmp_path) == [SweptHost(GONE, 1)]
        assert left.wait() == -signal.SIGKILL
    assert os.listdir(tmp_path) == []


def test_the_processes_that_started_the_host_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    dead = record()
    dead.write(tmp_path)
    monkeypatch.setenv(TOKEN, dead.token)
    with sleeper() as shell:
        assert sweep_leftovers(tmp_path) == []
        assert shell.poll() is None


def test_a_dead_host_without_leftovers_is_not_reported(tmp_path: Path):
    record().write(tmp_path)
    (tmp_path / f"{GONE}.sock").touch()
    (swept,) = sweep_leftovers(tmp_path)
    assert swept.line == ""
    assert os.listdir(tmp_path) == []


def test_records_of_other_boots_and_places(tmp_path: Path):
    record(boot="before").write(tmp_path)
    foreign = record(pid=GONE + 1, namespace="pid:[7]")
    old = record(pid=GONE + 2, namespace="pid:[7]")
    foreign.write(tmp_path)
    past = old.write(tmp_path).stat().st_mtime - EXPIRY_S - 1
    os.utime(old.path(tmp_path), (past, past))
    assert sweep_leftovers(tmp_path) == []
    assert records_in(tmp_path) == [foreign]


GARBAGE = {
    "empty": b"",
    "text": b"\xff\x00 nonsense",
    "deep": b"[" * 100_000,
    "list": b"[1, 2]",
    "no token": json.dumps({"pid": GONE}).encode(),
    "wrong types": json.dumps({"pid": "x", "token": 7}).encode(),
}


@pytest.mark.parametrize("text", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_removed_unless_a_process_has_its_pid(tmp_path: Path, text: bytes):
    (tmp_path / f"{GONE}.json").write_bytes(text)
    (tmp_path / f"{os.getpid()}.json").write_bytes(text)
    assert records_in(tmp_path) == []
    assert sweep_leftovers(tmp_path) == []
    assert os.listdir(tmp_path) == [f"{os.getpid()}.json"]


@pytest.mark.parametrize(
    "fields", [{"token": ""}, {"token": "a"}, {"token": "x" * 20 + "\0"}, {"pid": -1}, {"pid": GONE + 1}], ids=str
)
def test_a_record_that_cannot_be_of_this_host_ends_nothing(tmp_path: Path, fields):
    with sleeper({TOKEN: fields.get("token", "").replace("\0", "")}) as other:
        (tmp_path / f"{GONE}.json").write_bytes(msgspec.json.encode(record(**fields)))
        assert sweep_leftovers(tmp_path) == []
        assert other.poll() is None


def test_a_file_that_is_no_record_is_not_touched(tmp_path: Path):
    dead = record()
    outside = dead.write(tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / f"{GONE}.json").symlink_to(outside)
    (folder / f"{GONE + 1}.json").mkdir()
    os.mkfifo(folder / f"{GONE + 2}.json")
    (folder / "notes.json").write_text("{}")
    before = sorted(os.listdir(folder))
    assert records_in(folder) == []
    assert sweep_leftovers(folder) == []
    assert sorted(os.listdir(folder)) == before
    assert outside.exists()


def test_another_users_record_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    dead = record()
    dead.write(tmp_path)
    monkeypatch.setattr(host_record.os, "geteuid", lambda: os.getuid() + 1)
    assert records_in(tmp_path) == []
    assert sweep_leftovers(tmp_path) == []
    assert dead.path(tmp_path).exists()


def test_a_cgroup_that_is_not_a_hosts_own_is_not_touched(tmp_path: Path):
    with sleeper() as other:
        cgroup = tmp_path / "of-another"
        leaf = cgroup / "leaf"
        leaf.mkdir(parents=True)
        for folder in (cgroup, leaf):
            (folder / "cgroup.procs").write_text(f"{other.pid}\n")
        record(cgroup=str(cgroup)).write(tmp_path)
        assert [one.ended for one in sweep_leftovers(tmp_path)] == [0]
        assert other.poll() is None


@linux_only
def test_a_process_in_the_cgroup_of_a_dead_host_needs_no_token(tmp_path: Path):
    with sleeper() as left, sleeper() as host_itself:
        cgroup = tmp_path / f"zot-{GONE}"
        for name, pid in (("leaf-1", left.pid), ("host", host_itself.pid)):
            (cgroup / name).mkdir(parents=True)
            (cgroup / name / "cgroup.procs").write_text(f"{pid}\n")
        (cgroup / "cgroup.procs").write_text("")
        record(cgroup=str(cgroup)).write(tmp_path)
        # The file goes on naming it, as the kernel's would not; so it is not looked for again.
        loop = Loop()
        sweep = StartupSweep(loop, tmp_path, lambda _: None)
        sweep.start()
        assert loop.run_until(lambda: left.poll() is not None, loop.clock() + PATIENCE_S)
        sweep.close()
        loop.close()
        assert left.wait() == -signal.SIGTERM
        assert host_itself.poll() is None


def test_two_at_the_same_time(tmp_path: Path):
    dead = [record(pid=GONE + i) for i in range(5)]
    for one in dead:
        one.write(tmp_path)
    with sleeper({TOKEN: dead[0].token}), ThreadPoolExecutor(4) as threads:
        results = list(threads.map(sweep_leftovers, [tmp_path] * 4))
    swept = [one for result in results for one in result]
    assert sorted(one.pid for one in swept) == [one.pid for one in dead], "each by one of them"
    if sys.platform == "linux":
        assert sum(one.ended for one in swept) == 1
    assert os.listdir(tmp_path) == []


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def flock(_fd: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(host_record.fcntl, "flock", flock)
    record().write(tmp_path)
    assert len(sweep_leftovers(tmp_path)) == 1
    assert os.listdir(tmp_path) == []


def test_unfinished_records_of_the_dead_are_removed(tmp_path: Path):
    for pid in (GONE, os.getpid()):
        (tmp_path / f".{pid}.json.new").write_text("{")
    assert sweep_leftovers(tmp_path) == []
    assert os.listdir(tmp_path) == [f".{os.getpid()}.json.new"]


@linux_only
def test_a_host_that_ends_early_kills_what_it_was_about_to_ask(tmp_path: Path):
    dead = record()
    dead.write(tmp_path)
    loop = Loop()
    swept: list[SweptHost] = []
    with sleeper({TOKEN: dead.token}, stubborn=True) as left:
        sweep = StartupSweep(loop, tmp_path, swept.append)
        sweep.start()
        sweep.close()
        assert left.wait() == -signal.SIGKILL
    loop.close()
    assert dead.path(tmp_path).exists(), "the next start sees to it that it is gone"
    assert swept == []
    assert sweep_leftovers(tmp_path) == [SweptHost(GONE, 0)]


def test_a_new_host_with_the_same_pid_keeps_its_record(tmp_path: Path):
    dead = record()
    dead.write(tmp_path)
    loop = Loop()
    swept: list[SweptHost] = []
    sweep = StartupSweep(loop, tmp_path, swept.append)
    sweep.start()
    newer = record()
    newer.write(tmp_path)
    assert loop.run_until(lambda: sweep.is_over, loop.clock() + PATIENCE_S)
    loop.close()
    assert records_in(tmp_path) == [newer]
    assert len(swept) == 1


def test_where_we_are_is_known():
    assert all(own_pid_space()) or sys.platform != "linux"
