"""Extensions that end are started again as their policy says; meanwhile everybody is told why, and nothing is left."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.calls.verdict import UNTOUCHED
from supervisor.extension.extension import Extension, Listener
from supervisor.extension.lifecycle import State
from supervisor.loop.pending import Failure
from supervisor.process.table import read_process
from supervisor.process.teardown import stop_all
from tests.support.host import PATIENCE, Host
from wire import frames
from wire.dialects.base import HostInfo

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.extension.notices import NoticeKind

SOON = {"backoff_s": [0.01, 0.05], "max": 50}
LATER = {"backoff_s": [60, 60]}
"""It stays down as long as a test looks."""
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()"


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "life"


def life(host: Host, tool: str = "life") -> dict[str, Any]:
    """What the present process says of itself."""
    return json.loads(host.text(tool))


def lives(marks: Path) -> int:
    """How often it was started."""
    return len(list(marks.parent.glob(f"{marks.name}.*")))


def state(host: Host, name: str) -> State:
    return host.extension(name).state


def is_again(host: Host, name: str, restarts: int = 1) -> bool:
    return state(host, name) is State.READY and host.cost(name).restarts >= restarts


def is_gone(pid: int) -> bool:
    return read_process(pid) is None


def run_for(host: Host, seconds: float) -> None:
    host.loop.run_until(lambda: False, host.loop.clock() + seconds)


def turn_start(host: Host) -> None:
    host.supervisor.tell(frames.Event("turn_start", step=1))


# --- it comes back ----------------------------------------------------------------------------------------------


def test_a_crash_fails_its_call_and_the_next_process_takes_over(host: Host, marks: Path):
    host.add("lives", marks, restart=SOON)
    host.start()
    first = life(host)
    answer = host.call("die", code=7)
    assert (answer.failure, answer.reason) == (Failure.DIED, 'it ended (exit 7): "life 0"')
    assert state(host, "lives") is State.BACKOFF
    assert host.tools() == set()
    host.until(lambda: is_again(host, "lives"))
    second = life(host)
    assert (first["life"], second["life"]) == (0, 1)
    assert first["pid"] != second["pid"]
    log = host.extension("lives").log.path
    exited, restarted = host.said_of("lives")
    assert exited == (
        "exited",
        f'it ended (exit 7) with 1 call pending: "life 0"; starting it again in 0.0 s (log: {log})',
    )
    assert restarted == ("restarted", "ready again, restart 1")
    cost = host.cost("lives")
    assert (cost.state, cost.exits, cost.restarts, cost.errors, cost.exit_status) == ("ready", 1, 1, 1, "exit 7")
    assert host.extension("lives").failure == ""


def test_one_that_crashes_beside_it_is_not_touched(host: Host, marks: Path):
    host.add("lives", marks, restart=SOON)
    host.add("echo", restart=SOON)
    host.start()
    pid = host.extension("echo").pid
    host.call("die")
    host.until(lambda: is_again(host, "lives"))
    assert host.text("echo", text="x") == "x"
    assert host.extension("echo").pid == pid
    assert host.said_of("echo") == []


def test_all_that_was_pending_fails_with_the_death_once(host: Host, marks: Path):
    host.write(
        "deaf", 'hello("a")\nsend(type="ready")\nfor _ in range(3): sys.stdin.readline()\nos._exit(3)', restart=LATER
    )
    host.start()
    answers = []
    for _ in range(2):
        host.supervisor.begin_call("a", b"{}", answers.append)
    host.until(lambda: len(answers) == 2)
    run_for(host, 0.1)
    assert [(one.failure, one.reason) for one in answers] == [(Failure.DIED, "it ended (exit 3)")] * 2
    assert host.said_of("deaf")[0][1].startswith("it ended (exit 3) with 2 calls pending; starting it again in ")


@pytest.mark.parametrize(
    ("policy", "code", "is_restarted"),
    [("transient", 1, True), ("transient", 0, False), ("permanent", 0, True), ("temporary", 1, False)],
)
def test_the_policy_is_followed(host: Host, marks: Path, policy: str, code: int, is_restarted: bool):
    host.add("lives", marks, restart={**SOON, "policy": policy})
    host.start()
    host.call("die", code=code)
    if is_restarted:
        host.until(lambda: is_again(host, "lives"))
        assert life(host)["life"] == 1
    else:
        run_for(host, 0.1)
        assert (state(host, "lives"), lives(marks)) == (State.FAILED, 1)


@pytest.mark.parametrize(("code", "policy"), [(125, "permanent"), (78, "transient")])
def test_an_exit_that_asks_for_it_is_the_last(host: Host, marks: Path, code: int, policy: str):
    host.add("lives", marks, restart={**SOON, "policy": policy, "no_restart_exit": [78]})
    host.start()
    host.call("die", code=code)
    run_for(host, 0.1)
    assert (state(host, "lives"), lives(marks)) == (State.FAILED, 1)
    ((kind, line),) = host.said_of("lives")
    assert kind == "exited"
    assert f'it ended (exit {code}) with 1 call pending: "life 0"; not started again: exit {code} asks for that' in line
    assert host.call_of("lives", "life").reason == f"it ended (exit {code})"


def test_a_signal_from_outside_is_a_crash(host: Host, marks: Path):
    host.add("lives", marks, restart=SOON)
    host.start()
    os.kill(host.extension("lives").pid, signal.SIGKILL)
    host.until(lambda: is_again(host, "lives"))
    assert host.cost("lives").exit_status == "signal SIGKILL"


def test_processes_that_die_just_when_they_are_written_to_are_all_replaced(host: Host, tmp_path: Path):
    """Their exits and broken pipes are found in one turn, in any order."""
    for number in range(4):
        host.add("lives", tmp_path / f"life{number}", name=f"x{number}", restart=SOON)
    host.start()
    answers: list[Any] = []
    for number in range(4):
        os.kill(host.extension(f"x{number}").pid, signal.SIGKILL)
        turn_start(host)
        host.supervisor.begin_call("life", b"{}", answers.append)
    host.until(lambda: all(is_again(host, f"x{number}") for number in range(4)))
    host.until(lambda: len(answers) == 4)
    assert all(host.cost(f"x{number}").exits == 1 for number in range(4))


@pytest.mark.parametrize(("dice", "words"), [(0.0, "again in 0.9 s"), (1.0, "again in 1.5 s"), (0.5, "again in 1.2 s")])
def test_the_dice_make_the_wait_longer_or_shorter(host: Host, tmp_path: Path, dice: float, words: str):
    host.write("once", "sys.exit(1)", restart={"backoff_s": [1.2, 30]})
    said = []

    class Ear(Listener):
        def noticed(self, extension: Extension, kind: NoticeKind, message: str) -> None:
            said.append(message)

    extension = Extension(
        host.loop,
        host.found[0],
        host=HostInfo("1", "p", "m", "/"),
        logs=tmp_path,
        listener=Ear(),
        dice=lambda: dice,
    )
    extension.start(dict(os.environ))
    host.until(lambda: said)
    stop_all(host.loop, extension.retire())
    extension.close()
    assert words in said[0]


def test_it_is_not_started_before_its_time(host: Host, marks: Path):
    host.add("lives", marks, restart={"backoff_s": [0.4, 30]})
    host.start()
    host.extension("lives").dice = lambda: 0.5
    crashed = host.loop.clock()
    host.call("die")
    host.until(lambda: is_again(host, "lives"))
    assert host.loop.clock() - crashed >= 0.4


# --- it does not ------------------------------------------------------------------------------------------------


def test_one_that_never_starts_is_given_up_and_everybody_hears_why(host: Host, marks: Path):
    host.add("lives", marks, "before=3", restart={**SOON, "max": 3})
    host.launch()
    host.until(lambda: state(host, "lives") is State.FAILED)
    run_for(host, 0.1)
    assert lives(marks) == 3
    extension = host.extension("lives")
    failure = '3 exits in 0 s, last exit 3: "life 2"'
    assert extension.failure == failure
    kinds, lines = zip(*host.said_of("lives"), strict=True)
    assert kinds == ("exited", "exited", "failed")
    assert re.fullmatch(
        re.escape('it exited before its hello (exit 3): "life 0"; starting it again in ') + r"0\.\d s \(log: .*\)",
        lines[0],
    )
    assert lines[2] == f"{failure}; given up: zot ext restart lives tries again (log: {extension.log.path})"
    stats = host.supervisor.stats()["lives"]
    assert (stats.state, stats.failure, stats.exits, stats.pids) == ("failed", failure, 3, ())
    assert not extension.was_ready


@pytest.mark.parametrize("child", ["silent", "first_frame_not_hello"])
def test_one_that_breaks_the_handshake_each_time_is_given_up(host: Host, child: str):
    host.add(child, restart={**SOON, "max": 3}, timeouts={"hello": 0.2 if child == "silent" else 10})
    host.launch()
    host.until(lambda: state(host, child) is State.FAILED)
    why = "said no hello within 0.2 s" if child == "silent" else "its first frame must be hello, not register_tool"
    assert re.fullmatch(rf"3 exits in \d s, last {why}", host.extension(child).failure)
    host.until(lambda: not host.extension(child).child.is_running)


def test_one_that_greets_and_crashes_each_time_is_given_up(host: Host, marks: Path):
    host.add("lives", marks, "greeted=4", restart={**SOON, "max": 3})
    host.launch()
    host.until(lambda: state(host, "lives") is State.FAILED)
    assert lives(marks) == 3
    assert host.extension("lives").failure == '3 exits in 0 s, last exit 4: "life 2"'
    assert host.cost("lives").restarts == 0
    assert host.supervisor.is_settled


def test_one_that_crashes_after_each_start_is_given_up_and_its_callers_are_told(host: Host, marks: Path):
    host.add("lives", marks, restart={**SOON, "max": 3}, name="doomed")
    host.add("echo")
    host.start()
    for number in range(3):
        host.until(lambda number=number: is_again(host, "doomed", number))
        host.call("die", code=9)
    assert state(host, "doomed") is State.FAILED
    failure = host.extension("doomed").failure
    assert failure == '3 exits in 0 s, last exit 9: "life 2"' or re.match(r"3 exits in \d s", failure)
    answer, seconds = host.timed(host.call_of, "doomed", "life")
    assert (answer.failure, answer.reason) == (Failure.DIED, failure)
    assert seconds < 1
    judgement = host.ask()
    assert [(one.extension, one.reason, one.denied) for one in judgement.missing] == [("doomed", failure, False)]
    assert ("no_verdict", failure) in [
        (kind, re.sub(r"^gave no verdict on tool_call: (.*); allowed;.*$", r"\1", line))
        for kind, line in host.said_of("doomed")
    ]
    assert host.supervisor.owner_of("life") is host.extension("doomed")
    assert host.tools() == {"echo"}


def test_a_program_that_is_not_there_is_not_tried_again(host: Host, tmp_path: Path):
    host._add("nobody", [str(tmp_path / "no such program")], {"restart": {**SOON, "policy": "permanent"}})
    host.launch()
    run_for(host, 0.1)
    ((kind, line),) = host.said_of("nobody")
    assert kind == "failed"
    assert line.startswith(f"cannot start {tmp_path}/no such program: no such file (log: ")
    assert state(host, "nobody") is State.FAILED


def test_a_start_for_which_there_are_no_descriptors_is_tried_again(host: Host):
    host.start()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    host.add("echo", name="late", restart={**SOON, "backoff_s": [0.1, 0.1]})
    lowest = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 3, hard))  # its log and its pipes take seven
    try:
        host.launch()
        assert state(host, "late") is State.BACKOFF
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    host.until(lambda: state(host, "late") is State.READY)
    assert host.text("echo", text="x") == "x"
    kind, line = host.said_of("late")[0]
    assert kind == "exited"
    assert "[Errno 24] Too many open files; starting it again in 0.1 s" in line


def test_a_crash_while_there_is_no_descriptor_left_is_survived(host: Host, marks: Path, tmp_path: Path):
    host.add("grandchild", tmp_path / "pid", restart=SOON)
    host.start()
    grandchild = int((tmp_path / "pid").read_text())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        os.kill(host.extension("grandchild").pid, signal.SIGKILL)
        host.until(lambda: state(host, "grandchild") is State.BACKOFF)
        host.supervisor.sample()
        run_for(host, 0.1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    host.until(lambda: is_again(host, "grandchild"))
    assert is_gone(grandchild), "what could not be seen was not taken for gone"


# --- what is seen of it meanwhile -------------------------------------------------------------------------------


def test_while_it_is_down_its_tools_answer_at_once_with_the_reason(host: Host, marks: Path):
    host.add("lives", marks, restart=LATER, timeouts={"tool_call": 60})
    host.start()
    offered = host.supervisor.tools()["life"]
    host.call("die", code=7)
    answer, seconds = host.timed(host.call_owned, offered, b"{}")
    assert seconds < 1
    assert answer.failure is Failure.DIED
    assert re.fullmatch(r"it ended \(exit 7\); it is started again in \d\d\.\d s", answer.reason)
    assert host.extension("lives").failure == answer.reason
    asked = []
    host.supervisor.begin_call("life", b"{}", asked.append)
    assert asked == []
    host.until(lambda: asked)
    assert asked == [answer]


@pytest.mark.parametrize("on_failure", ["allow", "deny"])
def test_while_a_guard_is_down_there_is_no_verdict(host: Host, marks: Path, on_failure: str):
    host.add("lives", marks, restart=LATER, on_failure=on_failure)
    host.start()
    assert host.ask() == UNTOUCHED
    host.call("die", code=7)
    judgement, seconds = host.timed(host.ask)
    assert seconds < 1
    assert judgement.is_blocked is (on_failure == "deny")
    (missing,) = judgement.missing
    assert missing.reason.startswith("it ended (exit 7); it is started again in ")
    if on_failure == "deny":
        assert judgement.reason == f"guard lives gave no verdict ({missing.reason}), and its failure means deny"


def test_a_guard_that_is_back_is_asked_again(host: Host, marks: Path):
    host.add("lives", marks, restart=SOON, on_failure="deny")
    host.start()
    host.call("die")
    host.until(lambda: is_again(host, "lives"))
    assert host.ask() == UNTOUCHED


def test_events_are_missed_and_counted_and_the_session_is_told_anew(host: Host, marks: Path):
    host.add("lives", marks, restart={**SOON, "backoff_s": [0.3, 0.3]})
    host.start()
    host.supervisor.begin_session()
    turn_start(host)
    assert life(host)["events"] == ["session_start", "turn_start"]
    host.call("die")
    for _ in range(3):
        turn_start(host)
    assert host.cost("lives").events_dropped == 3
    host.until(lambda: is_again(host, "lives"))
    assert life(host)["events"] == ["session_start"]
    turn_start(host)
    assert life(host)["events"] == ["session_start", "turn_start"]
    assert host.cost("lives").events_dropped == 3


def test_what_it_registers_the_second_time_counts(host: Host, marks: Path):
    host.add("lives", marks, "ready=old,both", "ready=both,new", restart=SOON)
    host.start()
    assert host.tools() == {"life", "die", "old", "both"}
    assert host.supervisor.tools()["life"].tool.description == "beside old,both"
    host.call("die")
    assert host.tools() == set()
    host.until(lambda: is_again(host, "lives"))
    assert host.tools() == {"life", "die", "both", "new"}
    assert host.supervisor.tools()["life"].tool.description == "beside both,new"
    assert life(host, "new")["tool"] == "new"
    assert [line for kind, line in host.said_of("lives") if kind == "warning"] == []


def test_a_name_that_it_does_not_register_again_is_free_for_another(host: Host, marks: Path, tmp_path: Path):
    host.add("lives", marks, "ready=t", "ready", restart=SOON, name="first", priority=1)
    host.add("lives", tmp_path / "other", "ready=t", name="second")
    host.start()
    assert host.supervisor.tools()["t"].owner.name == "first"
    host.call_of("first", "die")
    assert "t" not in host.tools(), "it may be back in a moment"
    host.until(lambda: is_again(host, "first"))
    assert host.supervisor.tools()["t"].owner.name == "second"


# --- a user starts it again -------------------------------------------------------------------------------------


def test_a_user_restarts_one_that_is_ready(host: Host, marks: Path):
    host.add("lives", marks, restart={"policy": "temporary"})
    host.start()
    host.supervisor.restart("lives")
    assert host.call_of("lives", "life").reason == "it is being started again"
    host.until(lambda: is_again(host, "lives"))
    assert life(host)["life"] == 1
    assert host.said_of("lives") == [("restarted", "ready again, restart 1")]
    assert host.cost("lives").exit_status == "exit 0"


def test_a_call_under_way_ends_with_the_restart(host: Host):
    host.add("never_answers")
    host.start()
    answers = []
    host.supervisor.begin_call("hang", b"{}", answers.append)
    host.supervisor.restart("never_answers")
    host.until(lambda: answers)
    assert (answers[0].failure, answers[0].reason) == (Failure.DIED, "it was stopped (exit 0)")


@pytest.mark.parametrize("child", ["silent", "chatty_never_ready"])
def test_a_user_restarts_one_that_is_starting(host: Host, child: str):
    host.add(child, timeouts={"hello": 60, "ready": 60})
    host.launch()
    wanted = State.SPAWNED if child == "silent" else State.GREETED
    host.until(lambda: state(host, child) is wanted)
    first = host.extension(child).pid
    host.supervisor.restart(child)
    host.until(lambda: state(host, child) is wanted and host.extension(child).pid != first)
    assert is_gone(first)
    assert [said for said in host.said_of(child) if said[0] != "warning"] == []


def test_a_user_restarts_one_that_waits_to_be(host: Host, marks: Path):
    host.add("lives", marks, restart=LATER)
    host.start()
    host.call("die")
    run_for(host, 0.1)
    host.supervisor.restart("lives")
    host.supervisor.restart("lives")
    host.until(lambda: is_again(host, "lives"))
    run_for(host, 0.1)
    assert lives(marks) == 2


def test_a_user_restarts_one_that_was_given_up_and_it_has_all_its_tries_again(host: Host, marks: Path):
    host.add("lives", marks, *["before=1"] * 3, "ready", "before=2", restart={**SOON, "max": 3})
    host.launch()
    host.until(lambda: state(host, "lives") is State.FAILED)
    host.supervisor.restart("lives")
    host.until(lambda: state(host, "lives") is State.READY)
    assert host.extension("lives").failure == ""
    assert life(host)["life"] == 3
    host.call("die")
    host.until(lambda: state(host, "lives") is State.FAILED)
    assert lives(marks) == 4 + 2, "its exits before the restart count no more"


@pytest.mark.parametrize("code", [0, 125])
def test_a_user_restarts_one_that_was_left(host: Host, marks: Path, code: int):
    host.add("lives", marks, restart=SOON)
    host.start()
    host.call("die", code=code)
    run_for(host, 0.1)
    host.supervisor.restart("lives")
    host.until(lambda: is_again(host, "lives"))


def test_a_user_restarts_one_whose_program_is_there_now(host: Host, tmp_path: Path):
    program = tmp_path / "program"
    host._add("late", [str(program)], {})
    host.launch()
    assert state(host, "late") is State.FAILED
    program.write_text(
        '#!/bin/sh\necho \'{"type":"hello","name":"late"}\'\necho \'{"type":"ready"}\'\nread line\nread line\n'
    )
    program.chmod(0o755)
    host.supervisor.restart("late")
    host.until(lambda: is_again(host, "late"))


def test_a_user_restarts_one_that_is_stopping(host: Host, marks: Path):
    host.write("slow", f'hello()\nsend(type="ready")\n{STUBBORN}')
    host.start()
    first = host.extension("slow").pid
    for _ in range(3):
        host.supervisor.restart("slow")
        host.loop.run_until(lambda: False, host.loop.clock())
    assert state(host, "slow") is State.STOPPING
    assert host.extension("slow").pid == first
    os.kill(first, signal.SIGKILL)
    host.until(lambda: is_again(host, "slow"))
    run_for(host, 0.1)
    assert host.cost("slow").restarts == 1
    assert host.extension("slow").pid != first
    host.stop(at_once=True)


def test_an_answer_that_still_comes_counts(host: Host):
    """It had work when it was asked to stop, and finishes it."""
    code = (
        'hello("a")\nsend(type="ready")\nfor frame in frames():\n'
        '    while json.loads(sys.stdin.readline())["type"] != "shutdown": pass\n'
        '    result(frame, "done")\n    send(type="shutdown_ack")\n    break'
    )
    host.write("dutiful", code)
    host.start()
    answers = []
    host.supervisor.begin_call("a", b"{}", answers.append)
    host.supervisor.restart("dutiful")
    host.until(lambda: answers)
    assert answers[0].frame.content[0].text == "done"
    host.until(lambda: is_again(host, "dutiful"))


def test_a_restart_that_is_asked_for_upon_the_news_of_an_end(tmp_path: Path, marks: Path):
    """From within the notice: the host is in the middle of it."""

    def on_notice(extension: Extension, kind: str, _message: str) -> None:
        if kind in ("exited", "failed"):
            host.supervisor.restart(extension.name)

    with Host(tmp_path) as host:
        host.supervisor._on_notice = on_notice
        host.add("lives", marks, "before=3", "ready", restart={**LATER, "max": 1})
        host._add("nobody", [str(tmp_path / "nobody")], {})
        host.launch()
        host.until(lambda: state(host, "lives") is State.READY)
        host.call("die")
        host.until(lambda: state(host, "lives") is State.READY)
        assert lives(marks) == 3
        assert state(host, "nobody") in (State.FAILED, State.SPAWNED)


def test_nobody_by_that_name_is_an_error(host: Host):
    host.start()
    with pytest.raises(KeyError):
        host.supervisor.restart("nobody")


# --- nothing is left --------------------------------------------------------------------------------------------


def test_stop_during_a_wait_ends_it(host: Host, marks: Path):
    host.add("lives", marks, restart={"backoff_s": [0.2, 0.2]})
    host.start()
    host.call("die")
    assert host.stop() < 1
    run_for(host, 0.3)
    assert lives(marks) == 1
    assert host.cost("lives").restarts == 0


def test_stop_during_the_end_of_what_is_left_of_it(host: Host, tmp_path: Path):
    """A grandchild that ignores SIGTERM is being ended when everything is."""
    deaf = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(flush=True)\nsignal.pause()"
    code = (
        'hello("a")\nsend(type="ready")\nnext(frames())\n'
        f'child = subprocess.Popen([sys.executable, "-I", "-S", "-c", {deaf!r}], stdout=subprocess.PIPE)\n'
        f'child.stdout.readline()\nopen({str(tmp_path / "pid")!r}, "w").write(str(child.pid))\nos._exit(1)'
    )
    host.write("leader", code, restart=SOON)
    host.start()
    host.call("a")
    pid = int((tmp_path / "pid").read_text())
    run_for(host, 0.1)
    assert state(host, "leader") is State.BACKOFF, "it is not started while something of it lives"
    assert not is_gone(pid)
    host.stop(at_once=True)
    assert is_gone(pid)


def test_what_only_the_end_of_it_knew_of_is_ended_by_the_stop(tmp_path: Path):
    """In a host that is no subreaper: a grandchild has left the session, and is known by its parent, which has gone."""
    grandchild = tmp_path / "grandchild.py"
    grandchild.write_text(
        "import signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(flush=True)\nsignal.pause()"
    )
    code = (
        f"child = subprocess.Popen([sys.executable, '-I', '-S', {str(grandchild)!r}], stdout=subprocess.PIPE, "
        "start_new_session=True)\n"
        f'child.stdout.readline()\nopen({str(tmp_path / "pid")!r}, "w").write(str(child.pid))\n'
        'hello("a")\nsend(type="ready")\nsignal.pause()'
    )
    with Host(tmp_path, owns_process=False) as embedded:
        embedded.write("leader", code, restart=SOON)
        embedded.start()
        pid = int((tmp_path / "pid").read_text())
        embedded.supervisor.restart("leader")
        leader = embedded.extension("leader").child
        os.kill(leader.pid, signal.SIGTERM)
        embedded.until(lambda: not leader.is_running)
        run_for(embedded, 0.1)
        assert not is_gone(pid)
        embedded.stop()
        try:
            assert is_gone(pid)
        finally:
            if not is_gone(pid):
                os.kill(pid, signal.SIGKILL)


def test_stop_while_it_starts_again_is_no_failure_of_its_start(host: Host, marks: Path):
    host.add("lives", marks, restart={"backoff_s": [0.01, 0.01]})
    host.start()
    host.call("die")
    host.until(lambda: state(host, "lives") is State.SPAWNED)
    host.stop()
    assert [kind for kind, _ in host.said_of("lives")] == ["exited"]


def test_what_a_user_kills_is_not_started_again(host: Host, marks: Path):
    host.add("lives", marks, restart=SOON)
    host.start()
    host.supervisor.kill_now()
    run_for(host, 0.3)
    assert lives(marks) == 1
    assert not any("starting it again" in line for _, line in host.said_of("lives"))
    host.stop()
    assert state(host, "lives") in (State.FAILED, State.EXITED)


@pytest.mark.parametrize("how", ["crash", "user"])
def test_daemons_of_a_process_are_ended_before_the_next_one_is_started(host: Host, tmp_path: Path, how: str):
    host.add("daemon_grandchild", tmp_path / "pid", restart=SOON)
    host.start()
    daemon = int((tmp_path / "pid").read_text())
    assert os.getsid(daemon) != os.getsid(host.extension("daemon_grandchild").pid)
    extension = host.extension("daemon_grandchild")
    first = extension.lead
    if how == "crash":
        os.kill(extension.pid, signal.SIGKILL)
    else:
        host.supervisor.restart("daemon_grandchild")
    host.until(lambda: extension.lead is not first)
    assert is_gone(daemon)
    host.until(lambda: is_again(host, "daemon_grandchild"))
    second = int((tmp_path / "pid").read_text())
    assert second != daemon
    assert not is_gone(second), "the daemon of the process that is there now is left alone"


def test_a_daemon_of_another_extension_is_left_alone(host: Host, tmp_path: Path, marks: Path):
    host.add("daemon_grandchild", tmp_path / "pid")
    host.add("lives", marks, restart=SOON)
    host.start()
    host.call("die")
    host.until(lambda: is_again(host, "lives"))
    assert not is_gone(int((tmp_path / "pid").read_text()))


# --- whatever comes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_every_call_ends_once_whatever_happens_to_whom(host: Host, tmp_path: Path, seed: int):
    dice = random.Random(seed)
    names = ["a", "b", "c"]
    for number, name in enumerate(names):
        host.add("lives", tmp_path / name, f"ready={name}", name=name, restart=SOON, workers=2 if number == 2 else 1)
    host.start()
    ended: dict[int, int] = {}
    asked = []
    cpu = dict.fromkeys(names, 0)
    for number in range(50):
        name = dice.choice(names)
        match dice.randrange(8):
            case 0:
                host.supervisor.restart(name)
            case 1:
                for worker in host.extension(name).workers:
                    worker.kill(signal.SIGKILL)
            case 2:
                host.supervisor.sample()
            case 3 if asked:
                dice.choice(asked).cancel("no more interest")
            case _:
                ended[number] = 0

                def done(_answer: object, number: int = number) -> None:
                    ended[number] += 1

                asked.append(host.supervisor.begin_call(name, b"{}", done))
        run_for(host, dice.choice([0, 0, 0.002, 0.02]))
        for one in names:
            assert host.cost(one).cpu_ms >= cpu[one]
            cpu[one] = host.cost(one).cpu_ms
    host.until(lambda: all(ended.values()))
    host.until(lambda: all(one.state is State.READY for name in names for one in host.extension(name).workers))
    assert set(ended.values()) == {1}
    assert {name for name in host.tools() if name in names} == set(names)
    assert all(not worker.pending for name in names for worker in host.extension(name).workers)
    assert host.stop() < PATIENCE
