"""The workers of a generation must register the same; one that differs is left out."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import pytest

from supervisor.extension.lifecycle import WorkerState
from tests.support.host import SOON
from tests.support.worker_pool import kill, workers_of
from wire import frames

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host import Host


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


DIFFERENCES = {
    "a tool more": (["ready", "ready=a"], "tools differ (a)"),
    "other tools": (["ready=a", "ready=b"], "tools differ (a, b)"),
}


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_a_worker_that_registers_otherwise_fails_with_the_difference(host: Host, tmp_path: Path, difference: str):
    words, said = DIFFERENCES[difference]
    host.add("lives", tmp_path / "life", *words, workers=2, restart=SOON)
    host.start()
    extension = host.extension("lives")
    host.until(lambda: WorkerState.FAILED in {worker.state for worker in extension.workers})
    host.run_for(0.1)
    odd = next(worker for worker in extension.workers if worker.state is WorkerState.FAILED)
    ((kind, line),) = host.said_of("lives")
    assert kind == "failed"
    assert re.match(rf'worker {odd.index + 1} is not like the others: {re.escape(said)}: "life \d" \(log: ', line)
    assert len(list(tmp_path.glob("life.*"))) == 2, "it is not tried again"
    assert (extension.state, extension.failure) == (WorkerState.READY, "")
    assert host.text("life")


def test_a_tool_with_another_description_is_named(host: Host, marks: Path):
    code = (
        f"marks = {str(marks)!r}\ntry:\n    os.close(os.open(marks, os.O_CREAT | os.O_EXCL)); text = 'one'\n"
        "except FileExistsError: text = 'two'\n"
        'hello()\nsend(type="register_tool", name="t", description=text, schema={})\nsend(type="ready")\n'
        "for _ in frames(): pass"
    )
    host.write("pool", code, workers=2, restart=SOON)
    host.start()
    host.until(lambda: WorkerState.FAILED in {worker.state for worker in workers_of(host)})
    assert "is not like the others: tool 't' differs" in host.said_of("pool")[0][1]


def test_a_restarted_worker_that_registers_otherwise_fails(host: Host, tmp_path: Path):
    host.add("lives", tmp_path / "life", "ready=a", "ready=a", "ready=b", workers=2, restart=SOON)
    host.start()
    extension = host.extension("lives")
    host.until(lambda: all(worker.state is WorkerState.READY for worker in extension.workers))
    os.kill(extension.workers[0].pid, signal.SIGKILL)
    host.until(lambda: extension.workers[0].state is WorkerState.FAILED)
    assert host.tools() == {"life", "die", "a"}
    assert "worker 1 is not like the others: tools differ (a, b)" in host.said_of("lives")[-1][1]


def test_the_registrations_of_a_full_restart_count(host: Host, tmp_path: Path):
    host.add("lives", tmp_path / "life", "ready=a", "ready=a", "ready=b", workers=2, restart=SOON)
    host.start()
    extension = host.extension("lives")
    host.until(lambda: all(worker.state is WorkerState.READY for worker in extension.workers))
    host.supervisor.restart("lives")
    host.until(lambda: host.cost("lives").restarts == 2)
    assert host.tools() == {"life", "die", "b"}


def test_the_first_worker_that_is_ready_sets_the_registrations(host: Host, tmp_path: Path):
    host.add("lives", tmp_path / "life", "greeted=3", "ready=a", workers=2, restart=SOON)
    host.start()
    extension = host.extension("lives")
    host.until(lambda: all(worker.state is WorkerState.READY for worker in extension.workers))
    assert host.tools() == {"life", "die", "a"}
    assert [kind for kind, _ in host.said_of("lives") if kind == "failed"] == []


# --- tools registered late ------------------------------------------------------------------------------------


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


def test_a_tool_registered_late_by_one_worker_is_no_difference(host: Host):
    """Only one worker sees the event after which it registers the tool."""
    host.write("pool", LATE, workers=2, restart=SOON)
    host.start()
    host.until(lambda: all(worker.state is WorkerState.READY for worker in workers_of(host)))
    host.supervisor.tell(frames.Event("turn_start", step=1))
    host.until(lambda: any("late" in worker.registry.tools for worker in workers_of(host)))
    kill(host, 1)
    host.until(lambda: host.cost("pool").restarts == 1 or workers_of(host)[1].state is WorkerState.FAILED)
    assert [worker.state for worker in workers_of(host)] == [WorkerState.READY, WorkerState.READY]


def test_a_tool_registered_late_is_offered_also_after_a_restart(host: Host):
    host.write("pool", LATE, workers=2, restart=SOON)
    host.start()
    host.until(lambda: all(worker.state is WorkerState.READY for worker in workers_of(host)))
    for index in (0, 1):
        kill(host, index)
        host.until(lambda index=index: host.cost("pool").restarts == index + 1)
    host.supervisor.tell(frames.Event("turn_start", step=1))
    host.until(lambda: any("late" in worker.registry.tools for worker in workers_of(host)))
    assert host.tools() == {"who", "late"}
