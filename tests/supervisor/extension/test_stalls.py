"""A worker hangs after timeouts in a row: the evidence is logged, it is ended and restarted."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from supervisor.process.stop_policy import Patience
from supervisor.process.table import read_process
from tests.support.host import LATER, SOON
from tests.support.lives import freeze
from tests.support.profile_targets import needs_py_spy
from tests.support.zot_process import wait_until
from wire import frames

if TYPE_CHECKING:
    from tests.support.host import Host


ON_LINUX = sys.platform == "linux"
PATIENCE = Patience()


# --- what it owes -----------------------------------------------------------------------------------------------


def test_timeouts_in_a_row_end_the_worker(host: Host):
    host.add("never_answers", restart=SOON, stall_after=2, timeouts={"tool_call": 0.1, "intercept": 0.1})
    host.start()
    first = host.extension("never_answers").pid
    assert host.call("hang").reason == "no answer within 0.1 s"
    assert host.extension("never_answers").state is WorkerState.READY
    assert host.ask().missing[0].reason == "no answer within 0.1 s"
    assert host.extension("never_answers").state is WorkerState.BACKOFF
    host.until(lambda: host.is_restarted("never_answers"))
    assert host.extension("never_answers").pid != first
    notices = [said for said in host.said_of("never_answers") if said[0] not in ("warning", "no_verdict")]
    log = host.extension("never_answers").log.path
    assert notices[0][0] == "exited"
    assert re.fullmatch(
        "it hangs: 2 requests in a row without an answer in time; restarting it in 0.0 s " + re.escape(f"(log: {log})"),
        notices[0][1],
    )
    assert notices[1:] == [("restarted", "ready again, restart 1")]


def test_an_answer_ends_the_row_of_timeouts(host: Host):
    host.add("answers_late", stall_after=2, timeouts={"tool_call": 0.1})
    host.start()
    for _ in range(3):
        assert host.call("late").failure is Failure.TIMEOUT
        assert host.call("late").frame is not None
    assert host.extension("answers_late").state is WorkerState.READY


def test_a_new_worker_begins_without_timeouts(host: Host):
    host.add("never_answers", restart=SOON, stall_after=2, timeouts={"tool_call": 0.05})
    host.start()
    for restarts in range(1, 3):
        for _ in range(2):
            host.call("hang")
        assert host.extension("never_answers").state is WorkerState.BACKOFF
        host.until(lambda restarts=restarts: host.is_restarted("never_answers", restarts))


def test_pending_calls_of_a_worker_that_hangs_fail_with_the_reason(host: Host):
    host.add("never_answers", restart=LATER, stall_after=1, timeouts={"tool_call": 0.3})
    host.start()
    answers = []
    host.supervisor.begin_intercept(frames.Event("turn_start", step=1), answers.append)
    host.run_for(0.05)
    host.begin_call("hang", b"{}", answers.append)
    host.until(lambda: len(answers) == 2)
    judgement = next(answer for answer in answers if hasattr(answer, "missing"))
    assert judgement.missing[0].reason == "it hangs: 1 request in a row without an answer in time"
    log = host.log("never_answers")
    assert "[zot] hangs: 1 request in a row without an answer in time\n[zot] pending: 1\n" in log


@pytest.mark.skipif(not ON_LINUX, reason="the kernel does not say there what threads do")
def test_the_evidence_is_in_the_log(host: Host):
    code = (
        "import threading\nthreading.Thread(target=signal.pause, daemon=True).start()\n"
        'for n in range(30): print(f"line {n}", file=sys.stderr, flush=True)\n'
        'hello("a")\nsend(type="ready")\nsignal.pause()'
    )
    host.write("stuck", code, restart=LATER, stall_after=1, timeouts={"tool_call": 0.1})
    host.start()
    pid = host.extension("stuck").pid
    wait_until(lambda: states_of_threads(pid) == ["S", "S"])
    host.call("a")
    own = [line for line in host.log("stuck").splitlines() if line.startswith("[zot] ")]
    evidence = own[own.index("[zot] hangs: 1 request in a row without an answer in time") :]
    assert re.fullmatch(rf"\[zot\] pid {pid}, rss \d+\.\d MiB, cpu \d+\.\d\d s, 2 threads", evidence[1])
    threads = [line for line in evidence if line.startswith("[zot] thread ")]
    assert len(threads) == 2
    assert all(re.match(rf"\[zot\] thread \d+ {re.escape(own_name(pid))}: sleeping", line) for line in threads)
    assert f"[zot] thread {pid} " in evidence[2]
    said = [line for line in evidence if "its stderr before that" in line]
    assert said == [f"[zot] its stderr before that: line {n}" for n in range(10, 30)]
    host.until(lambda: not host.extension("stuck").child.is_running)


def states_of_threads(pid: int) -> list[str]:
    """As the kernel has them: `S` is asleep."""
    return [stat.read_text().rpartition(") ")[2][0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")]


def own_name(pid: int) -> str:
    """The kernel's short name for a program such as this one."""
    return (
        Path(os.path.realpath(sys.executable)).name[:15]
        if read_process(pid) is None
        else (Path(f"/proc/{pid}/comm").read_text().strip())
    )


def test_a_worker_stopped_by_a_signal_hangs_and_is_ended(host: Host):
    host.add("echo", restart=SOON, stall_after=1, timeouts={"tool_call": 0.2})
    host.start()
    pid = freeze(host, "echo")
    assert host.call("echo", text="x").failure is Failure.TIMEOUT
    if ON_LINUX:
        assert "stopped by a signal" in host.log("echo")
    host.until(lambda: host.is_restarted("echo"))
    assert read_process(pid) is None
    assert host.text("echo", text="x") == "x"
    assert host.cost("echo").exit_status == "signal SIGKILL"


def test_stop_right_after_a_stall_does_not_wait_for_it(host: Host):
    host.write(
        "stuck",
        'hello("a")\nsend(type="ready")\nsignal.pause()',
        restart=LATER,
        stall_after=1,
        timeouts={"tool_call": 0.1},
    )
    host.start()
    host.call("a")
    assert host.stop() < PATIENCE.ask
    assert host.cost("stuck").exit_status == "signal SIGTERM"


# --- a dump of where it is --------------------------------------------------------------------------------------


def test_a_worker_with_dump_on_stall_writes_where_it_is(host: Host):
    # Long enough for the worker to have read the call.
    host.add("dumps_on_quit", restart=SOON, stall_after=1, timeouts={"tool_call": 1.0}, dump_on_stall=True)
    host.start()
    host.call("hang")
    assert host.extension("dumps_on_quit").state is WorkerState.READY, "it is given the time to write it"
    host.until(lambda: host.is_restarted("dumps_on_quit"))
    log = host.log("dumps_on_quit")
    assert log.index("hangs: 1 request") < log.index("in wait_for_nothing") < log.index("[zot] ended: ")
    assert "its stderr before that: dumps_on_quit: at your service" in log
    assert host.cost("dumps_on_quit").exit_status == "signal SIGTERM"


def test_a_worker_without_dump_on_stall_is_sent_no_sigquit(host: Host):
    host.add("dumps_on_quit", restart=LATER, stall_after=1, timeouts={"tool_call": 0.1})
    host.start()
    host.call("hang")
    host.until(lambda: not host.extension("dumps_on_quit").child.is_running)
    assert "wait_for_nothing" not in host.log("dumps_on_quit")


@pytest.mark.parametrize(
    ("handler", "status"),
    [
        ("signal.SIG_DFL", "signal SIGQUIT"),
        ("lambda *_: os._exit(0)", "exit 0"),
        ("lambda *_: os._exit(125)", "exit 125"),
    ],
    ids=["default", "exit 0", "exit 125"],
)
def test_a_worker_that_ends_during_the_dump_has_hung_all_the_same(host: Host, handler: str, status: str):
    code = f'signal.signal(signal.SIGQUIT, {handler})\nhello("a")\nsend(type="ready")\n'
    code += "for _ in frames():\n    while True: signal.pause()"
    host.write("quits", code, restart=SOON, stall_after=1, timeouts={"tool_call": 0.1}, dump_on_stall=True)
    host.start()
    host.call("a")
    host.until(lambda: host.cost("quits").exits)
    assert host.cost("quits").exit_status == status
    notices = [line for kind, line in host.said_of("quits") if kind == "exited"]
    assert len(notices) == 1
    assert notices[0].startswith("it hangs: 1 request in a row without an answer in time; restarting it in ")
    host.until(lambda: host.is_restarted("quits"))


def test_a_user_restart_during_the_dump_is_the_only_one(host: Host):
    host.add("dumps_on_quit", restart=SOON, stall_after=1, timeouts={"tool_call": 0.1}, dump_on_stall=True)
    host.start()
    host.call("hang")
    host.supervisor.restart("dumps_on_quit")
    os.kill(host.extension("dumps_on_quit").pid, signal.SIGKILL)
    host.until(lambda: host.is_restarted("dumps_on_quit"))
    second = host.extension("dumps_on_quit").pid
    host.run_for(0.6)
    assert host.extension("dumps_on_quit").pid == second
    assert host.cost("dumps_on_quit").restarts == 1


def test_stop_during_the_dump(host: Host):
    host.add("dumps_on_quit", restart=SOON, stall_after=1, timeouts={"tool_call": 0.1}, dump_on_stall=True)
    host.start()
    host.call("hang")
    host.stop(at_once=True)
    assert not host.extension("dumps_on_quit").child.is_running


def test_several_timeouts_during_the_dump_are_one_stall(host: Host):
    host.add("dumps_on_quit", restart=SOON, stall_after=1, timeouts={"tool_call": 0.1}, dump_on_stall=True)
    host.start()
    for _ in range(3):
        host.call("hang")
    host.until(lambda: host.is_restarted("dumps_on_quit"))
    assert host.log("dumps_on_quit").count("hangs: ") == 1
    assert host.cost("dumps_on_quit").exits == 1


# --- a profile of it --------------------------------------------------------------------------------------------

HANGS = """
def wait_for_the_moon():
    while True: time.sleep(60)
hello("a")
send(type="ready")
for _ in frames(): wait_for_the_moon()
"""


def profiled(host: Host, **manifest: Any) -> None:
    host.supervisor.stall_profiles.trace = str(host.folder / "runs" / "20261122-100000-7")
    host.write("stuck", HANGS, restart=SOON, stall_after=1, timeouts={"tool_call": 0.5}, **manifest)
    host.start()
    host.call("a")


@needs_py_spy
def test_a_hanging_worker_is_profiled_before_it_is_ended(host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("supervisor.profile.stall_profiles.SECONDS", 1)
    made = []
    host.supervisor.stall_profiles.on_made = lambda extension, file: made.append((extension, Path(file)))
    profiled(host, profile_on_stall=True)
    assert host.extension("stuck").state is WorkerState.READY, "it is given the time"
    host.until(lambda: host.is_restarted("stuck"))
    file = host.folder / "runs" / "20261122-100000-7.stuck.1.profile.json"
    assert made == [("stuck", file)]
    assert "wait_for_the_moon" in file.read_text()
    told = next(text for kind, text in host.said_of("stuck") if text.startswith("hangs: "))
    assert re.search(rf"% in wait_for_the_moon \(.*stuck\.py:\d+\) \(profile: {re.escape(str(file))}\)$", told), told
    log = host.log("stuck")
    assert log.index("hangs: 1 request") < log.index("profile of the hang: ") < log.index("[zot] ended: ")


def test_a_profile_that_cannot_be_made_does_not_keep_a_worker(host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("supervisor.profile.profile_child.PROGRAM", ("/missing/program",))
    host.supervisor.stall_profiles.always = True
    profiled(host)
    host.until(lambda: host.is_restarted("stuck"))
    assert any(text.startswith("no profile of the hang: ") for _, text in host.said_of("stuck"))


def test_a_profiler_that_hangs_is_ended_and_so_is_the_worker(host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("supervisor.profile.profile_child.PROGRAM", ("sh", "-c", "exec sleep 600"))
    monkeypatch.setattr("supervisor.profile.stall_profiles.LATEST_S", 0.2)
    profiled(host, profile_on_stall=True)
    host.until(lambda: host.is_restarted("stuck"))
    assert ("warning", "no profile of the hang: it was not made within 0.2 s") in host.said_of("stuck")


def test_a_host_that_stops_ends_the_profiler(host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("supervisor.profile.profile_child.PROGRAM", ("sh", "-c", "exec sleep 600"))
    profiled(host, profile_on_stall=True)
    (profiler,) = host.supervisor.stall_profiles.stoppables()
    host.stop(at_once=True)
    assert not profiler.child.is_running
    assert host.cost("stuck").exits == 1
