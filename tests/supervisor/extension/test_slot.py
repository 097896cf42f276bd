"""A worker that ends is restarted in its slot as its policy says; callers and the user are told why."""

from __future__ import annotations

import os
import re
import resource
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.extension.extension import Extension
from supervisor.extension.host_context import EventSink, HostContext
from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from supervisor.process import fd_limit
from supervisor.process.shared_table import SharedProcessTable
from supervisor.process.teardown import stop_all
from supervisor.profile.stall_profiles import StallProfiles
from tests.support.host import LATER, SOON, Host
from tests.support.lives import is_gone, life, lives, turn_start
from tests.support.patience import PATIENCE_S
from wire.dialects.base import HostInfo

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host import Host


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "life"


# --- a crash is followed by a start ---------------------------------------------------------------------------


def test_a_crash_fails_its_call_and_the_next_worker_takes_over(host: Host, marks: Path):
    host.add("lives", marks, restart=SOON)
    host.start()
    first = life(host)
    answer = host.call("die", code=7)
    assert (answer.failure, answer.reason) == (Failure.DIED, 'it ended (exit 7): "life 0"')
    assert host.state("lives") is not WorkerState.READY
    assert host.tools() == set()
    host.until(lambda: host.is_restarted("lives"))
    second = life(host)
    assert (first["life"], second["life"]) == (0, 1)
    assert first["pid"] != second["pid"]
    log = host.extension("lives").log.path
    exited, restarted = host.said_of("lives")
    assert exited == (
        "exited",
        f'it ended (exit 7) with 1 call pending: "life 0"; restarting it in 0.0 s (log: {log})',
    )
    assert restarted == ("restarted", "ready again, restart 1")
    cost = host.cost("lives")
    assert (cost.state, cost.exits, cost.restarts, cost.errors, cost.exit_status) == ("ready", 1, 1, 1, "exit 7")
    assert host.extension("lives").failure == ""


def test_all_pending_calls_fail_once_when_their_worker_dies(host: Host, marks: Path):
    host.write(
        "deaf", 'hello("a")\nsend(type="ready")\nfor _ in range(3): sys.stdin.readline()\nos._exit(3)', restart=LATER
    )
    host.start()
    answers = []
    for _ in range(2):
        host.begin_call("a", b"{}", answers.append)
    host.until(lambda: len(answers) == 2)
    host.run_for(0.1)
    assert [(answer.failure, answer.reason) for answer in answers] == [(Failure.DIED, "it ended (exit 3)")] * 2
    assert host.said_of("deaf")[0][1].startswith("it ended (exit 3) with 2 calls pending; restarting it in ")


@pytest.mark.parametrize(
    ("policy", "code", "is_restarted"),
    [("transient", 1, True), ("transient", 0, False), ("permanent", 0, True), ("temporary", 1, False)],
)
def test_the_restart_policy_is_followed(host: Host, marks: Path, policy: str, code: int, is_restarted: bool):
    host.add("lives", marks, restart={**SOON, "policy": policy})
    host.start()
    host.call("die", code=code)
    if is_restarted:
        host.until(lambda: host.is_restarted("lives"))
        assert life(host)["life"] == 1
    else:
        host.run_for(0.1)
        assert (host.state("lives"), lives(marks)) == (WorkerState.FAILED, 1)


@pytest.mark.parametrize(("code", "policy"), [(125, "permanent"), (78, "transient")])
def test_an_exit_with_a_no_restart_code_is_final(host: Host, marks: Path, code: int, policy: str):
    host.add("lives", marks, restart={**SOON, "policy": policy, "no_restart_exit": [78]})
    host.start()
    host.call("die", code=code)
    host.run_for(0.1)
    assert (host.state("lives"), lives(marks)) == (WorkerState.FAILED, 1)
    ((kind, line),) = host.said_of("lives")
    assert kind == "exited"
    assert f'it ended (exit {code}) with 1 call pending: "life 0"; not restarted: exit {code} asks for that' in line
    assert host.call_of("lives", "life").reason == f'it ended (exit {code}): "life 0"'


def test_a_signal_from_outside_is_a_crash(host: Host, marks: Path):
    host.add("lives", marks, restart=SOON)
    host.start()
    os.kill(host.extension("lives").pid, signal.SIGKILL)
    host.until(lambda: host.is_restarted("lives"))
    assert host.cost("lives").exit_status == "signal SIGKILL"


def test_workers_that_die_while_they_are_written_to_are_all_replaced(host: Host, tmp_path: Path):
    """Their exits and broken pipes are found in one pass of the loop, in any order."""
    for number in range(4):
        host.add("lives", tmp_path / f"life{number}", name=f"x{number}", restart=SOON)
    host.start()
    answers: list[Any] = []
    for number in range(4):
        os.kill(host.extension(f"x{number}").pid, signal.SIGKILL)
        turn_start(host)
        host.begin_call("life", b"{}", answers.append)
    host.until(lambda: all(host.is_restarted(f"x{number}") for number in range(4)))
    host.until(lambda: len(answers) == 4)
    assert all(host.cost(f"x{number}").exits == 1 for number in range(4))


@pytest.mark.parametrize(
    ("dice", "words"),
    [(0.0, "restarting it in 0.9 s"), (1.0, "restarting it in 1.5 s"), (0.5, "restarting it in 1.2 s")],
)
def test_jitter_makes_the_backoff_longer_or_shorter(host: Host, tmp_path: Path, dice: float, words: str):
    host.write("once", "sys.exit(1)", restart={"backoff_s": [1.2, 30]})
    said = []

    table, profiles = SharedProcessTable(host.loop), StallProfiles(host.loop, dict)
    context = HostContext(host.loop, HostInfo("1", "p", "m", "/"), tmp_path, table, profiles)
    sink = EventSink(notice=lambda _kind, message: said.append(message))
    extension = Extension(context, host.found[0], lambda _extension: sink, dice=lambda: dice)
    extension.start(dict(os.environ))
    host.until(lambda: said)
    stop_all(host.loop, extension.retire())
    extension.close()
    assert words in said[0]


def test_a_worker_is_not_started_before_the_backoff_is_over(host: Host, marks: Path):
    host.add("lives", marks, restart={"backoff_s": [0.4, 30]})
    host.start()
    host.extension("lives").dice = lambda: 0.5
    crashed = host.loop.clock()
    host.call("die")
    host.until(lambda: host.is_restarted("lives"))
    assert host.loop.clock() - crashed >= 0.4


# --- and when it is not ---------------------------------------------------------------------------------------


def test_a_worker_that_never_starts_is_given_up_with_the_reason(host: Host, marks: Path):
    host.add("lives", marks, "before=3", restart={**SOON, "max": 3})
    host.launch()
    host.until(lambda: host.state("lives") is WorkerState.FAILED)
    host.run_for(0.1)
    assert lives(marks) == 3
    extension = host.extension("lives")
    failure = extension.failure
    assert re.fullmatch(r'3 exits in \d s, last exit 3: "life 2"', failure)
    kinds, lines = zip(*host.said_of("lives"), strict=True)
    assert kinds == ("exited", "exited", "failed")
    assert re.fullmatch(
        re.escape('it exited before its hello (exit 3): "life 0"; restarting it in ') + r"0\.\d s \(log: .*\)",
        lines[0],
    )
    assert lines[2] == f"{failure}; given up: zot ext restart lives tries again (log: {extension.log.path})"
    stats = host.supervisor.stats()["lives"]
    assert (stats.state, stats.failure, stats.exits, stats.pids) == ("failed", failure, 3, ())
    assert not extension.was_ready


@pytest.mark.parametrize("child", ["silent", "first_frame_not_hello"])
def test_a_worker_that_breaks_the_handshake_each_time_is_given_up(host: Host, child: str):
    host.add(child, restart={**SOON, "max": 3}, timeouts={"hello": 0.2 if child == "silent" else 10})
    host.launch()
    host.until(lambda: host.state(child) is WorkerState.FAILED)
    why = "said no hello within 0.2 s" if child == "silent" else "its first frame must be hello, not register_tool"
    assert re.fullmatch(rf"3 exits in \d s, last {why}", host.extension(child).failure)
    host.until(lambda: not host.extension(child).child.is_running)


def test_a_worker_that_crashes_after_each_start_is_given_up(host: Host, marks: Path):
    host.add("lives", marks, restart={**SOON, "max": 3}, name="doomed")
    host.add("echo")
    host.start()
    for number in range(3):
        host.until(lambda number=number: host.is_restarted("doomed", number))
        host.call("die", code=9)
    assert host.state("doomed") is WorkerState.FAILED
    failure = host.extension("doomed").failure
    assert re.fullmatch(r'3 exits in \d s, last exit 9: "life 2"', failure)
    answer = host.call_of("doomed", "life")
    assert (answer.failure, answer.reason) == (Failure.DIED, failure)
    judgement = host.ask()
    assert [(missing.extension, missing.reason, missing.denied) for missing in judgement.missing] == [
        ("doomed", failure, False)
    ]
    assert ("no_verdict", failure) in [
        (kind, re.sub(r"^gave no verdict on tool_call: (.*); allowed;.*$", r"\1", line))
        for kind, line in host.said_of("doomed")
    ]
    assert host.supervisor.registrations.owner_of("life") is host.extension("doomed")
    assert host.tools() == {"echo"}


def test_a_program_that_is_not_there_is_not_tried_again(host: Host, tmp_path: Path):
    host._add("nobody", [str(tmp_path / "no such program")], {"restart": {**SOON, "policy": "permanent"}})
    host.launch()
    host.run_for(0.1)
    ((kind, line),) = host.said_of("nobody")
    assert kind == "failed"
    assert line.startswith(f"cannot start {tmp_path}/no such program: no such file (log: ")
    assert host.state("nobody") is WorkerState.FAILED


def test_a_start_for_which_there_are_no_descriptors_is_tried_again(host: Host):
    host.start()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    host.add("echo", name="late", restart={**SOON, "backoff_s": [0.1, 0.1]})
    lowest = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 3, hard))  # its log and its pipes take seven
    try:
        host.launch()
        assert host.state("late") is WorkerState.BACKOFF
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    host.until(lambda: host.state("late") is WorkerState.READY)
    assert host.text("echo", text="x") == "x"
    kind, line = host.said_of("late")[0]
    assert kind == "exited"
    assert re.search(r"Too many open files \(raise ulimit -n.*, now \d+\); restarting it in 0.1 s", line)


def test_a_crash_while_there_is_no_descriptor_left_is_survived(host: Host, marks: Path, tmp_path: Path):
    host.add("grandchild", tmp_path / "pid", restart=SOON)
    host.start()
    grandchild = int((tmp_path / "pid").read_text())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        os.kill(host.extension("grandchild").pid, signal.SIGKILL)
        host.until(lambda: host.state("grandchild") is WorkerState.BACKOFF)
        host.supervisor.sample()
        host.run_for(0.1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    host.until(lambda: host.is_restarted("grandchild"))
    assert is_gone(grandchild), "what could not be seen was not taken for gone"


@pytest.mark.usefixtures("healthy")
def test_a_start_without_a_free_descriptor_fails_and_leaks_none(host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fd_limit._Known, "wanted", 0)  # other tests of this process may have asked for descriptors
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    host.start()
    in_use = len(os.listdir("/proc/self/fd"))
    for spare in range(1, 12):
        host.found.clear()
        host.add("echo", name=f"late{spare}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + spare, hard))
        try:
            host.launch()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        late = host.extension(f"late{spare}")
        if late.child is None:
            assert [line.partition(" (log")[0] for _, line in host.said_of(late.name)] == [
                f"cannot start {late.found.program}: Too many open files (raise ulimit -n, now {in_use + spare})"
            ]
            assert len(os.listdir("/proc/self/fd")) <= in_use + 2 * spare, "the log and its times"
        in_use = len(os.listdir("/proc/self/fd"))
    assert host.extension("late1").child is None
    assert host.extension("late11").child is not None
    assert host.supervisor.settle(host.loop.clock() + PATIENCE_S)


# --- restarts that a host holds ---------------------------------------------------------------------------------

SECOND_START = """
if not os.path.exists(MARK):
    open(MARK, "w").close()
    sys.exit("the desk is closed")
hello("open")
send(type="ready")
for frame in frames(): result(frame, "open")
"""


@pytest.mark.parametrize("required", [False, True])
def test_the_restart_after_a_failed_start_may_be_held(host: Host, tmp_path: Path, required: bool):
    host.write("desk", f"MARK = {str(tmp_path / 'mark')!r}{SECOND_START}", restart=SOON, required=required)
    host.supervisor.restarts.hold()
    host.start()
    if required:
        host.until(lambda: host.state("desk") is WorkerState.READY)
        return
    assert host.state("desk") is WorkerState.FAILED
    ((kind, line),) = host.said_of("desk")
    assert (kind, "again" in line) == ("failed", False)
    assert host.extension("desk").failure == 'it exited before its hello (exit 1): "the desk is closed"'
    host.supervisor.restarts.release()
    assert "; it is restarted in 0.0 s" in host.extension("desk").failure
    host.until(lambda: host.state("desk") is WorkerState.READY)
    assert host.text("open") == "open"
    assert host.said_of("desk")[1:] == [("restarted", "ready again, restart 1")]
