"""One row for each fault, for an extension that is private to a run and for one that runs share through a host: deaths,
silence, and that nothing is left. The same for all that is said: `test_hosted_talk`.
"""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from tests.support.lives import is_gone
from tests.support.shared_stand import BACK, STAYS_DOWN, begin
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.shared_stand import Stand

GUARD = """
from pathlib import Path
life = Path(sys.argv[0] + ".life")
number = int(life.read_text() or 0) if life.exists() else 0
life.write_text(str(number + 1))
hello(intercept=["tool_call"])
send(type="ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        if number < DEATHS:
            os._exit(7)
        send(type="event_intercept_response", id=frame["id"], block=True, reason="seen in life %d" % number)
"""
"""A guard that dies at its first question in its first `DEATHS` lives, and then refuses."""


# --- deaths ------------------------------------------------------------------------------------------------------


def test_a_crash_in_a_call_fails_it_at_once_with_the_reason(stand: Stand) -> None:
    stand.add("dies_in_call", restart=STAYS_DOWN)
    stand.add("echo.sh")
    run = stand.start().run()
    answer = run.call("die")
    assert (answer.frame, answer.failure) == (None, Failure.DIED)
    assert 'it ended (exit 7): "dies_in_call: something terrible happened"' in answer.reason
    run.until(lambda: run.state("dies_in_call") is WorkerState.BACKOFF)
    assert "it ended (exit 7)" in run.call_of("dies_in_call", "die").reason
    assert run.tools() == {"echo"}
    run.until(lambda: "restarting it in" in run.said("dies_in_call"))
    assert "it ended (exit 7) with 1 call pending" in run.said("dies_in_call")
    assert run.text("echo", text="unharmed") == "unharmed"
    assert run.said_of("echo") == []
    assert run.cost("dies_in_call").exits == 1


def test_a_killed_one_is_back_with_its_registrations_of_now(stand: Stand) -> None:
    stand.add("lives", stand.zot.folder / "marks", "ready=one", "ready=two", restart=BACK)
    run = stand.start().run()
    assert run.tools() == {"life", "die", "one"}
    os.kill(stand.pid(run, "lives"), signal.SIGKILL)
    run.until(lambda: run.is_restarted("lives"))
    assert run.tools() == {"life", "die", "two"}
    assert json.loads(run.text("two"))["life"] == 1
    run.until(lambda: "ready again, restart 1" in run.said("lives"))
    assert not run.ask().is_blocked


@pytest.mark.parametrize("on_failure", ["allow", "deny"])
def test_a_crash_in_a_verdict(stand: Stand, on_failure: str) -> None:
    """Direct: no verdict. Through a host the question is asked once more: the death may be another run's fault."""
    stand.write("guard", "DEATHS = 1" + GUARD, on_failure=on_failure, restart=BACK)
    run = stand.start().run()
    judged = run.ask(waits=False)
    if stand.is_hosted:
        assert (judged.blocked_by, judged.reason) == ("guard", "seen in life 1")
        assert judged.missing == ()
    else:
        assert judged.is_blocked is (on_failure == "deny")
        assert "it ended (exit 7)" in judged.missing[0].reason
    run.until(lambda: run.is_restarted("guard"))
    assert run.ask().reason == "seen in life 1"


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("on_failure", ["allow", "deny"])
def test_a_guard_that_dies_with_the_repeated_question_gives_no_verdict(
    stand: Stand, on_failure: str, waits: bool
) -> None:
    stand.write("guard", "DEATHS = 9" + GUARD, on_failure=on_failure, restart=BACK)
    run = stand.start().run()
    judged = run.ask(waits=waits)
    assert judged.is_blocked is (on_failure == "deny")
    assert len(judged.missing) == 1


def test_a_guard_that_is_not_restarted_gives_no_verdict_at_once(stand: Stand) -> None:
    stand.write("guard", "DEATHS = 9" + GUARD, on_failure="deny", restart={"policy": "temporary"})
    run = stand.start().run()
    for waits in (False, True):
        judged = run.ask(waits=waits)
        assert judged.is_blocked
        assert [missing.extension for missing in judged.missing] == ["guard"]


def test_one_that_is_given_up_says_so(stand: Stand) -> None:
    stand.add("lives", stand.zot.folder / "marks", restart={**BACK, "max": 2})
    run = stand.start().run()
    os.kill(stand.pid(run, "lives"), signal.SIGKILL)
    run.until(lambda: run.is_restarted("lives"))
    os.kill(stand.pid(run, "lives"), signal.SIGKILL)
    run.until(lambda: run.state("lives") is WorkerState.FAILED)
    assert "given up" in run.said("lives")
    assert "2 exits" in run.call_of("lives", "life").reason
    assert run.tools() == set()


def test_one_that_exits_at_once_holds_nobody_up(stand: Stand) -> None:
    stand.add("exits_before_hello", restart=STAYS_DOWN)
    stand.add("echo.sh")
    run = stand.start().enter()
    run.launch()
    run.until(lambda: run.tools() == {"echo"})
    run.until(lambda: "it exited before its hello (exit 3)" in run.extension("exits_before_hello").failure)
    assert run.text("echo", text="here") == "here"


# --- silence -----------------------------------------------------------------------------------------------------


def test_a_hanging_one_costs_its_deadline_and_is_restarted(stand: Stand) -> None:
    stand.add("hangs", timeouts={"tool_call": 0.2}, restart=BACK)
    run = stand.start().run()
    for _ in range(3):
        answer = run.call("hang")
        assert (answer.failure, answer.reason) == (Failure.TIMEOUT, "no answer within 0.2 s")
    run.until(lambda: run.is_restarted("hangs"))
    assert "it hangs: 3 requests in a row without an answer in time" in run.said("hangs")


def test_a_late_answer_is_dropped(stand: Stand) -> None:
    stand.add("answers_late", timeouts={"tool_call": 0.3})
    run = stand.start().run()
    assert run.call("late").failure is Failure.TIMEOUT
    assert run.text("late").startswith("answer to ")


@pytest.mark.parametrize(
    ("on_failure", "strict", "blocked"), [("allow", False, False), ("deny", False, True), ("allow", True, True)]
)
def test_no_verdict(stand: Stand, on_failure: str, strict: bool, blocked: bool) -> None:
    stand.add("never_answers", on_failure=on_failure, timeouts={"intercept": 0.1})
    run = stand.start().run(strict_guards=strict)
    for waits in (False, True):
        judged = run.ask(waits=waits)
        assert judged.is_blocked is blocked
        assert "no answer within 0.1 s" in judged.missing[0].reason


def test_one_that_never_reads_fails_its_calls_alone(stand: Stand) -> None:
    stand.add("deaf", timeouts={"tool_call": 0.3}, restart=STAYS_DOWN)
    stand.add("echo.sh")
    run = stand.start().run()
    answers = [begin(run, "deaf", text="x" * 200_000) for _ in range(20)]
    assert run.text("echo", text="here") == "here"
    run.until(lambda: all(answers))
    assert {answer.failure for (answer,) in answers} <= {Failure.TIMEOUT, Failure.NOT_READING, Failure.DIED}
    assert run.text("echo", text="still") == "still"


# --- nothing is left ---------------------------------------------------------------------------------------------


def test_nothing_is_left(stand: Stand, tmp_path: Path) -> None:
    pid_file = tmp_path / "grandchild.pid"
    stand.add("grandchild", pid_file)
    stand.add("ignores_shutdown")
    stand.start()
    before = len(os.listdir("/proc/self/fd"))
    with stand.enter() as run:
        run.start()
        run.call_of("grandchild", "echo", text="x")
        pids = [stand.pid(run, name) for name in ("grandchild", "ignores_shutdown")]
        assert len(os.listdir("/proc/self/fd")) > before
    assert len(os.listdir("/proc/self/fd")) == before
    if stand.host is not None:
        assert not any(is_gone(pid) for pid in pids), "they are the host's"
        stand.host.running.signal(signal.SIGTERM)
        stand.host.running.finish()
    wait_until(lambda: all(is_gone(pid) for pid in [*pids, int(pid_file.read_text())]))
