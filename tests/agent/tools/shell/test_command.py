"""A shell command as a child of the loop: its end, its cancellation, a missing folder."""

from __future__ import annotations

from agent.tools import bash
from agent.tools.shell.command import ShellCommand
from supervisor.process.teardown import stop_all
from tests.support.patience import soon


def command_of(loop, tmp_path, text, progress=None, timeout_s=20):
    heard = progress if progress is not None else []
    return ShellCommand(
        loop, bash.BashCall(text, timeout_s), cwd=str(tmp_path), logs=tmp_path, on_progress=heard.append
    )


def test_a_command_is_over_when_its_shell_is(loop, tmp_path):
    heard = []
    command = command_of(loop, tmp_path, "sleep 600 & echo up; exit 4", heard)
    soon(loop, lambda: command.is_over)
    text, is_error = command.finish()
    assert is_error
    assert "\n\nup\n\n[exit 4]" in text
    assert heard == ["up\n"]
    stop_all(loop, [command])


def test_a_cancelled_command_keeps_its_output_and_ends(loop, tmp_path):
    heard = []
    command = command_of(loop, tmp_path, "echo up; sleep 600", heard)
    soon(loop, lambda: bool(heard))
    command.cancel()
    text, is_error = command.finish()
    assert is_error
    assert "\n\nup\n\ncancelled, killed by SIGTERM\n[exit -1]" in text
    assert not command.child.is_running


def test_a_command_in_a_missing_folder_is_an_error(loop, tmp_path):
    command = command_of(loop, tmp_path / "missing", "true")
    assert command.is_over
    assert command.finish() == (f"bash: cannot start /bin/sh: its folder {tmp_path / 'missing'} does not exist", True)
