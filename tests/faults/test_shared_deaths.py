"""The death of one part of what runs share: what waits ends once, and no other run is hurt."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from tests.support.attached_runs import ALL, runs_at, told
from tests.support.lives import is_gone
from tests.support.shared_stand import BACK
from tests.support.zot_process import wait_until
from wire import frames
from wire.dialects import attach
from wire.dialects.attach import PROTOCOL, ext_head, ext_line

if TYPE_CHECKING:
    from tests.support.shared_stand import SharedRun, Stand


def test_a_killed_run_frees_all_that_it_had_and_its_session_ends(shared: Stand) -> None:
    (run,) = runs_at(shared, number=1)
    code = "import socket, sys, time\ns = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
    code += "s.sendall(sys.stdin.buffer.read())\nprint('sent', flush=True)\nwhile True: s.recv(65536)\n"
    assert shared.host is not None
    path = shared.zot.home / "run" / f"{shared.host.pid}.attach"
    head = ext_head("all")
    lines = [
        attach.encode(attach.Attach(PROTOCOL, "1.0", 1, "doomed", "/tmp")),
        attach.encode(attach.Take("all")),
        ext_line(head, b'{"type":"event","event":"session_start"}\n'),
        *(ext_line(head, b'{"type":"tool_call","id":"%d","name":"hold","args":{}}\n' % n) for n in range(10)),
    ]
    with subprocess.Popen(["python3", "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(lines))
        process.stdin.close()
        process.stdout.readline()
        begun, ended = ["session_start", "doomed", None], ["session_end", "doomed", "shutdown"]
        wait_until(lambda: begun in told(run))
        process.kill()
        process.wait()
    wait_until(lambda: [each for each in told(run) if each[1] == "doomed"] == [begun, ended])
    assert run.text("echo", text="on") == f"on for {run.session_id}"


def test_the_death_of_the_extension_ends_each_call_of_each_run_once(shared: Stand) -> None:
    runs = runs_at(shared, number=3)
    answers: list[list[Any]] = [[], [], []]
    for mine, run in zip(answers, runs, strict=True):
        progress: list[str] = []
        for _ in range(2):
            hold = run.supervisor.registrations.tool("hold")
            run.supervisor.begin_call(hold, b"{}", mine.append, progress.append)
        run.until(lambda: progress)  # noqa: B023
    os.kill(shared.pid(runs[0], "all"), signal.SIGKILL)
    for mine, run in zip(answers, runs, strict=True):
        run.until(lambda: run.is_restarted("all"))  # noqa: B023
        assert run.text("echo", text="on") == f"on for {run.session_id}"
        assert [answer.failure for answer in mine] == [Failure.DIED] * 2
        assert "it ended (signal SIGKILL) with 6 calls pending" in run.said("all")
        run.until(lambda: ["session_start", run.session_id, None] in told(run))  # noqa: B023


def test_each_call_of_a_storm_ends_once_and_none_crosses(shared: Stand) -> None:
    """The process is killed at many moments. A run with which it died twice has a process of its own, whose frames
    name no session."""
    shared.write("all", ALL, on_failure="deny", restart={**BACK, "max": 1000})
    shared.start()
    runs = [shared.run() for _ in range(4)]
    ends: list[dict[int, list[Any]]] = [{} for _ in runs]
    judged: list[list[Any]] = [[] for _ in runs]
    begun = random.Random(7)
    for turn in range(60):
        for number, run in enumerate(runs):
            if "echo" in run.tools():
                mine = ends[number].setdefault(turn, [])
                run.begin_call("echo", json.dumps({"text": f"{number} {turn}"}).encode(), mine.append)
            event = frames.Event("tool_call", tool_id="t", tool_name="read", tool_args=frames.Raw(b"{}"))
            run.supervisor.begin_intercept(event, judged[number].append)
        if turn % 6 == 5 and (pids := shared.host.stats()["all"].pids if shared.host else ()):
            with suppress(ProcessLookupError):
                os.kill(pids[0], signal.SIGKILL)
        begun.choice(runs).run_for(begun.random() / 50)
    for number, run in enumerate(runs):
        run.until(lambda: all(ends[number].values()) and len(judged[number]) == 60)  # noqa: B023
        run.run_for(0.02)
        for turn, answers in ends[number].items():
            (answer,) = answers
            said = answer.failure or answer.frame.content[0].text
            assert said in (Failure.DIED, f"{number} {turn} for {run.session_id}", f"{number} {turn} for None")
        assert all(each.is_blocked for each in judged[number])
        assert {each.reason for each in judged[number] if not each.missing} <= {f"for {run.session_id}", "for None"}


@pytest.mark.parametrize("moment", ["idle", "call", "verdict", "start"])
def test_the_death_of_the_host_ends_all_at_once_and_leaves_nothing(shared: Stand, moment: str) -> None:
    shared.write("all", ALL, on_failure="deny")
    shared.add("never_answers", on_failure="deny")
    shared.start()
    assert shared.host is not None
    runs = [shared.run(), shared.enter()]
    pids = [shared.pid(runs[0], name) for name in ("all", "never_answers")]
    answers: list[Any] = []
    if moment == "call":
        runs[0].begin_call("hold", b"{}", answers.append)
        runs[0].run_for(0.05)
    elif moment == "verdict":
        runs[0].supervisor.begin_intercept(
            frames.Event("tool_call", tool_id="t", tool_name="read", tool_args=frames.Raw(b"{}")), answers.append
        )
    elif moment == "start":
        runs[1].launch()
    shared.host.running.process.kill()
    shared.host.running.process.wait()
    for run in runs[: 2 if moment == "start" else 1]:
        run.until(lambda: run.state("all") is WorkerState.FAILED)  # noqa: B023
        assert f"its host (pid {shared.host.pid}) has ended" in run.extension("all").failure
        assert run.ask().is_blocked
        assert run.tools() == set()
        assert [message for _, message in run.said_of("all")].count(run.extension("all").failure) == 1
    if moment in ("call", "verdict"):
        runs[0].until(lambda: answers)
        runs[0].run_for(0.05)
        assert len(answers) == 1
    wait_until(lambda: all(is_gone(pid) for pid in pids))


def test_a_stopped_host_costs_deadlines_and_no_more(shared: Stand) -> None:
    shared.write("all", ALL, on_failure="deny", timeouts={"tool_call": 0.2, "intercept": 0.2})
    shared.start()
    assert shared.host is not None
    run = shared.run()
    assert run.hosted is not None
    shared.host.running.signal(signal.SIGSTOP)
    try:
        assert run.call("echo", text="x").failure is Failure.TIMEOUT
        assert run.ask().is_blocked
        run.hosted.learn_use()
    finally:
        shared.host.running.signal(signal.SIGCONT)
    assert run.text("echo", text="y") == f"y for {run.session_id}"
    run.hosted.learn_use()
    assert run.hosted.connection is not None
    assert run.hosted.connection.use is not None
    assert run.hosted.connection.use.extensions["all"].calls == 3


# --- a run that kills --------------------------------------------------------------------------------------------

POISON = """
hello("work", intercept=["tool_call"])
send(type="ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        if "poison" in json.dumps(frame):
            os._exit(9)
        send(type="event_intercept_response", id=frame["id"], block=True, reason="judged " + frame["tool_id"])
    else:
        if frame["args"].get("die"):
            os._exit(9)
        result(frame, str(os.getpid()))
"""


def test_a_call_that_kills_a_guard_lets_no_question_of_another_through(shared: Stand) -> None:
    shared.write("guard", POISON, on_failure="allow", restart=BACK)
    shared.start()
    bad, good = shared.run(), shared.run()
    judged: dict[str, Any] = {}

    def ask(run: SharedRun, name: str, args: bytes = b"{}") -> None:
        event = frames.Event("tool_call", tool_id=name, tool_name="read", tool_args=frames.Raw(args))
        run.supervisor.begin_intercept(event, lambda judgement: judged.update({name: judgement}))

    for number in range(5):
        ask(good, f"good {number}")
        ask(bad, f"bad {number}", b'{"text": "poison"}')
    good.until(lambda: sum(name.startswith("good") for name in judged) == 5)
    bad.until(lambda: len(judged) == 10)
    assert [judged[f"good {number}"].reason for number in range(5)] == [f"judged good {number}" for number in range(5)]
    assert not any(judged[f"bad {number}"].is_blocked for number in range(5))


def test_a_run_with_which_it_died_twice_gets_a_process_of_its_own(shared: Stand) -> None:
    shared.write("guard", POISON, restart={**BACK, "max": 20})
    shared.start()
    bad, good = shared.run(), shared.run()
    assert bad.text("work") == good.text("work")
    for times in (1, 2):
        assert bad.call("work", die=True).failure is Failure.DIED
        good.until(lambda: good.is_restarted("guard", times))  # noqa: B023
        if times == 1:
            bad.until(lambda: bad.is_restarted("guard"))
    bad.until(lambda: bad.extension("guard").lead.pid is not None and bad.state("guard") is WorkerState.READY)
    assert "taken from its host: it died twice with a request of this run" in bad.said("guard")
    assert bad.text("work") == str(bad.extension("guard").lead.pid)
    assert good.text("work") == str(shared.pid(good, "guard"))
    assert bad.ask(tool_id="x").reason == "judged x"
    assert "taken from its host" not in good.said("guard")
