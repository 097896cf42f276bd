"""A shell command as a child of the loop: its end, its cancellation, a missing folder."""

from __future__ import annotations

from agent.tools import bash
from agent.tools.shell.command import ShellCommand
from supervisor.process.teardown import stop_all
from tests.support.patience import soon


def command_of(loop, tmp_path, text, done, progress=None, timeout_s=20):
    heard = progress if progress is not None else []
    return ShellCommand(
        loop,
        bash.BashCall(text, timeout_s),
        cwd=str(tmp_path),
        logs=tmp_path,
        on_progress=heard.append,
        done=lambda text, is_error, failure=None: done.append((text, is_error, failure)),
    )


def test_a_command_is_over_when_its_shell_is(loop, tmp_path):
    heard, done = [], []
    command = command_of(loop, tmp_path, "sleep 600 & echo up; exit 4", done, heard)
    soon(loop, lambda: bool(done))
    ((text, is_error, _),) = done
    assert is_error
    assert "\n\nup\n\n[exit 4]" in text
    assert heard == ["up\n"]
    command.cancel()
    stop_all(loop, [command])
    assert len(done) == 1


def test_a_cancelled_command_keeps_its_output_and_ends(loop, tmp_path):
    heard, done = [], []
    command = command_of(loop, tmp_path, "echo up; sleep 600", done, heard)
    soon(loop, lambda: bool(heard))
    command.cancel()
    command.cancel()
    soon(loop, lambda: bool(done))
    ((text, is_error, _),) = done
    assert is_error
    assert "\n\nup\n\ncancelled, killed by SIGTERM\n[exit -1]" in text
    assert not command.child.is_running


def test_a_cancelled_command_that_ignores_sigterm_is_over_only_when_it_is_killed(loop, tmp_path):
    heard, done = [], []
    command = command_of(loop, tmp_path, "trap '' TERM; echo up; while :; do sleep 600; done", done, heard)
    soon(loop, lambda: bool(heard))
    command.cancel()
    soon(loop, lambda: bool(done))
    assert "cancelled, killed by SIGKILL" in done[0][0]
    assert not command.child.is_running


def test_a_command_in_a_missing_folder_is_an_error(loop, tmp_path):
    done = []
    command = command_of(loop, tmp_path / "missing", "true", done)
    assert command.is_over
    assert done == [(f"bash: cannot start /bin/sh: its folder {tmp_path / 'missing'} does not exist", True, None)]
