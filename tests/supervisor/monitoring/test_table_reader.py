"""The sampler's cheap reader of the process table finds the same as the plain one, also when pids are reused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from supervisor.monitoring import sampler
from supervisor.monitoring.sampler import STRANGERS_S, TableReader
from supervisor.process.table import ProcessTable, read_process
from tests.support.set_clock import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
LAST_PID = Path("/proc/sys/kernel/ns_last_pid")


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


@pytest.fixture
def reader(clock: Clock) -> Iterator[TableReader]:
    reader = TableReader(clock)
    yield reader
    reader.close()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with sleep() as sleeper:
        yield sleeper
        sleeper.kill()


def sleep(**options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"], start_new_session=True, **options)  # type: ignore[call-overload,no-any-return]


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def open_files_of_the_table() -> int:
    """Descriptors of this process that are open on a file of /proc/PID/stat."""
    found = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            found += os.readlink(f"/proc/self/fd/{name}").endswith("/stat")
        except OSError:
            continue
    return found


def test_it_finds_what_the_plain_table_finds_below_the_host(reader: TableReader, child: subprocess.Popen[bytes]):
    for _ in range(3):
        table = reader.read({child.pid})
        assert set(table.tree([os.getpid()])) == set(ProcessTable.read().tree([os.getpid()]))
        found = table.by_pid[child.pid]
        assert found.identity == read_process(child.pid).identity
        assert (found.parent, found.session) == (os.getpid(), child.pid)


def test_it_sees_them_change(reader: TableReader):
    code = "import sys\nsys.stdin.readline()\nheld = b'm' * (50 << 20)\nprint(flush=True)\nsys.stdin.read()"
    command = [sys.executable, "-I", "-S", "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        reader.read(set())
        before = reader.read(set()).by_pid[process.pid].rss
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        assert reader.read(set()).by_pid[process.pid].rss > before + (40 << 20)
        process.stdin.close()


def test_new_ones_are_found_and_ended_ones_are_gone(reader: TableReader, child: subprocess.Popen[bytes]):
    reader.read({child.pid})
    with sleep() as second:
        assert second.pid in reader.read(set()).by_pid
        second.kill()
    table = reader.read(set())
    assert second.pid not in table.by_pid
    assert child.pid in table.by_pid


def test_a_process_that_has_ended_and_is_not_collected_is_a_zombie(reader: TableReader):
    with sleep() as sleeper:
        reader.read(set())
        sleeper.kill()
        os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
        for _ in range(2):
            table = reader.read(set())
            assert table.by_pid[sleeper.pid].is_zombie
            assert sleeper.pid not in table.tree([os.getpid()])


def test_strangers_are_read_seldom(reader: TableReader, clock: Clock):
    first = reader.read(set())
    assert 1 in first.by_pid, "at first each is looked at"
    assert 1 not in reader.read(set()).by_pid
    clock.now += STRANGERS_S / 2
    assert 1 not in reader.read(set()).by_pid
    clock.now += STRANGERS_S / 2
    assert 1 in reader.read(set()).by_pid


def test_a_strangers_number_is_looked_at_again_in_the_end(
    reader: TableReader, clock: Clock, child: subprocess.Popen[bytes]
):
    reader.read(set())
    reader._strangers.add(child.pid)  # it had the number before
    for pid in list(reader._files):
        if pid == child.pid:
            os.close(reader._files.pop(pid))
    clock.now += STRANGERS_S
    assert child.pid in reader.read(set()).by_pid


def test_members_of_a_session_are_kept_though_their_parent_is_not_ours(reader: TableReader):
    """In a host that is no subreaper the parent may be a stranger; here a session of strangers stands for that."""
    session = os.getsid(1) or read_process(1).session
    members = {
        pid
        for pid, process in ProcessTable.read().by_pid.items()
        if process.session == session and not process.is_zombie
    }
    assert members
    reader.read({session})
    assert members & reader.read({session}).by_pid.keys()


@pytest.mark.skipif(not (LAST_PID.exists() and os.access(LAST_PID, os.W_OK)), reason="pids cannot be chosen here")
def test_a_pid_that_is_reused_is_another_process(reader: TableReader):
    for _ in range(200):
        with sleep() as first:
            before = reader.read(set()).by_pid[first.pid]
            assert first.pid in reader._files
            first.kill()
        try:
            LAST_PID.write_text(str(first.pid - 1))
        except OSError:
            pytest.skip("pids cannot be chosen here")
        with subprocess.Popen(["sleep", "601"]) as second:
            try:
                if second.pid != first.pid:
                    continue  # it has been collected already
                found = reader.read(set()).by_pid[second.pid]
                assert found == read_process(second.pid)._replace(cpu_s=found.cpu_s, rss=found.rss)
                assert (found.session, before.session) == (os.getsid(0), first.pid)
                return
            finally:
                second.kill()
    pytest.skip("the number was never free")


def test_each_of_ours_has_one_descriptor_and_it_is_closed_with_it(reader: TableReader):
    before, plain = open_files_of_the_table(), open_files()
    children = [sleep() for _ in range(5)]
    reader.read(set())
    assert open_files_of_the_table() == before + len(children) + 1, "the host itself is one of them"
    for _ in range(3):
        reader.read(set())
    assert open_files_of_the_table() == before + len(children) + 1
    for child in children:
        child.kill()
        child.wait()
    reader.read(set())
    assert open_files_of_the_table() == before + 1
    reader.close()
    assert open_files() == plain
    reader.close()


def test_it_can_be_used_after_it_was_closed(reader: TableReader, child: subprocess.Popen[bytes]):
    reader.read(set())
    reader.close()
    assert child.pid in reader.read(set()).by_pid


def test_no_more_are_kept_than_are_allowed(reader: TableReader, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler, "KEPT", 2)
    children = [sleep() for _ in range(4)]
    try:
        for _ in range(2):
            table = reader.read(set())
            assert {child.pid for child in children} <= table.by_pid.keys()
            assert len(reader._files) == 2
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_without_a_descriptor_to_read_with_it_says_so_and_gives_up_its_own(
    reader: TableReader, child: subprocess.Popen[bytes]
):
    import resource

    reader.read(set())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            reader.read(set())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert reader._files == {}
    assert child.pid in reader.read(set()).by_pid


def test_elsewhere_the_portable_table_does(reader: TableReader, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler, "ON_LINUX", False)
    assert os.getpid() in reader.read(set()).by_pid
    assert reader._files == {}


def test_signals_and_stops_are_no_ends(reader: TableReader, child: subprocess.Popen[bytes]):
    reader.read(set())
    os.kill(child.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    found = reader.read(set()).by_pid[child.pid]
    assert not found.is_zombie


def test_a_subreaper_with_few_descendants_reads_no_other_process(clock: Clock, child: subprocess.Popen[bytes]) -> None:
    with subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        grandchild = int(shell.stdout.readline())
        reader = TableReader(clock, lambda: True)
        seen = set(reader.read([child.pid]).by_pid)
        reader.close()
        os.kill(grandchild, signal.SIGKILL)
    assert {os.getpid(), child.pid, shell.pid, grandchild} <= seen
    assert os.getppid() not in seen


def test_many_descendants_are_read_with_all_other_processes(
    clock: Clock, child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler, "FEW", 1)
    reader = TableReader(clock, lambda: True)
    seen = set(reader.read([child.pid]).by_pid)
    reader.close()
    assert {os.getpid(), os.getppid(), child.pid} <= seen
