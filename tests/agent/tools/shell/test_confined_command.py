"""Commands of the bash tool behind a prefix, and prefixes that fail."""

from __future__ import annotations

import pytest

from agent.confinement import Confinement
from agent.tools.bash import BashCall
from agent.tools.shell.confined_command import ConfinedCommand
from supervisor.process.teardown import stop_all
from tests.support.patience import soon
from tests.support.prefixes import script_prefix


@pytest.fixture
def run(loop, tmp_path):
    commands = []
    root = tmp_path / "root"
    root.mkdir()

    def run(command, prefix=(), timeout_s=60, do=None):
        """The result, and the failures of the prefix."""
        results, failures = [], []
        words = prefix or tuple(script_prefix(tmp_path).replace("{workspace}", str(root)).split())
        confined = ConfinedCommand(
            loop, BashCall(command, timeout_s), Confinement(str(root), words, failures.append), cwd=str(root),
            on_progress=lambda _text: None, done=lambda *ended: results.append(ended), on_started=commands.append,
        )  # fmt: skip
        if do is not None:
            do(confined)
        soon(loop, lambda: results)
        return results, failures

    yield run
    stop_all(loop, commands)


def test_a_command_runs_inside(run):
    [(text, is_error, failure)], failures = run("echo $IN; exit 4")
    assert text.startswith("$ echo $IN; exit 4\n\nside\n\n[exit 4]")
    assert (is_error, failure, failures) == (True, None, [])


def test_no_log_is_named_that_no_tool_could_read(run):
    [(text, _, _)], _ = run("seq 100000")
    assert "truncated at" in text
    assert "full output" not in text


@pytest.mark.parametrize("status", [125, 126, 127])
def test_an_exit_status_of_the_command_itself_is_no_failure_of_the_prefix(run, status):
    [(text, _, _)], failures = run(f"exit {status}")
    assert f"[exit {status}]" in text
    assert failures == []


def test_a_prefix_that_fails_is_told_with_its_words(run):
    [(text, is_error, _)], failures = run("touch $PWD.down; exit 126")
    assert "[exit 126]" in text
    assert is_error
    assert failures == ["--in: exit 125: container: the daemon is down"]


def test_a_program_that_is_missing_is_told(run):
    [(text, is_error, _)], failures = run("true", prefix=("no-such-program",))
    assert (text, is_error) == ("bash: cannot start no-such-program: no such program on PATH", True)
    assert failures == ["--in: cannot start no-such-program: no such program on PATH"]


def test_silence_is_told(run):
    _, failures = run("true", prefix=("sh", "-c", "exit 125"))
    assert failures == ["--in: exit 125"]


def test_a_command_can_be_cancelled_and_is_no_failure(run):
    [(text, _, failure)], failures = run("sleep 1000", do=lambda confined: confined.cancel("enough"))
    assert "cancelled" in text
    assert failure.value == "cancelled"
    assert failures == []
