"""Several processes of one extension: each call goes to the least busy, and a crash loses only its own."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.calls.verdict import UNTOUCHED
from supervisor.extension.lifecycle import State
from supervisor.loop.pending import Failure
from supervisor.process.table import ProcessTable
from tests.support.host import LATER, SOON
from wire import frames

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.calls.tool_call import Answer
    from supervisor.extension.worker import Worker
    from tests.support.host import Host


POOL = """
marks = %r
send(type="hello", name="x")
for tool, retry in {"hold": None, "who": None, "die": None, "fatal": True, "once": True, "hold_again": True}.items():
    send(type="register_tool", name=tool, schema={}, retry=retry)
send(type="subscribe", events=["session_start", "turn_start"], intercept=["tool_call"])
send(type="register_command", name="who")
send(type="ready")
seen = []
def mark(name):
    "True the first time."
    with open(marks, "a") as file:
        file.write(name + "\\n")
    try:
        os.close(os.open(f"{marks}.{name}", os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
for frame in frames():
    if frame["type"] == "event":
        seen.append(frame["event"])
        continue
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"])
        continue
    if frame["type"] == "command_invoked":
        send(type="command_response", id=frame["id"], action="display", display=str(os.getpid()))
        continue
    tool = frame["name"]
    first = mark(tool)
    if tool in ("die", "fatal") or (tool == "once" and first):
        sys.exit(4)
    if not tool.startswith("hold"):
        result(frame, json.dumps({"pid": os.getpid(), "seen": seen}))
"""


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


def add_pool(host: Host, marks: Path, workers: int, **manifest: Any) -> None:
    host.write("pool", POOL % str(marks), workers=workers, **{"restart": LATER, **manifest})
    host.start()
    host.until(lambda: all(one.state is State.READY for one in workers_of(host)))


def workers_of(host: Host, name: str = "pool") -> list[Worker]:
    return host.extension(name).workers


def begin(host: Host, tool: str) -> list[Answer]:
    """The answer, once it is there."""
    answers: list[Answer] = []
    host.supervisor.begin_call(tool, b"{}", answers.append)
    return answers


def attempts(marks: Path, tool: str) -> int:
    return marks.read_text().split().count(tool)


def kill(host: Host, index: int) -> None:
    """Ends one worker, and waits until that is known."""
    worker = workers_of(host)[index]
    os.kill(worker.pid, signal.SIGKILL)
    host.until(lambda: not worker.is_running)


# --- who is called ----------------------------------------------------------------------------------------------


def test_each_call_goes_to_the_least_busy(host: Host, marks: Path):
    add_pool(host, marks, 3)
    for _ in range(6):
        begin(host, "hold")
    assert [len(one.pending) for one in workers_of(host)] == [2, 2, 2]
    workers_of(host)[1].cancel_pending("no more")
    answer = json.loads(host.text("who"))
    assert answer["pid"] == workers_of(host)[1].pid


def test_all_of_them_are_one_extension(host: Host, marks: Path):
    add_pool(host, marks, 3)
    assert host.notices == [("pool", "started", "ready")]
    assert host.tools() == {"hold", "who", "die", "fatal", "once", "hold_again"}
    stats = host.supervisor.stats()["pool"]
    assert stats.workers == 3
    assert set(stats.pids) == {one.pid for one in workers_of(host)}
    assert len(stats.pids) == 3
    host.supervisor.sample()
    stats = host.supervisor.stats()["pool"]
    assert stats.processes == 3
    assert stats.rss_bytes == sum(one.usage.rss for one in workers_of(host))


def test_a_worker_that_hangs_is_not_given_more_than_its_share(host: Host, marks: Path):
    add_pool(host, marks, 2)
    begin(host, "hold")
    pids = {json.loads(host.text("who"))["pid"] for _ in range(5)}
    assert pids == {workers_of(host)[1].pid}


# --- what a crash costs -----------------------------------------------------------------------------------------


def test_a_crash_loses_only_its_own_call(host: Host, marks: Path):
    add_pool(host, marks, 3)
    held = [begin(host, "hold") for _ in range(3)]
    kill(host, 1)
    host.until(lambda: held[1])
    host.run_for(0.05)
    assert [len(one) for one in held] == [0, 1, 0]
    assert held[1][0].failure is Failure.DIED
    assert host.extension("pool").state is State.READY
    assert host.extension("pool").failure == ""
    assert json.loads(host.text("who"))["pid"] in (workers_of(host)[0].pid, workers_of(host)[2].pid)
    assert host.tools() >= {"hold", "who"}


def test_the_lost_one_is_replaced_and_takes_its_share(host: Host, marks: Path):
    add_pool(host, marks, 2, restart=SOON)
    kill(host, 0)
    host.until(lambda: host.cost("pool").restarts == 1)
    assert host.said_of("pool")[-1] == ("restarted", "ready again, restart 1 (worker 1)")
    for _ in range(4):
        begin(host, "hold")
    assert [len(one.pending) for one in workers_of(host)] == [2, 2]


def test_when_all_are_gone_callers_are_told_why_and_all_come_back(host: Host, marks: Path):
    add_pool(host, marks, 2, restart={"backoff_s": [0.3, 0.3]})
    for index in (0, 1):
        kill(host, index)
    assert host.extension("pool").state is State.BACKOFF
    assert host.tools() == set()
    answer = host.call_of("pool", "who")
    assert answer.failure is Failure.DIED
    assert answer.reason.startswith("it ended (signal SIGKILL); it is started again in ")
    assert host.ask().missing[0].reason == answer.reason
    host.until(lambda: all(one.state is State.READY for one in workers_of(host)))
    assert host.text("who")
    assert host.ask() == UNTOUCHED
    assert host.cost("pool").restarts == 2


def test_one_that_is_given_up_leaves_the_others_at_work(host: Host, marks: Path, tmp_path: Path):
    host.add("lives", tmp_path / "life", "ready", "ready", "before=3", workers=2, restart={**SOON, "max": 3})
    host.start()
    host.until(lambda: all(one.state is State.READY for one in workers_of(host, "lives")))
    os.kill(workers_of(host, "lives")[0].pid, signal.SIGKILL)
    host.until(lambda: workers_of(host, "lives")[0].state is State.FAILED)
    extension = host.extension("lives")
    assert (extension.state, extension.failure) == (State.READY, "")
    assert re.match(r"3 exits in \d s, last exit 3", extension.workers[0].failure)
    assert host.text("life")
    os.kill(extension.workers[1].pid, signal.SIGKILL)
    host.until(lambda: extension.state is State.FAILED)
    assert re.match(r"3 exits in \d s, last exit 3", extension.failure)


def test_a_user_restarts_all_of_them(host: Host, marks: Path):
    add_pool(host, marks, 2)
    before = {one.pid for one in workers_of(host)}
    kill(host, 0)
    host.supervisor.restart("pool")
    host.until(lambda: host.cost("pool").restarts == 2)
    assert before.isdisjoint({one.pid for one in workers_of(host)})


def test_daemons_of_workers_end_with_the_host_at_the_latest(host: Host, tmp_path: Path):
    host.add("daemon_grandchild", tmp_path / "pid", workers=2, restart=SOON)
    host.start()
    host.until(lambda: all(one.state is State.READY for one in workers_of(host, "daemon_grandchild")))
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
        host.until(lambda: all(one.state is State.READY for one in workers_of(host)))
        host.supervisor.sample()
        spent.append(host.cost("pool").cpu_ms)
        kill(host, index)
        spent.append(host.cost("pool").cpu_ms)
        host.supervisor.sample()
        spent.append(host.cost("pool").cpu_ms)
    assert spent == sorted(spent)
    assert spent[-1] >= 400, "four processes have spent 100 ms each, by then at the least"


# --- calls that may be made again -------------------------------------------------------------------------------


@pytest.mark.parametrize("waits", [True, False])
def test_a_call_that_may_be_made_again_is(host: Host, marks: Path, waits: bool):
    add_pool(host, marks, 2)
    if waits:
        answer = host.call("once")
    else:
        answers = begin(host, "once")
        host.until(lambda: answers)
        (answer,) = answers
    assert answer.failure is None
    assert answer.frame is not None
    assert attempts(marks, "once") == 2
    assert host.cost("pool").exits == 1


@pytest.mark.parametrize("waits", [True, False])
def test_it_is_not_made_a_third_time(host: Host, marks: Path, waits: bool):
    add_pool(host, marks, 4)
    if waits:
        answer = host.call("fatal")
    else:
        answers = begin(host, "fatal")
        host.until(lambda: answers)
        host.run_for(0.1)
        (answer,) = answers
    assert (answer.failure, answer.reason) == (Failure.DIED, "it ended (exit 4)")
    assert attempts(marks, "fatal") == 2
    assert len([one for one in workers_of(host) if one.state is State.READY]) == 2


@pytest.mark.parametrize("waits", [True, False])
def test_a_call_that_may_not_is_not(host: Host, marks: Path, waits: bool):
    add_pool(host, marks, 2)
    if waits:
        answer = host.call("die")
    else:
        answers = begin(host, "die")
        host.until(lambda: answers)
        (answer,) = answers
    assert answer.failure is Failure.DIED
    assert attempts(marks, "die") == 1


def test_with_nobody_else_there_it_is_not_made_again(host: Host, marks: Path):
    add_pool(host, marks, 1)
    assert host.call("once").failure is Failure.DIED
    assert attempts(marks, "once") == 1


def test_with_both_dead_in_one_moment_it_ends_once(host: Host, marks: Path):
    add_pool(host, marks, 2)
    answers = begin(host, "hold_again")
    host.until(marks.exists)
    for worker in workers_of(host):
        os.kill(worker.pid, signal.SIGKILL)
        os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    host.until(lambda: answers)
    host.run_for(0.3)
    assert len(answers) == 1
    assert answers[0].failure in (Failure.DIED, Failure.NOT_READING)
    assert all(not one.pending for one in workers_of(host))


def test_a_call_that_ran_out_of_time_is_not_made_again(host: Host, marks: Path):
    add_pool(host, marks, 2, timeouts={"tool_call": 0.2})
    assert host.call("hold_again").failure is Failure.TIMEOUT
    assert attempts(marks, "hold_again") == 1


def test_one_that_is_cancelled_is_not_made_again(host: Host, marks: Path):
    add_pool(host, marks, 2)
    answers: list[Answer] = []
    asked = host.supervisor.begin_call("hold_again", b"{}", answers.append)
    host.until(marks.exists)
    holder = next(one for one in workers_of(host) if one.pending)
    os.kill(holder.pid, signal.SIGKILL)
    host.until(lambda: not holder.pending)
    assert answers == [], "its end is told in a turn of its own"
    asked.cancel("no more interest")
    host.until(lambda: answers)
    host.run_for(0.1)
    assert [(one.failure, one.reason) for one in answers] == [(Failure.CANCELLED, "no more interest")]
    assert attempts(marks, "hold_again") == 1


# --- registrations must agree -----------------------------------------------------------------------------------

DIFFERENCES = {
    "a tool more": (["ready", "ready=a"], "tools differ (a)"),
    "other tools": (["ready=a", "ready=b"], "tools differ (a, b)"),
}


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_a_difference_is_an_error_that_names_it(host: Host, tmp_path: Path, difference: str):
    words, said = DIFFERENCES[difference]
    host.add("lives", tmp_path / "life", *words, workers=2, restart=SOON)
    host.start()
    extension = host.extension("lives")
    host.until(lambda: State.FAILED in {one.state for one in extension.workers})
    host.run_for(0.1)
    odd = next(one for one in extension.workers if one.state is State.FAILED)
    ((kind, line),) = host.said_of("lives")
    assert kind == "failed"
    assert re.match(rf'worker {odd.index + 1} is not like the others: {re.escape(said)}: "life \d" \(log: ', line)
    assert len(list(tmp_path.glob("life.*"))) == 2, "it is not tried again"
    assert (extension.state, extension.failure) == (State.READY, "")
    assert host.text("life")


def test_a_tool_that_differs_is_named(host: Host, marks: Path):
    code = (
        f"marks = {str(marks)!r}\ntry:\n    os.close(os.open(marks, os.O_CREAT | os.O_EXCL)); text = 'one'\n"
        "except FileExistsError: text = 'two'\n"
        'hello()\nsend(type="register_tool", name="t", description=text, schema={})\nsend(type="ready")\n'
        "for _ in frames(): pass"
    )
    host.write("pool", code, workers=2, restart=SOON)
    host.start()
    host.until(lambda: State.FAILED in {one.state for one in workers_of(host)})
    assert "is not like the others: tool 't' differs" in host.said_of("pool")[0][1]


def test_a_worker_that_comes_back_otherwise_is_an_error(host: Host, tmp_path: Path):
    host.add("lives", tmp_path / "life", "ready=a", "ready=a", "ready=b", workers=2, restart=SOON)
    host.start()
    extension = host.extension("lives")
    host.until(lambda: all(one.state is State.READY for one in extension.workers))
    os.kill(extension.workers[0].pid, signal.SIGKILL)
    host.until(lambda: extension.workers[0].state is State.FAILED)
    assert host.tools() == {"life", "die", "a"}
    assert "worker 1 is not like the others: tools differ (a, b)" in host.said_of("lives")[-1][1]


def test_when_all_come_back_otherwise_that_is_what_it_offers(host: Host, tmp_path: Path):
    host.add("lives", tmp_path / "life", "ready=a", "ready=a", "ready=b", workers=2, restart=SOON)
    host.start()
    extension = host.extension("lives")
    host.until(lambda: all(one.state is State.READY for one in extension.workers))
    host.supervisor.restart("lives")
    host.until(lambda: host.cost("lives").restarts == 2)
    assert host.tools() == {"life", "die", "b"}


def test_the_first_one_need_not_be_the_one_that_starts(host: Host, tmp_path: Path):
    host.add("lives", tmp_path / "life", "greeted=3", "ready=a", workers=2, restart=SOON)
    host.start()
    extension = host.extension("lives")
    host.until(lambda: all(one.state is State.READY for one in extension.workers))
    assert host.tools() == {"life", "die", "a"}
    assert [kind for kind, _ in host.said_of("lives") if kind == "failed"] == []


# --- who is asked and told --------------------------------------------------------------------------------------


def test_verdicts_come_from_one_that_lives(host: Host, marks: Path):
    add_pool(host, marks, 3, on_failure="deny")
    for index in (0, 1):
        kill(host, index)
        assert host.ask() == UNTOUCHED
        assert host.extension("pool").lead.index == index + 1


def test_events_reach_one_of_them_and_none_is_lost_without_being_counted(host: Host, marks: Path):
    add_pool(host, marks, 2)
    host.supervisor.tell(frames.Event("turn_start", step=1))
    kill(host, 0)
    host.supervisor.tell(frames.Event("turn_start", step=2))
    assert json.loads(host.text("who"))["seen"] == ["turn_start"]
    assert host.cost("pool").events_dropped == 0
    kill(host, 1)
    host.supervisor.tell(frames.Event("turn_start", step=3))
    assert host.cost("pool").events_dropped == 1


def test_each_is_told_of_the_session_once(host: Host, marks: Path):
    add_pool(host, marks, 2, restart=SOON)
    host.supervisor.begin_session()
    kill(host, 0)
    host.until(lambda: host.cost("pool").restarts == 1)
    for worker in workers_of(host):
        others = [begin(host, "hold") for _ in range(1)] if worker.index else []
        assert json.loads(host.text("who"))["seen"] == ["session_start"]
        del others
    assert [one.knows_session for one in workers_of(host)] == [True, True]


def test_each_is_told_of_the_end_of_the_session(host: Host, tmp_path: Path):
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
    host.until(lambda: all(worker.state is State.READY for worker in workers))
    host.supervisor.begin_session()
    pids = [worker.pid for worker in workers]
    host.stop()
    assert {path.name for path in tmp_path.glob("session_end-*")} == {f"session_end-{pid}" for pid in pids}


def test_a_first_worker_that_does_not_greet_does_not_silence_the_second(host: Host, marks: Path):
    """The second has greeted and could be told and asked; the first is late."""
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
    host.until(lambda: second.state is State.GREETED)
    assert first.state is State.SPAWNED
    assert host.extension("pool").lead is second
    host.extension("pool").tell(b'{"type":"event","event":"turn_start"}\n')
    host.until(marks.exists)
    assert host.cost("pool").events_dropped == 0
    host.stop(at_once=True)


def test_commands_go_to_one_that_lives(host: Host, marks: Path):
    add_pool(host, marks, 2)
    kill(host, 0)
    answers: list[Any] = []
    host.supervisor.begin_command("who", "", answers.append)
    host.until(lambda: answers)
    assert answers[0].frame.display == str(workers_of(host)[1].pid)


def test_one_that_hangs_is_replaced_and_the_others_go_on(host: Host, marks: Path):
    add_pool(host, marks, 2, stall_after=1, timeouts={"tool_call": 0.2}, restart=SOON)
    pids = [one.pid for one in workers_of(host)]
    assert host.call("hold").failure is Failure.TIMEOUT
    assert host.text("who")
    host.until(lambda: host.cost("pool").restarts == 1)
    assert sum(one.pid in pids for one in workers_of(host)) == 1


LATE = """
send(type="hello", name="x")
send(type="register_tool", name="who", schema={})
send(type="subscribe", events=["turn_start"])
send(type="ready")
for frame in frames():
    if frame["type"] == "event":
        send(type="register_tool", name="late", schema={})
    else:
        result(frame, str(os.getpid()))
"""


def test_a_tool_registered_late_by_one_does_not_cost_another_its_place(host: Host):
    """Only one of them sees the event upon which it registers it."""
    host.write("pool", LATE, workers=2, restart=SOON)
    host.start()
    host.until(lambda: all(one.state is State.READY for one in workers_of(host)))
    host.supervisor.tell(frames.Event("turn_start", step=1))
    host.until(lambda: any("late" in one.registry.tools for one in workers_of(host)))
    kill(host, 1)
    host.until(lambda: host.cost("pool").restarts == 1 or workers_of(host)[1].state is State.FAILED)
    assert [one.state for one in workers_of(host)] == [State.READY, State.READY]


def test_a_tool_registered_late_is_offered_also_after_a_restart(host: Host):
    host.write("pool", LATE, workers=2, restart=SOON)
    host.start()
    host.until(lambda: all(one.state is State.READY for one in workers_of(host)))
    for index in (0, 1):
        kill(host, index)
        host.until(lambda index=index: host.cost("pool").restarts == index + 1)
    host.supervisor.tell(frames.Event("turn_start", step=1))
    host.until(lambda: any("late" in one.registry.tools for one in workers_of(host)))
    assert host.tools() == {"who", "late"}
