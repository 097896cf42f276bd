"""`setup` and `check`: their ends, their output, their bounds."""

from __future__ import annotations

from agent.batch.workspace.commands import failure, run_command
from wire.batch.outcome import CommandEnd


def run(loop, command, cwd, **settings):
    return run_command(loop, command, cwd=str(cwd), **settings)


def test_a_command_runs_in_its_folder_and_its_end_is_told(loop, tmp_path):
    end = run(loop, "pwd; echo wrong >&2; exit 3", tmp_path)
    assert (end.exit_status, end.output) == (3, f"{tmp_path}\nwrong\n")
    assert failure("check", end) == "check: exit 3: wrong"
    assert run(loop, "cat", tmp_path).exit_status == 0, "its input is empty"


def test_it_does_not_get_the_hosts_secrets(loop, tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("OF_THE_TASK", "seen")
    assert run(loop, "echo $ANTHROPIC_API_KEY$OF_THE_TASK", tmp_path).output == "seen\n"
    assert run(loop, "echo $A$OF_THE_TASK", tmp_path, env={"A": "only"}).output == "only\n"


def test_of_a_long_output_the_end_is_kept(loop, tmp_path):
    end = run(loop, "i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done; printf 'é%.0s' 1 2", tmp_path)
    assert end.output.endswith("line 8999\néé")
    assert end.output.startswith("line ")
    assert len(end.output.encode()) <= 4096


def test_a_signal_is_a_negative_status(loop, tmp_path):
    end = run(loop, "kill -9 $$", tmp_path)
    assert end.exit_status == -9
    assert failure("setup", end) == "setup: killed by signal 9"


def test_a_command_that_takes_too_long_is_ended_with_its_children(loop, tmp_path):
    end = run(loop, "sleep 600 & sleep 601", tmp_path, timeout_s=0.05)
    assert end.exit_status == -15
    assert failure("setup", end) == "setup: killed by signal 15: timed out after 0.05 s"


def test_a_command_that_ends_well_after_the_timeout_has_failed_too(loop, tmp_path):
    end = run(loop, "trap 'exit 0' TERM; while :; do sleep 0.01; done", tmp_path, timeout_s=0.2)
    assert end.exit_status == -15


def test_a_command_can_be_given_up(loop, tmp_path):
    stopped = []
    loop.call_later(0.02, lambda: stopped.append(True))
    end = run(loop, "sleep 600", tmp_path, is_stopped=lambda: bool(stopped))
    assert (end.exit_status, end.output) == (-15, "stopped")


def test_a_command_that_cannot_be_started_is_a_failure(loop, tmp_path):
    end = run(loop, "true", tmp_path / "absent")
    assert end.exit_status == 127
    assert "absent does not exist" in failure("setup", end)


def test_a_failure_without_output_is_its_status():
    assert failure("check", CommandEnd(1, 5, " \n\n")) == "check: exit 1"
