"""An extension that is down answers with the reason; a user can restart it in every state."""

from __future__ import annotations

import os
import random
import re
import signal
from typing import TYPE_CHECKING

import pytest

from supervisor.calls.guard_chain import UNTOUCHED
from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from tests.support.host import AT_ONCE, LATER, SOON, Host
from tests.support.lives import is_gone, life, lives, turn_start
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.extension.extension import Extension


STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()"


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "life"


# --- while it is down -----------------------------------------------------------------------------------------


def test_a_tool_of_an_extension_that_is_down_fails_at_once_with_the_reason(host: Host, marks: Path):
    host.add("lives", marks, restart=LATER, timeouts={"tool_call": 60})
    host.start()
    offered = host.supervisor.registrations.tools()["life"]
    host.call("die", code=7)
    answer, seconds = host.timed(host.call_owned, offered, b"{}")
    assert seconds < AT_ONCE
    assert answer.failure is Failure.DIED
    assert re.fullmatch(r'it ended \(exit 7\): "life 0"; it is restarted in \d\d\.\d s', answer.reason)
    assert host.extension("lives").failure == answer.reason
    asked = []
    host.begin_call("life", b"{}", asked.append)
    assert asked == []
    host.until(lambda: asked)
    assert asked == [answer]


@pytest.mark.parametrize("on_failure", ["allow", "deny"])
def test_a_guard_that_is_down_gives_no_verdict(host: Host, marks: Path, on_failure: str):
    host.add("lives", marks, restart=LATER, on_failure=on_failure)
    host.start()
    assert host.ask() == UNTOUCHED
    host.call("die", code=7)
    judgement, seconds = host.timed(host.ask)
    assert seconds < AT_ONCE
    assert judgement.is_blocked is (on_failure == "deny")
    (missing,) = judgement.missing
    assert missing.reason.startswith('it ended (exit 7): "life 0"; it is restarted in ')
    if on_failure == "deny":
        assert judgement.reason == f"guard lives gave no verdict ({missing.reason}), and its failure means deny"


def test_a_guard_that_is_ready_again_is_asked_again(host: Host, marks: Path):
    host.add("lives", marks, restart=SOON, on_failure="deny")
    host.start()
    host.call("die")
    host.until(lambda: host.is_restarted("lives"))
    assert host.ask() == UNTOUCHED


def test_events_for_an_extension_that_is_down_are_dropped_and_counted(host: Host, marks: Path):
    host.add("lives", marks, restart={**SOON, "backoff_s": [0.3, 0.3]})
    host.start()
    host.supervisor.observers.begin_session()
    turn_start(host)
    assert life(host)["events"] == ["session_start", "turn_start"]
    host.call("die")
    for _ in range(3):
        turn_start(host)
    assert host.cost("lives").events_dropped == 3
    host.until(lambda: host.is_restarted("lives"))
    assert life(host)["events"] == ["session_start"]
    turn_start(host)
    assert life(host)["events"] == ["session_start", "turn_start"]
    assert host.cost("lives").events_dropped == 3


def test_the_registrations_of_the_last_start_count(host: Host, marks: Path):
    host.add("lives", marks, "ready=old,both", "ready=both,new", restart=SOON)
    host.start()
    assert host.tools() == {"life", "die", "old", "both"}
    assert host.supervisor.registrations.tools()["life"].tool.description == "beside old,both"
    host.call("die")
    assert host.tools() == set()
    host.until(lambda: host.is_restarted("lives"))
    assert host.tools() == {"life", "die", "both", "new"}
    assert host.supervisor.registrations.tools()["life"].tool.description == "beside both,new"
    assert life(host, "new")["tool"] == "new"
    assert [line for kind, line in host.said_of("lives") if kind == "warning"] == []


def test_a_tool_name_that_is_not_registered_again_is_free(host: Host, marks: Path, tmp_path: Path):
    host.add("lives", marks, "ready=t", "ready", restart=SOON, name="first", priority=1)
    host.add("lives", tmp_path / "other", "ready=t", name="second")
    host.start()
    assert host.supervisor.registrations.tools()["t"].owner.name == "first"
    host.call_of("first", "die")
    assert "t" not in host.tools(), "it may be back in a moment"
    host.until(lambda: host.is_restarted("first"))
    assert host.supervisor.registrations.tools()["t"].owner.name == "second"


# --- a user starts it again -----------------------------------------------------------------------------------


def test_a_user_restarts_a_ready_extension(host: Host, marks: Path):
    host.add("lives", marks, restart={"policy": "temporary"})
    host.start()
    host.supervisor.restart("lives")
    assert host.call_of("lives", "life").reason == "it is being restarted"
    host.until(lambda: host.is_restarted("lives"))
    assert life(host)["life"] == 1
    assert host.said_of("lives") == [("restarted", "ready again, restart 1")]
    assert host.cost("lives").exit_status == "exit 0"


def test_a_pending_call_fails_with_a_user_restart(host: Host):
    host.add("never_answers")
    host.start()
    answers = []
    host.begin_call("hang", b"{}", answers.append)
    host.supervisor.restart("never_answers")
    host.until(lambda: answers)
    assert (answers[0].failure, answers[0].reason) == (Failure.DIED, "it was stopped (exit 0)")


@pytest.mark.parametrize("child", ["silent", "chatty_never_ready"])
def test_a_user_restarts_an_extension_that_is_starting(host: Host, child: str):
    host.add(child, timeouts={"hello": 60, "ready": 60})
    host.launch()
    wanted = WorkerState.SPAWNED if child == "silent" else WorkerState.GREETED
    host.until(lambda: host.state(child) is wanted)
    first = host.extension(child).pid
    host.supervisor.restart(child)
    host.until(lambda: host.state(child) is wanted and host.extension(child).pid != first)
    assert is_gone(first)
    assert [said for said in host.said_of(child) if said[0] != "warning"] == []


def test_a_user_restart_does_not_wait_for_the_backoff(host: Host, marks: Path):
    host.add("lives", marks, restart=LATER)
    host.start()
    host.call("die")
    host.run_for(0.1)
    host.supervisor.restart("lives")
    host.supervisor.restart("lives")
    host.until(lambda: host.is_restarted("lives"))
    host.run_for(0.1)
    assert lives(marks) == 2


def test_a_user_restart_gives_back_all_tries(host: Host, marks: Path):
    host.add("lives", marks, *["before=1"] * 3, "ready", "before=2", restart={**SOON, "max": 3})
    host.launch()
    host.until(lambda: host.state("lives") is WorkerState.FAILED)
    host.supervisor.restart("lives")
    host.until(lambda: host.state("lives") is WorkerState.READY)
    assert host.extension("lives").failure == ""
    assert life(host)["life"] == 3
    host.call("die")
    host.until(lambda: host.state("lives") is WorkerState.FAILED)
    assert lives(marks) == 4 + 2, "its exits before the restart count no more"


@pytest.mark.parametrize("code", [0, 125])
def test_a_user_restarts_an_extension_that_stays_down(host: Host, marks: Path, code: int):
    host.add("lives", marks, restart=SOON)
    host.start()
    host.call("die", code=code)
    host.run_for(0.1)
    host.supervisor.restart("lives")
    host.until(lambda: host.is_restarted("lives"))


def test_a_user_restarts_an_extension_whose_program_exists_by_now(host: Host, tmp_path: Path):
    program = tmp_path / "program"
    host._add("late", [str(program)], {})
    host.launch()
    assert host.state("late") is WorkerState.FAILED
    program.write_text(
        '#!/bin/sh\necho \'{"type":"hello","name":"late"}\'\necho \'{"type":"ready"}\'\nread line\nread line\n'
    )
    program.chmod(0o755)
    host.supervisor.restart("late")
    host.until(lambda: host.is_restarted("late"))


def test_user_restarts_of_a_stopping_extension_are_one_restart(host: Host, marks: Path):
    host.write("slow", f'hello()\nsend(type="ready")\n{STUBBORN}')
    host.start()
    first = host.extension("slow").pid
    for _ in range(3):
        host.supervisor.restart("slow")
        host.loop.run_until(lambda: False, host.loop.clock())
    assert host.state("slow") is WorkerState.STOPPING
    assert host.extension("slow").pid == first
    os.kill(first, signal.SIGKILL)
    host.until(lambda: host.is_restarted("slow"))
    host.run_for(0.1)
    assert host.cost("slow").restarts == 1
    assert host.extension("slow").pid != first
    host.stop(at_once=True)


def test_an_answer_during_the_stop_of_a_restart_counts(host: Host):
    """The worker finishes its call when it is asked to stop."""
    code = (
        'hello("a")\nsend(type="ready")\nfor frame in frames():\n'
        '    while json.loads(sys.stdin.readline())["type"] != "shutdown": pass\n'
        '    result(frame, "done")\n    send(type="shutdown_ack")\n    break'
    )
    host.write("dutiful", code)
    host.start()
    answers = []
    host.begin_call("a", b"{}", answers.append)
    host.supervisor.restart("dutiful")
    host.until(lambda: answers)
    assert answers[0].frame.content[0].text == "done"
    host.until(lambda: host.is_restarted("dutiful"))


def test_a_restart_can_be_asked_for_from_within_a_notice(tmp_path: Path, marks: Path):
    """The host is in the middle of reporting the end."""

    def on_notice(extension: Extension, kind: str, _message: str) -> None:
        if kind in ("exited", "failed"):
            host.supervisor.restart(extension.name)

    with Host(tmp_path) as host:
        host.supervisor._on_notice = on_notice
        host.add("lives", marks, "before=3", "ready", restart={**LATER, "max": 1})
        host._add("nobody", [str(tmp_path / "nobody")], {})
        host.launch()
        host.until(lambda: host.state("lives") is WorkerState.READY)
        host.call("die")
        host.until(lambda: host.state("lives") is WorkerState.READY)
        assert lives(marks) == 3
        assert host.state("nobody") in (WorkerState.FAILED, WorkerState.SPAWNED)


def test_a_restart_of_an_unknown_name_is_an_error(host: Host):
    host.start()
    with pytest.raises(KeyError):
        host.supervisor.restart("nobody")


# --- restarts, crashes and calls at random --------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 7))])
def test_every_call_ends_once_through_random_restarts_and_crashes(host: Host, tmp_path: Path, seed: int):
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

                asked.append(host.begin_call(name, b"{}", done))
        host.run_for(dice.choice([0, 0, 0.002, 0.02]))
        for each in names:
            assert host.cost(each).cpu_ms >= cpu[each]
            cpu[each] = host.cost(each).cpu_ms
    host.until(lambda: all(ended.values()))
    host.until(
        lambda: all(worker.state is WorkerState.READY for name in names for worker in host.extension(name).workers)
    )
    assert set(ended.values()) == {1}
    assert {name for name in host.tools() if name in names} == set(names)
    assert all(not worker.requests.pending for name in names for worker in host.extension(name).workers)
    assert host.stop() < PATIENCE_S
