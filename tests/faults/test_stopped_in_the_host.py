"""A run whose extension a person stops in its host: it says why, and goes on when it is started again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.extension.program_worker import RestartedElsewhereError
from supervisor.loop.future import Failure
from tests.support.shared_stand import BACK, Stand, begin
from tests.support.zot_fork import run as zot_run

if TYPE_CHECKING:
    from tests.support.shared_stand import SharedRun

GUARD = """
hello("echo", "hold", intercept=["tool_call"])
send(type="ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"])
    elif frame["type"] == "tool_call" and frame["name"] == "echo":
        result(frame, "here")
"""
WHY = "it was stopped by zot ext stop; zot ext start one starts it again"


def order(stand: Stand, run: SharedRun, word: str) -> None:
    """Stops or starts it in the host, as a person does, and waits until the run knows."""
    assert stand.host is not None
    yes = ["--yes"] if word == "stop" else []
    outcome = zot_run(stand.zot, "ext", word, "one", "--host", str(stand.host.pid), *yes)
    assert outcome.status == 0, outcome
    wanted = WorkerState.BACKOFF if word == "stop" else WorkerState.READY
    run.until(lambda: run.state("one") is wanted)


def test_calls_and_verdicts_of_a_run_fail_with_the_reason_until_the_start(shared: Stand) -> None:
    shared.write("one", GUARD, on_failure="deny", restart=BACK)
    run = shared.start().run()
    assert not run.ask().is_blocked
    held = begin(run, "hold")
    order(shared, run, "stop")
    run.until(lambda: held)
    assert (held[0].failure, held[0].reason) == (Failure.DIED, WHY)
    assert run.tools() == set()
    judged = run.ask()
    assert (judged.is_blocked, WHY in judged.reason) == (True, True)
    assert "stopped by zot ext stop" in run.said("one")
    order(shared, run, "start")
    assert (run.text("echo"), run.ask().is_blocked) == ("here", False)


def test_a_run_cannot_stop_what_its_host_runs(shared: Stand) -> None:
    shared.write("one", GUARD, on_failure="deny", restart=BACK)
    run = shared.start().run()
    assert shared.host is not None
    extension = run.extension("one")
    for change in (lambda: extension.halt(lambda: None), extension.apply_limits):
        with pytest.raises(RestartedElsewhereError, match=f"--host {shared.host.pid}"):
            change()
    assert run.text("echo") == "here"
