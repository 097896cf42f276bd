"""Stopping takes no longer for many than for one, leaves nothing behind, and cannot be refused."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.process.cgroup_survey import Unavailable, survey
from supervisor.process.stop_policy import Patience, StopStage
from supervisor.process.table import ProcessTable, read_process
from supervisor.process.teardown import Teardown, stop_all
from tests.support.host import Host
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path


PATIENCE = Patience()
STUBBORN_S = PATIENCE.ask + PATIENCE.term


def is_gone(pid: int) -> bool:
    return read_process(pid) is None


def test_polite_extensions_end_at_once(host: Host):
    for number in range(5):
        host.add("echo", name=f"echo{number}")
    host.start()
    pids = [extension.pid for extension in host.supervisor.extensions]
    host.stop()
    assert all(map(is_gone, pids))
    assert {extension.state for extension in host.supervisor.extensions} == {WorkerState.EXITED}
    assert {cost.exit_status for cost in host.supervisor.costs().values()} == {"exit 0"}
    assert [notice for notice in host.notices if notice[1] != "started"] == []


@pytest.fixture
def tables(host: Host, monkeypatch: pytest.MonkeyPatch) -> list[ProcessTable]:
    """The process tables that are read from now on."""
    found: list[ProcessTable] = []
    read = ProcessTable.read
    monkeypatch.setattr(ProcessTable, "read", lambda: found.append(read()) or found[-1])
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel lists no children")
def test_what_ends_by_itself_is_not_looked_for_in_the_process_table(host: Host, tables: list[ProcessTable]):
    """The kernel's lists of children show that nothing is left, as soon as the last child has ended. The clock stands
    still, so that on a busy machine, too, the child ends before the host looks again."""
    host.add("echo")
    host.start()
    tables.clear()
    now = host.loop.clock()
    host.loop.clock = lambda: now
    host.stop()
    assert tables == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel lists no children")
def test_a_worker_with_a_helper_is_looked_for_in_the_process_table(host: Host, tables: list[ProcessTable]):
    code = 'helper = subprocess.Popen(["cat"], stdin=-1)\nhello()\nsend(type="ready")\nfor _ in frames(): pass\n'
    host.write("polite", code + "helper.stdin.close(); helper.wait()")
    host.start()
    tables.clear()
    host.stop()
    assert tables


def test_extensions_that_know_only_end_of_file_end_soon(host: Host):
    code = 'hello()\nsend(type="ready")\nwhile os.read(0, 65536): pass'
    host.write("eof", code)
    host.start()
    assert 0.15 < host.stop() < 2
    assert host.cost("eof").exit_status == "exit 0"


def test_an_ack_is_believed_and_stdin_stays_open(host: Host):
    code = (
        'hello()\nsend(type="ready")\nfor _ in frames(): pass\n'
        "ended = bool(select.select([0], [], [], 0.5)[0])\nsys.exit(5 if ended else 0)"
    )
    host.write("slow_goodbye", code)
    host.start()
    host.stop()
    assert host.cost("slow_goodbye").exit_status == "exit 0"


def test_twenty_stubborn_extensions_take_as_long_as_one(host: Host):
    for number in range(20):
        host.add("ignores_shutdown", name=f"stubborn{number}")
    host.start()
    seconds = host.stop()
    assert STUBBORN_S - 0.1 < seconds < 10 * STUBBORN_S
    assert {cost.exit_status for cost in host.supervisor.costs().values()} == {"signal SIGKILL"}


@pytest.mark.parametrize("limits", [{}, {"processes": 50}], ids=["without leaves", "with leaves"])
@pytest.mark.parametrize("child", ["grandchild", "daemon_grandchild"])
def test_what_an_extension_leaves_behind_is_ended(tmp_path: Path, child: str, limits: dict[str, int]):
    if limits and isinstance(place := survey(), Unavailable):
        pytest.skip(place.reason)
    with Host(tmp_path, runtime_folder=tmp_path / "run") as host:
        host.add(child, tmp_path / "pid", limits=limits)
        host.start()
        pid = int((tmp_path / "pid").read_text())
        assert not is_gone(pid)
        assert host.text("echo", text="x") == "x"
        host.stop()
        assert is_gone(pid)
        assert host.cost(child).exit_status == "exit 0"
        if child == "grandchild":
            assert host.cost(child).processes_peak == 2


def test_grandchildren_of_an_extension_that_died_long_ago_are_ended(host: Host, tmp_path: Path):
    code = (
        "hello()\n"
        'a = subprocess.Popen(["sleep", "600"])\n'
        'b = subprocess.Popen(["sleep", "600"], start_new_session=True)\n'
        f'open({str(tmp_path / "pids")!r}, "w").write(f"{{a.pid}} {{b.pid}}")\nos._exit(1)'
    )
    host.write("gone", code)
    host.start()
    pids = list(map(int, (tmp_path / "pids").read_text().split()))
    assert not any(map(is_gone, pids))
    host.stop()
    assert all(map(is_gone, pids))


@pytest.mark.slow
def test_children_that_keep_coming_are_ended(host: Host):
    code = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nhello()\nsend(type='ready')\n"
        "for _ in range(50):\n    if os.fork() == 0:\n        os.setpgid(0, 0)\n        signal.pause()\n"
        "while True:\n    time.sleep(0.01)\n    if os.fork() == 0: time.sleep(0.05); os._exit(0)\n"
        "    try:\n        while os.waitpid(-1, os.WNOHANG)[0]: pass\n    except ChildProcessError: pass"
    )
    host.write("many", code)
    host.start()
    host.until(lambda: host.supervisor.sample() or host.cost("many").processes_peak > 50)
    assert host.stop() < 10 * STUBBORN_S


def test_a_stopped_process_is_ended(host: Host):
    host.write(
        "frozen", 'hello("a")\nsend(type="ready")\nos.kill(os.getpid(), signal.SIGSTOP)', timeouts={"tool_call": 0.2}
    )
    host.start()
    assert host.call("a").reason == "no answer within 0.2 s"
    host.stop()
    assert host.extension("frozen").state is WorkerState.EXITED


def test_at_once_kills_without_asking(host: Host):
    for number in range(5):
        host.add("ignores_shutdown", name=f"stubborn{number}")
    host.add("echo")
    host.start()
    host.stop(at_once=True)
    assert {cost.exit_status for cost in host.supervisor.costs().values()} == {"signal SIGKILL"}


def test_kill_now_fails_pending_calls(host: Host):
    host.add("ignores_shutdown")
    host.add("never_answers", timeouts={"tool_call": 60})
    host.start()
    host.loop.call_later(0.1, host.supervisor.kill_now)
    answer = host.call("hang")
    assert answer.reason == "it ended (signal SIGKILL)"
    host.until(lambda: not any(extension.child.is_running for extension in host.supervisor.extensions))


def test_a_child_is_not_given_up_because_the_host_was_stopped_for_a_while(host: Host):
    host.add("echo")
    host.start()
    worker = host.extension("echo").lead
    clock, paused = host.loop.clock, [0.0]
    host.loop.clock = lambda: clock() + paused[0]
    teardown = Teardown(host.loop, [worker], first=StopStage.KILLED)
    paused[0] += 10  # between the decision and the signal
    teardown._tick()
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    paused[0] += 10  # between the signal and the pass that will collect the exit
    host.loop.pass_time = host.loop.clock()
    teardown._tick()
    assert worker.child.is_running
    assert not teardown.is_over
    assert host.loop.run_until(teardown.hurry, host.loop.clock() + PATIENCE_S)
    assert teardown.stuck == []


def test_stopping_twice_is_stopping_once(host: Host):
    host.add("echo")
    host.start()
    host.supervisor.stop()
    host.supervisor.stop()
    assert host.cost("echo").exits == 1


def test_an_extension_that_is_still_silent_at_the_stop_is_reported(host: Host):
    host.add("silent")
    host.add("echo")
    host.launch()
    host.until(lambda: host.extension("echo").state is WorkerState.READY)
    assert host.stop() < 2
    ((kind, line),) = host.said_of("silent")
    assert kind == "failed"
    assert line.startswith("said no hello in the 0.")
    assert line.endswith(" s of the run; stopped with it")


def test_a_hello_that_comes_after_the_host_has_asked_to_stop_is_no_second_one(host: Host):
    host.write("slow", "sys.stdin.readline()\nhello()")
    host.launch()
    host.stop()
    assert host.cost("slow").frames_in == 1
    assert "second hello" not in host.extension("slow").log.path.read_text()


def test_it_knows_how_far_it_had_to_go_with_each(host: Host, tmp_path: Path):
    stay = "signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
    host.write(
        "leaves_one",
        f'child = subprocess.Popen([sys.executable, "-ISc", "import signal; {stay}"], stdout=subprocess.PIPE)\n'
        'child.stdout.readline()\nhello()\nsend(type="ready")\nfor _ in frames(): pass',
    )
    host.write("eof", 'hello()\nsend(type="ready")\nwhile os.read(0, 65536): pass')
    host.add("deaf")
    host.add("ignores_shutdown")
    host.start()
    workers = {extension.name: extension.workers[0] for extension in host.supervisor.extensions}
    teardown = Teardown(host.loop, list(workers.values()))
    assert teardown.reached(workers["deaf"]) is StopStage.ASKED
    host.until(teardown.hurry)
    reached = {name: teardown.reached(worker) for name, worker in workers.items()}
    assert reached.pop("leaves_one") in (StopStage.ASKED, StopStage.HINTED), "what it has left was killed, not itself"
    assert reached == {"eof": StopStage.HINTED, "deaf": StopStage.TERMINATED, "ignores_shutdown": StopStage.KILLED}


def test_stop_all_without_extensions_does_nothing(host: Host):
    assert stop_all(host.loop, []) == []


def test_an_embedded_host_leaves_the_other_children_of_its_process_alone(tmp_path: Path):
    with subprocess.Popen(["sleep", "600"]) as other, Host(tmp_path, owns_process=False) as embedded:
        embedded.add("grandchild", tmp_path / "pid")
        embedded.start()
        assert embedded.stop() < 3
        left = read_process(int((tmp_path / "pid").read_text()))
        assert left is None or left.is_zombie  # an orphan that this process adopts is not the host's to collect
        assert other.poll() is None
        other.kill()
