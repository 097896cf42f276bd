"""Leases whose processes die, hang, are restarted or replaced, or end with their host."""

from __future__ import annotations

import random
import signal

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.sharing import leased_extension
from tests.support.host import LATER, ONCE, SOON
from tests.support.leasing_host import limit_to, received
from wire import frames
from wire.dialects import attach

# --- deaths ---------------------------------------------------------------------------------------------------


def test_a_crash_hurts_its_run_alone(leased, record):
    one, other = leased.run("one"), leased.run("other")
    before = other.call("pid")
    kept, crash = one.begin("keep"), one.begin("crash")
    assert {one.failure(kept).failure, one.failure(crash).failure} == {"died"}
    assert "exit 3" in one.until(attach.State, state="down").reason
    one.until(attach.Registered, 2)
    assert other.call("pid") == before
    assert one.call("pid") != before
    (restarted,) = one.all(attach.Told, kind="restarted")
    assert restarted.message == "ready again, restart 1"
    assert len(one.all(attach.Told, kind="exited")) == 1
    assert (other.all(attach.Told), other.all(attach.State, state="down"), other.all(attach.Failed)) == ([], [], [])
    begun = [each for each in received(record, "lease_begin") if each["session_id"] == "one"]
    assert len({each["pid"] for each in begun}) == len({each["id"] for each in begun}) == 2


def test_a_crash_of_an_idle_process_is_told_to_no_run(leased):
    one, other = leased.run("one"), leased.run("other")
    idle = int(other.call("pid"))
    other.end()
    leased.until(lambda: len(leased.server.runs) == 1)
    next(each for each in leased.extension("leased").workers if each.pid == idle).kill(9)
    leased.until(lambda: leased.said_of("leased"))
    one.call("pid")
    assert one.all(attach.Told) == []


@pytest.mark.parametrize("folder", ["silent", "wrong"])
def test_a_process_that_does_not_begin_its_lease_is_replaced_and_counted(leased, record, folder, monkeypatch):
    monkeypatch.setattr(leased_extension, "READY_S", 0.2)
    bad = leased.attach("bad", f"/p/{folder}")
    bad.take()
    leased.until(lambda: leased.cost("leased").timeouts >= 2)
    good = leased.run("good")
    assert good.call("pid")
    assert bad.all(attach.Registered) == []
    assert any("lease_begin" in told.message for told in bad.all(attach.Told))
    assert [each for each in (*bad.lines, *good.lines) if isinstance(each, frames.Notify | frames.Submit)] == []
    bad.end()
    assert len({each["pid"] for each in received(record, "lease_begin") if each["session_id"] == "bad"}) >= 2
    assert good.call("pid")


def test_a_process_that_never_begins_is_given_up_for_its_run_and_not_for_others(host, record, monkeypatch):
    monkeypatch.setattr(leased_extension, "READY_S", 0.1)
    host.add("lease_holder.py", record, name="leased", sessions="leased", restart={**SOON, "max": 3})
    host.start()
    bad = host.attach("bad", "/p/silent")
    bad.take()
    assert "lease_begin" in bad.until(attach.State, state="gone").reason
    assert not bad.until(attach.State, state="gone").is_private
    assert host.run("good").call("pid")


def test_a_process_that_dies_as_its_lease_begins(leased):
    bad = leased.attach("bad", "/p/dies")
    bad.take()
    good = leased.run("good")
    bad.until(attach.State, state="down")
    assert good.call("pid")
    bad.end()
    assert [each.kind for each in good.all(attach.Told)] == []


def test_lease_ready_twice_with_another_id_or_unasked_is_ignored(leased):
    one = leased.run("one", "/p/twice")
    one.call("unasked", text="lease-1")
    one.call("unasked", text="lease-99")
    other = leased.run("other")
    one.call("unasked", text="lease-2")
    assert len({one.call("pid"), other.call("pid")}) == 2
    assert len(one.all(attach.Registered)) == len(other.all(attach.Registered)) == 1
    assert leased.said_of("leased") == []


def test_lease_ready_of_another_process_does_not_begin_a_lease(leased, record, monkeypatch):
    monkeypatch.setattr(leased_extension, "READY_S", 60.0)
    one = leased.run("one")
    bad = leased.attach("bad", "/p/silent")
    bad.take()
    leased.until(lambda: len(received(record, "lease_begin")) == 2)
    one.call("unasked", text="lease-2")
    one.call("pid")
    assert bad.all(attach.Registered) == []


def test_frames_before_lease_ready_belong_to_no_run_unless_they_name_it(leased, record):
    leased.run("one").end()
    two = leased.run("two", "/p/early")
    two.call("pid")
    assert [each.message for each in two.all(frames.Notify)] == ["about this one"]
    assert (two.all(frames.Submit), two.all(frames.CallTool)) == ([], [])
    assert leased.notes == [("leased", "info", "about the session before")]
    (refused,) = received(record, "tool_result")
    assert refused["is_error"]


# --- restarts, reloads and the end ---------------------------------------------------------------------------------


def test_a_user_restarts_the_extension(leased):
    runs = [leased.run(f"s{number}") for number in range(3)]
    before = {run.call("pid") for run in runs}
    kept = runs[0].begin("keep")
    leased.supervisor.restart("leased")
    assert "it is being restarted" in runs[0].failure(kept).reason
    for run in runs:
        run.until(attach.Registered, 2)
    after = {run.call("pid") for run in runs}
    assert (len(after), after & before) == (3, set())
    assert [run.all(attach.State, state="gone") for run in runs] == [[], [], []]


def test_a_reload_with_runs_attached(leased):
    runs = [leased.run(f"s{number}") for number in range(2)]
    before = {run.call("pid") for run in runs}
    kept = runs[0].begin("keep")
    runs[0].call("pid")
    extension, outcomes = leased.extension("leased"), []
    extension.handover.reload(leased.found[0], leased.supervisor.environment_of(leased.found[0]), None, outcomes.append)
    for run in runs:
        run.until(attach.Registered, 2)
    assert outcomes[0].outcome == "reloaded"
    assert not {run.call("pid") for run in runs} & before
    assert runs[0].all(attach.Failed) == []
    assert all(run.all(attach.Told, kind="reloaded") for run in runs)
    assert len(leased.pids()) == 3, "the old process still has a call"
    runs[0].frame(frames.Cancel(kept))
    leased.until(lambda: len(leased.pids()) == 2)


def test_a_run_is_told_when_its_process_is_given_up(host, record):
    host.add("lease_holder.py", record, name="leased", sessions="leased", restart={**SOON, "max": 2})
    host.start()
    one, other = host.run("one"), host.run("other")
    one.failure(one.begin("crash"))
    one.until(attach.Registered, 2)
    one.failure(one.begin("crash"))
    gone = one.until(attach.State, state="gone")
    assert "exit 3" in gone.reason
    assert other.call("pid")
    assert other.all(attach.Told) == []
    third = host.run("third")
    assert third.call("pid") != other.call("pid")
    assert host.state("leased") is WorkerState.READY


def test_a_policy_of_no_restarts_holds_for_the_run_and_not_for_the_next(host, record):
    host.add("lease_holder.py", record, name="leased", sessions="leased", restart=ONCE)
    host.start()
    one = host.run("one")
    one.failure(one.begin("crash"))
    one.until(attach.State, state="gone")
    assert host.run("two").call("pid")
    assert len(host.extension("leased").slots) == 1, "its place is used again"


def test_a_program_that_never_starts_is_gone_for_all(host):
    host.write("leased", "sys.exit(3)", sessions="leased", restart={**SOON, "max": 2})
    host.start()
    for number in range(3):
        run = host.attach(f"s{number}")
        run.take("leased")
        run.until(attach.State, state="gone")
    host.until(lambda: host.state("leased") is WorkerState.FAILED)
    assert host.cost("leased").exits == 2


def test_a_run_waits_for_the_restart_of_its_own_process(host, record):
    """It does not take the process of the next run, with which it may die again."""
    host.add("lease_holder.py", record, name="leased", sessions="leased", restart=LATER)
    host.start()
    one, other = host.run("one"), host.run("other")
    one.failure(one.begin("crash"))
    one.until(attach.State, state="down")
    assert "exit 3" in one.failure(one.begin("pid")).reason
    pid = other.call("pid")
    other.end()
    assert host.run("third").call("pid") == pid
    assert len(one.all(attach.Registered)) == 1
    assert host.run("fourth").call("pid") != pid


def test_the_host_stops_with_leases_open_and_others_waiting(leased, monkeypatch):
    limit_to(monkeypatch, 2)
    runs = [leased.run(f"s{number}") for number in range(2)]
    waiting = leased.attach("waiting")
    waiting.take()
    kept = runs[0].begin("keep")
    runs[0].call("pid")
    leased.stop()
    assert runs[0].failure(kept).failure == "died"
    assert leased.pids() == []
    leased.server.close()
    for run in (*runs, waiting):
        leased.until(lambda run=run: run.all(attach.State) and run.is_closed)
    assert waiting.all(attach.Registered) == []
    assert leased.pids() == []


class Storm:
    """Runs that come, go and call, and processes that crash and are killed, in an order that `dice` decides."""

    def __init__(self, host, seed):
        self.host, self.dice = host, random.Random(seed)
        self.runs, self.calls, self.count = [], [], 0

    def join(self):
        if len(self.runs) < 5:
            self.count += 1
            self.runs.append(self.host.attach(f"s{self.count}"))
            self.runs[-1].take()

    def leave(self):
        if self.runs:
            self.runs.pop(self.dice.randrange(len(self.runs))).end()

    def call(self, do="whose"):
        served = [run for run in self.runs if run.all(attach.Registered)]
        if served:
            run = self.dice.choice(served)
            self.calls.append((run, run.begin(do)))

    def crash(self):
        self.call("crash")

    def kill(self):
        self.dice.choice(self.host.extension("leased").workers).kill(signal.SIGKILL)

    def replace(self):
        if self.dice.random() < 0.1:
            found, supervisor = self.host.found[0], self.host.supervisor
            handover = self.host.extension("leased").handover
            handover.reload(found, supervisor.environment_of(found), None, lambda _outcome: None)

    def restart(self):
        if self.dice.random() < 0.1:
            self.host.supervisor.restart("leased")

    def wait(self):
        self.host.run_for(self.dice.choice((0, 0.005, 0.02)))


@pytest.mark.parametrize("seed", range(3))
def test_a_storm_of_runs_crashes_kills_restarts_and_reloads(host, record, seed):
    """Each call ends once, in a process that has the lease of its run; at the end each run is served."""
    host.add("lease_holder.py", record, name="leased", sessions="leased", restart={**SOON, "max": 1000})
    host.start()
    storm = Storm(host, seed)
    actions = (
        storm.join, storm.leave, storm.call, storm.call, storm.call, storm.crash, storm.kill, storm.replace,
        storm.restart, storm.wait, storm.wait,
    )  # fmt: skip
    for _ in range(400):
        storm.dice.choice(actions)()
    for run in storm.runs:
        host.until(lambda run=run: run.call_again("whose") == run.session)
    for run, call in storm.calls:
        if run in storm.runs:
            host.until(lambda run=run, call=call: run.ends_of(call))
            (end,) = run.ends_of(call)
            assert isinstance(end, attach.Failed) or end.content[0].text == run.session
    assert len(host.pids()) <= 10
    assert all(not each.requests.pending for each in host.extension("leased").workers)
