"""`agent.bisect.trial_process`, with small programs in the place of zot."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from agent.bisect.outcome import RunOutcome, TrialEnding
from agent.bisect.trial_process import TrialProcesses
from agent.trial.plan import FoundNames, TrialPlan
from supervisor.process.child import SpawnError
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def processes() -> Iterator[TrialProcesses]:
    with TrialProcesses() as processes:
        yield processes


def run(processes: TrialProcesses, script: str, most_s: float = PATIENCE_S) -> RunOutcome:
    return processes.run(["/bin/sh", "-c", script], TrialPlan(str(processes.report)), most_s)


def test_a_trial_has_the_environment_of_its_user_a_plan_and_a_report(
    processes: TrialProcesses, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MINE", "kept")
    script = """printf '{"type":"result","text":"%s"}\\n' "$MINE"; grep -q report "$ZOT_TRIAL" && exit 4"""
    outcome = run(processes, script)
    assert (outcome.text, outcome.ending.exit_code, outcome.ending.was_ended) == ("kept", 4, False)
    report = f"""printf '{{"type":"found","names":["a"]}}\\n' > {processes.report}"""
    assert run(processes, report).names == FoundNames(("a",)).names
    assert run(processes, "true").names == (), "the report of the trial before is gone"


def test_a_trial_that_takes_too_long_is_told_to_end_and_its_output_counts(processes: TrialProcesses):
    script = """trap 'echo "{\\"type\\":\\"result\\",\\"text\\":\\"told\\"}"; exit 6' TERM; trap '' INT
while :; do sleep 0.01; done"""
    outcome = run(processes, script, 0.3)
    assert (outcome.text, outcome.ending.exit_code, outcome.ending.was_ended) == ("told", 6, True)


def test_a_trial_that_does_not_end_when_told_is_killed(processes: TrialProcesses, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agent.bisect.trial_process.STOP_S", 0.1)
    outcome = run(processes, "trap '' TERM INT; while :; do sleep 0.01; done", 0.1)
    assert outcome.ending.exit_code == -signal.SIGKILL


def test_a_signal_ends_the_running_trial_first(processes: TrialProcesses):
    with pytest.raises(KeyboardInterrupt):
        run(processes, f"kill -TERM {os.getpid()}; exec sleep 600")


def test_a_check_gets_the_output_and_the_status_and_its_last_line_is_kept(processes: TrialProcesses):
    outcome = RunOutcome(TrialEnding(3, 1.0), (), "")
    ended = processes.check(
        'read -r line; echo "$line, $ZOT_EXIT_STATUS"; exit 125', outcome, b"said\nmore\n", PATIENCE_S
    )
    assert ended == (125, "said, 3")
    assert processes.check("exec sleep 600", outcome, b"", 0.1) == (None, "")
    assert processes.check("exit 0", outcome, b"x" * 10_000_000, PATIENCE_S) == (0, "")


def test_a_program_that_cannot_be_started_is_named(processes: TrialProcesses):
    with pytest.raises(SpawnError, match="no-such-zot"):
        processes.run(["no-such-zot"], TrialPlan(""), 1.0)
