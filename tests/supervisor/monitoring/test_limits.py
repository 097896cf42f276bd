"""Extensions that use more than their limits allow are found, named with their figures, and ended with all children."""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from supervisor.process.stop_policy import Patience
from supervisor.process.table import ProcessTable, read_process
from tests.support import warm_start
from tests.support.host import LATER, SOON, Host
from wire.manifest import Limits
from wire.settings.limit_changes import LimitRules

if TYPE_CHECKING:
    from pathlib import Path


MIB = 1024 * 1024


def said(host: Host, name: str, kind: str) -> list[str]:
    return [line for its, line in host.said_of(name) if its == kind]


def ours() -> set[int]:
    """All processes below this one, without those that all tests share."""
    return set(ProcessTable.read().tree([os.getpid()])) - {os.getpid(), *warm_start.own_children()}


# --- each of them -----------------------------------------------------------------------------------------------


def test_a_memory_hog_is_ended_and_started_again(host: Host):
    host.add("memory_hog", limits={"rss_mb": 60, "breaches": 1}, restart=SOON)
    host.start()
    first = host.extension("memory_hog").pid
    host.text("eat", mb=100)
    host.until(lambda: host.is_restarted("memory_hog"))
    (line,) = said(host, "memory_hog", "limit")
    log = host.extension("memory_hog").log.path
    assert re.fullmatch(
        r"it is over its limits: rss \d\d+ MiB over rss_mb 60, in 1 sample in a row; restarting it in 0\.\d s "
        + re.escape(f"(log: {log})"),
        line,
    )
    assert "[zot] over its limits: rss " in host.log("memory_hog")
    stats = host.supervisor.stats()["memory_hog"]
    assert (stats.limit_breaches, stats.restarts, stats.exit_status) == (1, 1, "signal SIGKILL")
    assert stats.rss_peak_bytes > 60 * MIB
    assert read_process(first) is None
    host.supervisor.sample()
    assert host.supervisor.stats()["memory_hog"].rss_bytes < 60 * MIB


def test_the_memory_of_children_counts(host: Host):
    code = (
        'hello("a")\nsend(type="ready")\nfor frame in frames():\n'
        "    eat = 'import sys; held = b\"m\" * (100 << 20); print(flush=True); sys.stdin.read()'\n"
        '    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", eat], stdin=subprocess.PIPE,'
        " stdout=subprocess.PIPE, start_new_session=True)\n"
        "    child.stdout.readline()\n    result(frame, str(child.pid))"
    )
    host.write("parent", code, limits={"rss_mb": 80, "breaches": 2}, restart=LATER)
    host.start()
    child = int(host.text("a"))
    assert read_process(child).session == child
    host.until(lambda: said(host, "parent", "limit"))
    host.until(lambda: ours() == set())
    assert "over rss_mb 80" in said(host, "parent", "limit")[0]


def test_a_cpu_hog_is_ended(host: Host):
    host.add("cpu_hog", limits={"cpu_percent": 25, "breaches": 2}, restart=LATER)
    host.start()
    host.text("burn")
    host.until(lambda: said(host, "cpu_hog", "limit"))
    assert re.match(
        r"it is over its limits: cpu \d+ % over cpu_percent 25, in 2 samples in a row;",
        said(host, "cpu_hog", "limit")[0],
    )
    host.until(lambda: not host.extension("cpu_hog").child.is_running)
    assert host.cost("cpu_hog").cpu_ms > 50


def test_processor_time_is_of_each_start(host: Host):
    host.add("cpu_hog", limits={"cpu_seconds": 0.2, "breaches": 1}, restart=SOON)
    host.start()
    host.text("burn")
    host.until(lambda: host.is_restarted("cpu_hog"))
    assert re.search(r"cpu \d\.\d s over cpu_seconds 0.2", said(host, "cpu_hog", "limit")[0])
    for _ in range(3):
        host.run_for(0.06)
        host.supervisor.sample()
    assert len(said(host, "cpu_hog", "limit")) == 1
    assert host.extension("cpu_hog").state is WorkerState.READY


def test_a_fork_bomb_is_ended_with_all_that_it_has_started(host: Host):
    host.add("fork_bomb", limits={"processes": 5}, restart=SOON)
    host.start()
    host.text("fork")
    host.until(lambda: host.is_restarted("fork_bomb"))
    assert re.match(
        r"it is over its limits: \d\d processes over processes 5; restarting", said(host, "fork_bomb", "limit")[0]
    )
    assert ours() == {host.extension("fork_bomb").pid}, "nothing of it is left when it is restarted"
    assert host.cost("fork_bomb").processes_peak > 10


def test_a_few_processes_too_many_have_to_be_seen_again(host: Host):
    code = (
        'hello("a")\nsend(type="ready")\nfor frame in frames():\n'
        '    children = [subprocess.Popen(["sleep", "600"]) for _ in range(2)]\n    result(frame, "")'
    )
    host.write("parent", code, limits={"processes": 2}, restart=LATER)
    host.start()
    host.text("a")
    host.until(lambda: said(host, "parent", "limit"))
    assert "3 processes over processes 2, in 3 samples in a row;" in said(host, "parent", "limit")[0]
    host.until(lambda: ours() == set())


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors of others cannot be counted there")
def test_descriptors_of_the_whole_tree_count(host: Host):
    host.add("fd_leak", limits={"open_files": 60, "breaches": 2}, restart=LATER)
    host.start()
    host.text("open", count=80)
    host.until(lambda: said(host, "fd_leak", "limit"))
    count = re.search(r"(\d+) open files over open_files 60", said(host, "fd_leak", "limit")[0])
    assert 80 <= int(count[1]) < 110
    host.until(lambda: ours() == set())


def test_an_extension_that_writes_too_much_is_ended(host: Host):
    host.add("flood_notify", limits={"frames_per_s": 500, "breaches": 2}, restart=LATER)
    host.start()
    host.until(lambda: said(host, "flood_notify", "limit"))
    assert re.search(
        r"\d+ frames/s over frames_per_s 500, in 2 samples in a row", said(host, "flood_notify", "limit")[0]
    )


def test_an_answer_that_is_too_long_fails_its_call_alone(host: Host):
    code = 'hello("a")\nsend(type="ready")\nfor frame in frames(): result(frame, "x" * frame["args"]["count"])'
    host.write("talker", code, limits={"output_bytes": 2048}, restart=LATER)
    host.start()
    assert host.text("a", count=1500) == "x" * 1500
    answer = host.call("a", count=3000)
    assert answer.failure is Failure.BAD_ANSWER
    assert re.fullmatch(r"a tool_result frame of 30\d\d bytes is over the limit of 2048 bytes; dropped", answer.reason)
    assert host.text("a", count=10) == "x" * 10
    assert host.extension("talker").state is WorkerState.READY


def test_the_log_keeps_to_its_limit(host: Host):
    host.add("stderr_flood", limits={"log_mb": 0.2})
    host.start()
    host.stop()
    files = list((host.folder / "logs").glob("ext-stderr_flood.log*"))
    size = sum(path.stat().st_size for path in files)
    assert 0.1 * MIB < size <= 0.2 * MIB + 4096


def test_a_daemon_that_left_the_tree_counts(host: Host, tmp_path: Path):
    host.add("daemon_grandchild", tmp_path / "pid", limits={"processes": 1, "breaches": 1}, restart=LATER)
    host.start()
    host.until(lambda: said(host, "daemon_grandchild", "limit"))
    assert "2 processes over processes 1" in said(host, "daemon_grandchild", "limit")[0]
    host.until(lambda: ours() == set())


def test_an_extension_within_its_limits_is_left_alone(host: Host):
    limits = {"rss_mb": 500, "cpu_percent": 99, "cpu_seconds": 60, "processes": 1, "open_files": 50}
    host.add("echo", limits={**limits, "frames_per_s": 1e6, "breaches": 1})
    host.start()
    for _ in range(5):
        host.text("echo", text="x")
        host.run_for(0.06)
        host.supervisor.sample()
    assert host.said_of("echo") == []
    assert host.supervisor.stats()["echo"].limit_breaches == 0


# --- what becomes of it -----------------------------------------------------------------------------------------


def test_an_extension_whose_limits_say_stop_is_not_started_again(host: Host):
    host.add(
        "memory_hog", limits={"rss_mb": 60, "breaches": 1, "action": "stop"}, restart={**SOON, "policy": "permanent"}
    )
    host.start()
    host.text("eat", mb=100)
    host.until(lambda: host.extension("memory_hog").state is WorkerState.FAILED)
    host.run_for(0.2)
    extension = host.extension("memory_hog")
    assert extension.state is WorkerState.FAILED
    assert re.fullmatch(r"it is over its limits: rss \d+ MiB over rss_mb 60, in 1 sample in a row", extension.failure)
    assert host.call_of("memory_hog", "eat").reason == extension.failure
    (line,) = said(host, "memory_hog", "limit")
    assert line == f"{extension.failure}; not restarted: its limits say stop (log: {extension.log.path})"
    assert ours() == set()


def test_an_extension_that_breaks_its_limits_again_and_again_is_given_up(host: Host):
    host.add("memory_hog", limits={"rss_mb": 1, "breaches": 1}, restart={**SOON, "max": 2})
    host.launch()
    host.until(lambda: host.extension("memory_hog").state is WorkerState.FAILED)
    ((_, line),) = [notice for notice in host.said_of("memory_hog") if notice[0] == "failed"]
    assert re.match(
        r"2 exits in \d s, last it is over its limits: rss \d+ MiB over rss_mb 1, in 1 sample in a row; given up: ",
        line,
    )


def test_a_call_under_way_fails_with_the_figures(host: Host):
    code = 'hello("a")\nsend(type="ready")\nfor frame in frames(): held = b"m" * (100 << 20)'
    host.write("hog", code, limits={"rss_mb": 60, "breaches": 1}, restart=LATER)
    host.start()
    answer = host.call("a")
    assert answer.failure is Failure.DIED
    assert answer.reason.startswith("it is over its limits: rss ")


def test_a_stopped_process_over_its_limits_is_killed_at_once(host: Host):
    code = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nheld = b'm' * (100 << 20)\nhello()\nsend(type='ready')\n"
        "os.kill(os.getpid(), signal.SIGSTOP)"
    )
    host.write("frozen", code, limits={"rss_mb": 60, "breaches": 1}, restart=LATER)
    host.launch()
    host.until(lambda: said(host, "frozen", "limit"))
    for worker in host.extension("frozen").all_workers:
        worker.patience = Patience(ask=600, term=600)  # no SIGTERM is tried first
    host.until(lambda: not host.extension("frozen").child.is_running)


def test_in_a_pool_only_the_hog_is_ended(host: Host):
    host.add("memory_hog", workers=2, limits={"rss_mb": 60, "breaches": 1}, restart=SOON)
    host.start()
    extension = host.extension("memory_hog")
    host.until(lambda: all(worker.state is WorkerState.READY for worker in extension.workers))
    pids = [worker.pid for worker in extension.workers]
    host.text("eat", mb=100)
    host.until(lambda: host.cost("memory_hog").restarts == 1)
    assert sum(worker.pid in pids for worker in extension.workers) == 1


# --- when it is looked at an awkward moment ---------------------------------------------------------------------


def test_a_worker_that_has_just_ended_breaks_no_limit(host: Host):
    host.add("memory_hog", limits={"rss_mb": 60, "cpu_seconds": 0.001, "breaches": 100}, restart=LATER)
    host.start()
    pid = host.extension("memory_hog").pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    row = host.extension("memory_hog").lead.usage.row
    run = host.extension("memory_hog").lead
    host.supervisor.sample()
    assert run.usage.row in (0, row)
    assert run.usage.processes == 0
    host.until(lambda: said(host, "memory_hog", "exited"))
    assert said(host, "memory_hog", "limit") == []


def test_a_worker_over_its_limits_that_ends_itself_ends_once(host: Host):
    host.add("fork_bomb", limits={"processes": 5, "breaches": 1}, restart=LATER)
    host.start()
    pid = host.extension("fork_bomb").pid
    host.text("fork")
    while len(ours()) < 12:
        pass  # the host is not running: it has seen nothing of this
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    host.supervisor.sample()  # the rest of the bomb is there, its leader is not
    host.until(lambda: ours() == set())
    host.run_for(0.05)
    assert host.cost("fork_bomb").exits == 1
    assert len([line for kind, line in host.said_of("fork_bomb") if kind in ("limit", "exited")]) == 1


@pytest.mark.parametrize("how", ["user", "limit"])
def test_a_worker_that_is_being_ended_is_not_blamed_again(host: Host, how: str):
    code = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nheld = b'm' * (100 << 20)\n"
        "hello('a')\nsend(type='ready')\nwhile True: signal.pause()"
    )
    limits: dict[str, Any] = {"rss_mb": 60, "breaches": 100}
    host.write("hog", code, limits=limits, restart=LATER)
    host.start()
    extension = host.extension("hog")
    if how == "user":
        host.supervisor.restart("hog")
    else:
        extension.generations[0].over_limit(extension.lead, "rss")
    assert extension.child.is_running
    before = host.supervisor.stats()["hog"].limit_breaches
    for _ in range(3):
        extension.generations[0].over_limit(extension.lead, "rss")
    assert host.supervisor.stats()["hog"].limit_breaches == before
    assert host.log("hog").count("over its limits") == before
    host.stop(at_once=True)


def test_samples_without_pause_are_no_breaches_in_a_row(host: Host):
    """A figure that was measured once counts once."""
    host.add("cpu_hog", limits={"cpu_percent": 25, "breaches": 4}, restart=LATER)
    host.start()
    host.text("burn")
    host.until(lambda: host.extension("cpu_hog").lead.usage.row >= 1)
    row = host.extension("cpu_hog").lead.usage.row
    host.supervisor.sample()
    host.supervisor.sample()
    host.supervisor.sample()
    assert host.extension("cpu_hog").lead.usage.row <= row + 1
    assert said(host, "cpu_hog", "limit") == []
    host.stop(at_once=True)


# --- where limits come from -------------------------------------------------------------------------------------


def test_defaults_hold_where_the_manifest_says_nothing(tmp_path: Path):
    with Host(tmp_path, limits=LimitRules(Limits(rss_mb=60, breaches=1, action="stop"))) as host:
        host.add("memory_hog", name="bound")
        host.add("memory_hog", name="free", limits={"rss_mb": 1000})
        host.start()
        host.call_of("bound", "eat", mb=100)
        host.call_of("free", "eat", mb=100)
        host.until(lambda: said(host, "bound", "limit"))
        assert host.extension("bound").state is WorkerState.FAILED
        host.run_for(0.3)
        assert host.extension("free").state is WorkerState.READY
        assert said(host, "free", "limit") == []
