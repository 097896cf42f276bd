"""A person stops and starts an extension: it is no fall, no request is left waiting, and no guard opens unseen."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor import orders
from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from supervisor.monitoring.alarms import alarms_of
from supervisor.reload.watch_mode import watch
from tests.support.extension_versions import Folder, reload
from tests.support.host import LATER, SOON, Host
from tests.support.lazy_place import EVERYTHING, LazyPlace
from tests.support.lives import is_gone
from wire import frames
from wire.suggestions import UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.accounting.fall import Fall
    from supervisor.calls.tool_call import ToolAnswer

READY, STOPPED = WorkerState.READY, WorkerState.STOPPED
WHY = "it was stopped by zot ext stop; zot ext start one starts it again"
HOLDS = """
hello("hold", "echo")
send(type="ready")
for frame in frames():
    if frame["type"] == "tool_call" and frame["name"] == "echo":
        result(frame, str(os.getpid()))
"""
GUARD = """
hello("echo", intercept=["tool_call"])
send(type="ready")
for frame in frames():
    if frame["type"] == "tool_call":
        result(frame, "on")
    elif frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"])
"""


def stop(host: Host, name: str = "one", *, consent: bool = True) -> bool:
    """Stops it and waits until no process of it is left. Returns whether it was not stopped already."""
    done: list[bool] = []
    changed = orders.stop(host.supervisor, name, lambda: done.append(True), consent=consent)
    if changed:
        host.until(lambda: done)
    return changed


def start(host: Host, name: str = "one") -> None:
    assert orders.start(host.supervisor, name)
    host.until(lambda: host.state(name) is READY)


@pytest.fixture
def falls(host: Host) -> list[Fall]:
    found: list[Fall] = []
    host.supervisor.on_fall.append(lambda _extension, _worker, fall: found.append(fall))
    return found


# --- stop and start ---------------------------------------------------------------------------------------------


def test_a_call_under_way_fails_at_once_and_the_tools_are_withdrawn(host: Host, falls: list[Fall]):
    host.write("one", HOLDS, restart=SOON)
    host.start()
    pid, answers = host.extension("one").pid, list[Any]()
    host.begin_call("hold", b"{}", answers.append)
    done: list[bool] = []
    assert orders.stop(host.supervisor, "one", lambda: done.append(True), consent=False)
    host.until(lambda: answers)
    (answer,) = answers
    assert (answer.failure, answer.reason) == (Failure.DIED, WHY)
    assert host.tools() == set()
    host.until(lambda: done)
    assert is_gone(pid)
    assert host.call_of("one", "echo").reason == WHY
    stats = host.supervisor.stats()["one"]
    assert (stats.state, stats.failure, stats.exit_status, stats.unexpected_exits) == ("stopped", WHY, "exit 0", 0)
    assert (falls, stats.alarms, host.said_of("one")) == ([], (), [("stopped", "stopped by zot ext stop")])
    assert stop(host) is False, "it is stopped already"


def test_a_start_gives_all_back(host: Host, falls: list[Fall]):
    host.write("one", HOLDS)
    host.start()
    before = host.text("echo")
    stop(host)
    start(host)
    assert host.text("echo") != before
    assert orders.start(host.supervisor, "one") is False, "it runs"
    assert falls == []


def test_a_restart_starts_one_that_is_stopped(host: Host):
    host.write("one", HOLDS)
    host.start()
    stop(host)
    host.supervisor.restart("one")
    host.until(lambda: host.state("one") is READY)
    assert not host.extension("one").is_halted
    assert not host.extension("one").stays_halted


def test_a_start_waits_for_the_end_of_the_processes_that_were_stopped(host: Host, tmp_path: Path):
    """Two processes of one extension would share its data."""
    free = tmp_path / "free"
    host.write("one", f"hello('echo')\nsend(type='ready')\nfor frame in frames(): pass\n"
               f"import time\nwhile not os.path.exists({str(free)!r}): time.sleep(0.01)\n")  # fmt: skip
    host.start()
    first, done = host.extension("one").pid, list[bool]()
    orders.stop(host.supervisor, "one", lambda: done.append(True), consent=True)
    assert orders.start(host.supervisor, "one")
    assert orders.start(host.supervisor, "one"), "a second order changes nothing"
    host.run_for(0.05)
    assert host.state("one") is STOPPED
    assert not is_gone(first)
    free.touch()
    host.until(lambda: host.state("one") is READY)
    assert is_gone(first)
    assert (len(host.extension("one").all_workers), done) == (1, [True])


def test_a_stop_behind_a_start_counts(host: Host):
    host.write("one", HOLDS)
    host.start()
    done: list[bool] = []
    orders.stop(host.supervisor, "one", lambda: done.append(True), consent=True)
    orders.start(host.supervisor, "one")
    orders.stop(host.supervisor, "one", lambda: done.append(True), consent=True)
    host.until(lambda: len(done) == 2)
    host.run_for(0.05)
    assert (host.state("one"), host.extension("one").pid) == (STOPPED, None)


def test_one_that_does_not_listen_is_killed(host: Host):
    host.write("one", "hello('echo')\nsignal.signal(15, signal.SIG_IGN)\nsend(type='ready')\nimport time\n"
               "while True: time.sleep(60)\n")  # fmt: skip
    host.start()
    pid = host.extension("one").pid
    for worker in host.extension("one").workers:
        worker.patience = type(worker.patience)(hint=0.01, ask=0.01, term=0.01)
    stop(host)
    assert is_gone(pid)


@pytest.mark.parametrize("restart", [LATER, {"policy": "temporary"}])
def test_one_that_has_fallen_is_stopped_and_started_again(host: Host, restart: dict[str, Any]):
    host.write("one", HOLDS, restart=restart)
    host.start()
    os.kill(host.extension("one").pid or 0, signal.SIGKILL)
    host.until(lambda: host.state("one") in (WorkerState.BACKOFF, WorkerState.FAILED))
    stop(host)
    assert host.state("one") is STOPPED
    assert list(alarms_of(host.extension("one"), 0.0, 0.0)) == []
    start(host)


def test_one_in_backoff_is_started_at_once(host: Host):
    host.write("one", HOLDS, restart=LATER)
    host.start()
    os.kill(host.extension("one").pid or 0, signal.SIGKILL)
    host.until(lambda: host.state("one") is WorkerState.BACKOFF)
    start(host)


def test_one_that_is_starting_is_stopped_and_a_verdict_no_longer_waits_for_it(host: Host):
    host.write("one", "for line in sys.stdin: pass\n")
    host.launch()
    assert host.supervisor.guards.must_wait("tool_call")
    stop(host)
    assert not host.supervisor.guards.must_wait("tool_call")
    assert not host.ask().is_blocked


def test_all_workers_stop_and_start(host: Host):
    host.write("one", HOLDS, workers=3)
    host.start()
    pids = [worker.pid for worker in host.extension("one").workers]
    stop(host)
    assert all(map(is_gone, pids))
    assert orders.start(host.supervisor, "one")
    host.until(lambda: [worker.state for worker in host.extension("one").workers] == [READY] * 3)


def test_unknown_names_have_suggestions(host: Host):
    host.write("one", HOLDS)
    host.start()
    for order in (lambda: stop(host, "onne"), lambda: start(host, "onne")):
        with pytest.raises(UnknownNameError) as error:
            order()
        assert str(error.value) == "no such extension: 'onne'; did you mean 'one'?"


# --- guards -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("manifest", "reasons"),
    [
        ({}, ("it guards tool_call: while it is stopped, these are allowed without it (on_failure allow)",)),
        ({"on_failure": "deny", "required": True},
         ("it guards tool_call: while it is stopped, these are denied (on_failure deny)", "it is required")),
    ],
)  # fmt: skip
def test_a_guard_is_stopped_only_with_consent(host: Host, manifest: dict[str, Any], reasons: tuple[str, ...]):
    host.write("one", GUARD, **manifest)
    host.start()
    with pytest.raises(orders.ConsentNeededError) as needed:
        stop(host, consent=False)
    assert needed.value.reasons == reasons
    assert host.state("one") is READY
    stop(host)
    assert host.state("one") is STOPPED


@pytest.mark.parametrize("on_failure", ["allow", "deny"])
def test_a_stopped_guard_gives_no_verdict_and_its_on_failure_decides(host: Host, falls: list[Fall], on_failure: str):
    host.write("one", GUARD, on_failure=on_failure)
    host.start()
    assert not host.ask().is_blocked
    stop(host)
    for waits in (True, False):
        assert host.ask(waits=waits).is_blocked == (on_failure == "deny")
    assert all(WHY in message for kind, message in host.said_of("one") if kind == "no_verdict")
    kinds = [kind for kind, _ in host.said_of("one")]
    assert kinds == ["stopped", "no_verdict", "no_verdict"], "each is told"
    assert falls == [], "the user wants it so"
    assert host.extension("one").account.no_verdicts == 0, "no alert is due"
    start(host)
    assert not host.ask().is_blocked


def test_one_that_may_guard_anything_and_was_never_ready_denies_all_while_it_is_stopped(host: Host):
    host.write("one", "sys.exit(3)", on_failure="deny")
    host.start()
    with pytest.raises(orders.ConsentNeededError, match="it was never ready, so its guards are unknown"):
        stop(host, consent=False)
    stop(host)
    assert host.ask().is_blocked
    assert host.ask("user_prompt", text="x").is_blocked


# --- lazy ones --------------------------------------------------------------------------------------------------


def test_one_that_sleeps_is_not_woken_while_it_is_stopped(tmp_path: Path):
    place = LazyPlace(tmp_path)
    place.write("one", EVERYTHING)
    place.learn()
    place.book.write_text("")
    with place.host() as host:
        assert host.state("one") is WorkerState.ASLEEP
        assert orders.start(host.supervisor, "one") is False, "it starts when it is needed"
        stop(host)
        assert host.call_of("one", "echo", text="x").reason == WHY
        host.supervisor.tell(frames.Event("turn_start", step=1))
        host.run_for(0.05)
        assert place.book.read_text() == ""
        start(host)
        assert host.text("echo", text="x") == "x"


def test_a_call_that_waits_for_a_start_fails_at_once(tmp_path: Path):
    place = LazyPlace(tmp_path)
    place.write("one", EVERYTHING)
    place.learn()
    with place.host() as host:
        answers: list[ToolAnswer] = []
        host.begin_call("echo", b'{"text": "x"}', answers.append)
        stop(host)
        assert [(answer.failure, answer.reason) for answer in answers] == [(Failure.DIED, WHY)]


# --- reloads ----------------------------------------------------------------------------------------------------


def test_a_reload_of_all_leaves_it_stopped_and_one_of_its_name_starts_it(host: Host):
    folder, other = Folder(host), Folder(host, "other")
    host.start()
    stop(host)
    folder.version("v2")
    assert [(each.name, each.outcome, each.reason) for each in reload(host)] == [
        ("one", "stopped", WHY), ("other", "reloaded", "")
    ]  # fmt: skip
    assert host.state("one") is STOPPED
    assert [kind for kind, _ in host.said_of("one")] == ["stopped"], "nothing more is said"
    assert [(each.name, each.outcome) for each in reload(host, "one")] == [("one", "started")]
    assert folder.says()["version"] == "v2"
    assert other.extension.reloads == 1


def test_the_reload_that_is_under_way_ends_with_it(host: Host, tmp_path: Path):
    folder, outcomes = Folder(host), list[Any]()
    host.start()
    folder.code("for line in sys.stdin: pass\n")
    host.reloader.begin("one", outcomes.extend)
    host.until(lambda: folder.extension.is_reloading)
    stop(host)
    host.until(lambda: outcomes)
    assert [(each.outcome, each.reason) for each in outcomes] == [("stopped", WHY)]
    assert (host.state("one"), folder.extension.is_reloading) == (STOPPED, False)


def test_a_changed_file_does_not_start_it(host: Host):
    folder, other = Folder(host), Folder(host, "other")
    host.start()
    watching = watch(host.supervisor, host.reloader, (), lambda _line: None)
    stop(host)
    folder.version("v2")
    other.version("v2")
    host.until(lambda: other.extension.reloads)
    assert (folder.extension.reloads, host.state("one")) == (0, STOPPED)
    watching.stop()


def test_the_end_of_the_host_while_it_is_being_stopped(host: Host):
    host.write("one", HOLDS)
    host.start()
    pid = host.extension("one").pid
    orders.stop(host.supervisor, "one", lambda: None, consent=True)
    host.stop()
    assert is_gone(pid)
