"""A generation of several workers: each call goes to the least busy, and a crash costs only the calls of its worker."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.calls.guard_chain import UNTOUCHED
from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from supervisor.process.table import ProcessTable
from tests.support.host import LATER, SOON
from tests.support.worker_pool import POOL, add_pool, begin, kill, workers_of
from wire import frames

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host import Host


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


# --- which worker is called -----------------------------------------------------------------------------------


def test_each_call_goes_to_the_least_busy_worker(host: Host, marks: Path):
    add_pool(host, marks, 3)
    for _ in range(6):
        begin(host, "hold")
    assert [len(worker.requests.pending) for worker in workers_of(host)] == [2, 2, 2]
    workers_of(host)[1].requests.cancel_pending("no more")
    answer = json.loads(host.text("who"))
    assert answer["pid"] == workers_of(host)[1].pid


def test_all_workers_are_one_extension_to_the_user(host: Host, marks: Path):
    add_pool(host, marks, 3)
    assert host.notices == [("pool", "started", "ready")]
    assert host.tools() == {"hold", "who", "die", "fatal", "once", "hold_again"}
    stats = host.supervisor.stats()["pool"]
    assert stats.workers == 3
    assert set(stats.pids) == {worker.pid for worker in workers_of(host)}
    assert len(stats.pids) == 3
    host.supervisor.sample()
    stats = host.supervisor.stats()["pool"]
    assert stats.processes == 3
    assert stats.rss_bytes == sum(worker.usage.rss for worker in workers_of(host))


def test_a_worker_that_hangs_is_not_given_more_than_its_share(host: Host, marks: Path):
    add_pool(host, marks, 2)
    begin(host, "hold")
    pids = {json.loads(host.text("who"))["pid"] for _ in range(5)}
    assert pids == {workers_of(host)[1].pid}


# --- what a crash costs ---------------------------------------------------------------------------------------


def test_a_crash_loses_only_the_calls_of_its_worker(host: Host, marks: Path):
    add_pool(host, marks, 3)
    held = [begin(host, "hold") for _ in range(3)]
    kill(host, 1)
    host.until(lambda: held[1])
    host.run_for(0.05)
    assert [len(answers) for answers in held] == [0, 1, 0]
    assert held[1][0].failure is Failure.DIED
    assert host.extension("pool").state is WorkerState.READY
    assert host.extension("pool").failure == ""
    assert json.loads(host.text("who"))["pid"] in (workers_of(host)[0].pid, workers_of(host)[2].pid)
    assert host.tools() >= {"hold", "who"}


def test_a_lost_worker_is_replaced_and_takes_its_share(host: Host, marks: Path):
    add_pool(host, marks, 2, restart=SOON)
    kill(host, 0)
    host.until(lambda: host.cost("pool").restarts == 1)
    assert host.said_of("pool")[-1] == ("restarted", "ready again, restart 1 (worker 1)")
    for _ in range(4):
        begin(host, "hold")
    assert [len(worker.requests.pending) for worker in workers_of(host)] == [2, 2]


def test_calls_fail_with_the_reason_while_all_workers_are_down(host: Host, marks: Path):
    add_pool(host, marks, 2, restart={"backoff_s": [0.3, 0.3]})
    for index in (0, 1):
        kill(host, index)
    assert host.extension("pool").state is WorkerState.BACKOFF
    assert host.tools() == set()
    answer = host.call_of("pool", "who")
    assert answer.failure is Failure.DIED
    assert answer.reason.startswith("it ended (signal SIGKILL); it is restarted in ")
    assert host.ask().missing[0].reason == answer.reason
    host.until(lambda: all(worker.state is WorkerState.READY for worker in workers_of(host)))
    assert host.text("who")
    assert host.ask() == UNTOUCHED
    assert host.cost("pool").restarts == 2


def test_a_worker_that_is_given_up_leaves_the_others_at_work(host: Host, marks: Path, tmp_path: Path):
    host.add("lives", tmp_path / "life", "ready", "ready", "before=3", workers=2, restart={**SOON, "max": 3})
    host.start()
    host.until(lambda: all(worker.state is WorkerState.READY for worker in workers_of(host, "lives")))
    os.kill(workers_of(host, "lives")[0].pid, signal.SIGKILL)
    host.until(lambda: workers_of(host, "lives")[0].state is WorkerState.FAILED)
    extension = host.extension("lives")
    assert (extension.state, extension.failure) == (WorkerState.READY, "")
    assert re.match(r"3 exits in \d s, last exit 3", extension.workers[0].failure)
    assert host.text("life")
    os.kill(extension.workers[1].pid, signal.SIGKILL)
    host.until(lambda: extension.state is WorkerState.FAILED)
    assert re.match(r"3 exits in \d s, last exit 3", extension.failure)


def test_a_user_restart_restarts_all_workers(host: Host, marks: Path):
    add_pool(host, marks, 2)
    before = {worker.pid for worker in workers_of(host)}
    kill(host, 0)
    host.supervisor.restart("pool")
    host.until(lambda: host.cost("pool").restarts == 2)
    assert before.isdisjoint({worker.pid for worker in workers_of(host)})


def test_daemons_of_workers_end_with_the_host(host: Host, tmp_path: Path):
    host.add("daemon_grandchild", tmp_path / "pid", workers=2, restart=SOON)
    host.start()
    host.until(lambda: all(worker.state is WorkerState.READY for worker in workers_of(host, "daemon_grandchild")))
    os.kill(workers_of(host, "daemon_grandchild")[0].pid, signal.SIGKILL)
    host.until(lambda: host.cost("daemon_grandchild").restarts == 1)
    host.stop()
    assert set(ProcessTable.read().tree([os.getpid()])) == {os.getpid()}


def test_processor_time_never_goes_down(host: Host, marks: Path):
    code = "end = time.process_time() + 0.1\nwhile time.process_time() < end: pass\n" + POOL % str(marks)
    host.write("pool", code, workers=2, restart=SOON)
    host.start()
    spent = [0]
    for index in (0, 1, 0):
        host.until(lambda: all(worker.state is WorkerState.READY for worker in workers_of(host)))
        host.supervisor.sample()
        spent.append(host.cost("pool").cpu_ms)
        kill(host, index)
        spent.append(host.cost("pool").cpu_ms)
        host.supervisor.sample()
        spent.append(host.cost("pool").cpu_ms)
    assert spent == sorted(spent)
    assert spent[-1] >= 400, "four processes have spent 100 ms each, by then at the least"


# --- which worker is asked and told ---------------------------------------------------------------------------


def test_a_verdict_comes_from_the_first_worker_that_is_up(host: Host, marks: Path):
    add_pool(host, marks, 3, on_failure="deny")
    for index in (0, 1):
        kill(host, index)
        assert host.ask() == UNTOUCHED
        assert host.extension("pool").lead.index == index + 1


def test_an_event_reaches_one_worker_or_is_counted_as_dropped(host: Host, marks: Path):
    add_pool(host, marks, 2)
    host.supervisor.tell(frames.Event("turn_start", step=1))
    kill(host, 0)
    host.supervisor.tell(frames.Event("turn_start", step=2))
    assert json.loads(host.text("who"))["seen"] == ["turn_start"]
    assert host.cost("pool").events_dropped == 0
    kill(host, 1)
    host.supervisor.tell(frames.Event("turn_start", step=3))
    assert host.cost("pool").events_dropped == 1


def test_each_worker_is_told_of_the_session_once(host: Host, marks: Path):
    add_pool(host, marks, 2, restart=SOON)
    host.supervisor.observers.begin_session()
    kill(host, 0)
    host.until(lambda: host.cost("pool").restarts == 1)
    for worker in workers_of(host):
        others = [begin(host, "hold") for _ in range(1)] if worker.index else []
        assert json.loads(host.text("who"))["seen"] == ["session_start"]
        del others
    assert [worker.knows_session for worker in workers_of(host)] == [True, True]


def test_each_worker_is_told_of_the_end_of_the_session(host: Host, tmp_path: Path):
    host.write(
        "x",
        f"""
hello(events=["session_end"])
send(type="ready")
for frame in frames():
    open({str(tmp_path)!r} + f"/{{frame['event']}}-{{os.getpid()}}", "w").close()
""",
        workers=2,
    )
    host.start()
    workers = host.extension("x").workers
    host.until(lambda: all(worker.state is WorkerState.READY for worker in workers))
    host.supervisor.observers.begin_session()
    pids = [worker.pid for worker in workers]
    host.stop()
    assert {path.name for path in tmp_path.glob("session_end-*")} == {f"session_end-{pid}" for pid in pids}


def test_a_worker_that_has_greeted_leads_while_the_first_is_late(host: Host, marks: Path):
    """The second worker has greeted and can be asked; the first has not."""
    code = (
        f"marks = {str(marks)!r}\nwhile not os.path.exists(f'{{marks}}.{{os.getpid()}}'): time.sleep(0.01)\n"
        "hello(events=['turn_start'], intercept=['tool_call'])\n"
        'said = b""\nwhile b\'"shutdown"\' not in said:\n'
        '    send(type="notify", message="busy")\n'  # or silence would be taken for ready
        "    if select.select([0], [], [], 0.05)[0]: said += os.read(0, 65536)\n"
        '    if b"turn_start" in said: open(marks, "w").close()'
    )
    host.write("pool", code, workers=2, restart=LATER, timeouts={"hello": 60, "ready": 60})
    host.launch()
    first, second = workers_of(host)
    marks.with_name(f"{marks.name}.{second.pid}").touch()
    host.until(lambda: second.state is WorkerState.GREETED)
    assert first.state is WorkerState.SPAWNED
    assert host.extension("pool").lead is second
    host.extension("pool").tell(frames.Event("turn_start"))
    host.until(marks.exists)
    assert host.cost("pool").events_dropped == 0
    host.stop(at_once=True)


def test_a_command_goes_to_a_worker_that_is_up(host: Host, marks: Path):
    add_pool(host, marks, 2)
    kill(host, 0)
    answers: list[Any] = []
    host.begin_command("who", "", answers.append)
    host.until(lambda: answers)
    assert answers[0].frame.display == str(workers_of(host)[1].pid)


def test_a_worker_that_hangs_is_replaced_and_the_others_go_on(host: Host, marks: Path):
    add_pool(host, marks, 2, stall_after=1, timeouts={"tool_call": 0.2}, restart=SOON)
    pids = [worker.pid for worker in workers_of(host)]
    assert host.call("hold").failure is Failure.TIMEOUT
    assert host.text("who")
    host.until(lambda: host.cost("pool").restarts == 1)
    assert sum(worker.pid in pids for worker in workers_of(host)) == 1
