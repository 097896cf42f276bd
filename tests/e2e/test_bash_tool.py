"""The bash tool in a run: limits, background processes, long output, input."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.replay_script import Script, ok
from wire.events import ToolProgress
from wire.exit_codes import Status


def bash(zot, command: str, **args) -> tuple[str, bool]:
    """Runs one command in a run of its own; its result text, and whether it is an error."""
    script = Script(zot.cwd).call(("bash", {"command": command, **args}))
    outcome = zot.replay(script, "--max-steps", "1").check(Status.MAX_STEPS)
    (result,) = [record for record in outcome.records if type(record).__name__ == "ToolResult"]
    return outcome.tool_texts()[0], result.is_error


def test_a_timeout_says_so_and_keeps_the_output(zot):
    text, is_error = bash(zot, "echo before; sleep 600; echo after", timeout=1)
    assert is_error
    assert re.search(r"\n\nbefore\n\ntimed out after 1s, killed by SIGTERM\n\[exit -1\]  Took 1\.\ds$", text)


def test_a_timeout_ends_processes_that_left_the_session(zot):
    pid_file = zot.cwd / "pid"
    command = "setsid sh -c 'echo $$ > pid; trap \"\" TERM; sleep 600' & sleep 600"
    text, _is_error = bash(zot, command, timeout=1)
    assert "timed out after 1s" in text
    pid = int(pid_file.read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_a_background_child_does_not_hang_the_call_and_works_on_until_the_run_ends(zot):
    background = "(while :; do date +%N > beat; sleep 0.02; done) & echo $! > pid; echo started"
    second = (
        "until [ -s beat ]; do sleep 0.02; done; a=$(cat beat);"
        ' for i in 1 2 3 4 5; do sleep 0.1; [ "$a" != "$(cat beat)" ] && echo alive && exit; done'
    )
    script = Script(zot.cwd).call(
        ("bash", {"command": background}),
        ("bash", {"command": second}),
        results=[
            ok(f"$ {background}\n\nstarted\n\n[exit 0]  Took 0.0s"),
            ok(f"$ {second}\n\nalive\n\n[exit 0]  Took 0.1s"),
        ],
    )
    outcome = zot.replay(script.answer("Done.")).check(Status.OK)
    assert outcome.leftovers == []
    assert not Path("/proc", (zot.cwd / "pid").read_text().strip()).exists()


def test_the_end_of_long_output_is_shown_and_all_of_it_is_in_the_log(zot):
    command = "seq 1 200000; echo the end >&2; exit 5"
    text, is_error = bash(zot, command)
    assert is_error
    assert len(text.encode()) < 53_000
    assert re.search(
        r"200000\nthe end\n\.\.\. \[truncated at \d+ (bytes|lines)\]; this is the end, the first \d+", text
    )
    log = re.search(r"\[exit 5\] \(full output: (.*)\)", text)[1]
    expected = "".join(f"{number}\n" for number in range(1, 200_001)) + "the end\n"
    assert Path(log).read_text() == expected
    assert Path(log).stat().st_mode & 0o777 == 0o600


def test_a_command_has_empty_input(zot):
    text, is_error = bash(zot, "cat; read x || echo no more")
    assert (is_error, "\n\nno more\n" in text) == (False, True)


def test_death_by_a_signal_is_named(zot):
    text, is_error = bash(zot, "kill -SEGV $$")
    assert is_error
    assert "killed by SIGSEGV\n[exit -1]" in text


def test_progress_comes_while_the_command_runs(zot):
    script = Script(zot.cwd).call(("bash", {"command": "echo one; until [ -e go ]; do sleep 0.01; done; echo two"}))
    with zot.start(*zot.replay_flags(script), "--max-steps", "1", "go") as running:
        running.wait_for(ToolProgress, text="one\n")
        (zot.cwd / "go").touch()
        running.wait_for(ToolProgress, text="two\n")
        running.finish().check(Status.MAX_STEPS)


def test_output_that_is_no_text_is_replaced(zot):
    text, is_error = bash(zot, r"printf '\377\376\000\033[31mred\n'; head -c 100000 /dev/urandom")
    assert not is_error
    assert "full output: " in text


def test_arguments_without_a_command_are_an_error(zot):
    script = Script(zot.cwd).call(
        ("bash", {}),
        ("bash", {"command": "a\0b"}),
        ("bash", {"command": 5}),
        ("bash", {"command": "true", "timeout": "x"}),
    )
    outcome = zot.replay(script, "--max-steps", "1").check(Status.MAX_STEPS)
    none, nul, number, timeout = outcome.tool_texts()
    assert none == "command is required"
    assert "NUL" in nul
    assert number.startswith("invalid args: ")
    assert timeout.startswith("invalid args: ")


def test_a_project_folder_that_is_gone_is_an_error(zot):
    gone = zot.folder / "gone"
    gone.mkdir()
    script = Script(gone).call(("bash", {"command": f"rmdir {gone}"}), ("bash", {"command": "true"}))
    outcome = zot.replay(script, "--cwd", gone, "--max-steps", "1").check(Status.MAX_STEPS)
    assert outcome.tool_texts()[1] == f"bash: cannot start /bin/sh: its folder {gone} does not exist"


def test_a_stopped_command_is_ended_with_the_run(zot):
    script = Script(zot.cwd).call(("bash", {"command": "echo up; kill -STOP $$"}))
    with zot.start(*zot.replay_flags(script), "--timeout", "1.5", "go") as running:
        running.wait_for(ToolProgress)
        outcome = running.finish().check(Status.TIMEOUT)
    assert outcome.leftovers == []
