"""Runs of an extension that a person stops in its host: they wait for its start, and none starts one of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor import orders
from supervisor.extension.lifecycle import WorkerState
from tests.support.host import SOON
from wire import frames
from wire.dialects import attach

if TYPE_CHECKING:
    from tests.support.leasing_host import LeasingHost

SHARED = """
hello("do", intercept=["tool_call"])
send(type="ready")
for frame in frames():
    if frame["type"] == "tool_call" and frame["args"]["do"] != "hold":
        result(frame, frame["args"]["do"])
    elif frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block=False)
"""


@pytest.fixture(params=["leased", "shared"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def stopping(host: LeasingHost, record, kind: str) -> LeasingHost:
    if kind == "leased":
        host.add("lease_holder.py", record, name=kind, sessions=kind, restart=SOON)
    else:
        host.write(kind, SHARED, sessions=kind, restart=SOON, on_failure="deny")
    return host.start()


def stop(host: LeasingHost, name: str) -> None:
    done: list[bool] = []
    orders.stop(host.supervisor, name, lambda: done.append(True), consent=True)
    host.until(lambda: done)


def test_a_run_has_it_again_after_its_start(stopping: LeasingHost, kind: str):
    why = f"it was stopped by zot ext stop; zot ext start {kind} starts it again"
    run = stopping.run("one", name=kind)
    held = run.begin("hold" if kind == "shared" else "nothing")
    stopping.run_for(0.05)
    stop(stopping, kind)
    assert run.failure(held).reason == why
    down = run.until(attach.State, state="down")
    assert (down.reason, down.is_private) == (why, False)
    assert run.failure(run.begin("x")).reason == why
    stopping.run_for(0.05)
    assert (stopping.pids(kind), stopping.state(kind)) == ([], WorkerState.STOPPED)
    assert run.all(attach.State, state="gone") == []
    registered = len(run.all(attach.Registered))
    assert orders.start(stopping.supervisor, kind)
    run.until(attach.Registered, registered + 1)
    assert run.call("pid")
    assert run.all(attach.State, state="gone") == [], "a run gives up what is gone"


def test_a_run_that_comes_meanwhile_does_without(stopping: LeasingHost, kind: str):
    stop(stopping, kind)
    run = stopping.attach("late")
    (offer,) = run.attached.extensions
    assert offer.sessions == kind, "a private offer would have the run start its own"
    run.take(kind)
    gone = run.until(attach.State, state="gone")
    assert "zot ext stop" in gone.reason
    assert not gone.is_private
    stopping.run_for(0.05)
    assert stopping.pids(kind) == []


def test_a_verdict_fails_at_once(host: LeasingHost):
    host.write("shared", SHARED, sessions="shared", restart=SOON, on_failure="deny")
    host.start()
    run = host.run("one", name="shared")
    stop(host, "shared")
    run.until(attach.State, state="down")
    run.frame(frames.EventIntercept("v1", "tool_call", tool_id="t", tool_name="read"))
    assert "zot ext stop" in run.failure("v1").reason
