"""The bash tool in a run: limits, background processes, long output, input."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.replay_script import Script, ok
from wire.events import ToolProgress, ToolResult
from wire.exit_codes import Status


def results_of(zot, *calls: dict[str, object]) -> list[tuple[str, bool]]:
    """The text of each command of one run, and whether it is an error."""
    script = Script(zot.cwd).call(*(("bash", call) for call in calls))
    outcome = zot.replay(script, "--max-steps", "1").check(Status.MAX_STEPS)
    return list(zip(outcome.tool_texts(), (result.is_error for result in outcome.of(ToolResult)), strict=True))


def test_a_timeout_ends_processes_that_left_the_session_and_keeps_the_output(zot):
    pid_file = zot.cwd / "pid"
    command = "setsid sh -c 'echo $$ > pid; trap \"\" TERM; sleep 600' & echo before; sleep 600; echo after"
    ((text, is_error),) = results_of(zot, {"command": command, "timeout": 1})
    assert is_error
    assert re.search(r"\n\nbefore\n\ntimed out after 1s, killed by SIGTERM\n\[exit -1\]  Took \d\.\ds$", text)
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


def test_input_is_empty_a_signal_is_named_and_output_may_be_long_or_no_text(zot):
    empty, killed, binary, long = results_of(
        zot,
        {"command": "cat; read x || echo no more"},
        {"command": "kill -SEGV $$"},
        {"command": r"printf '\377\376\000\033[31mred\n'; head -c 100000 /dev/urandom"},
        {"command": "seq 1 200000; echo the end >&2; exit 5"},
    )
    assert ("\n\nno more\n" in empty[0], empty[1]) == (True, False)
    assert ("killed by SIGSEGV\n[exit -1]" in killed[0], killed[1]) == (True, True)
    assert ("full output: " in binary[0], binary[1]) == (True, False)
    text, is_error = long
    assert is_error
    assert len(text.encode()) < 53_000
    assert re.search(
        r"200000\nthe end\n\.\.\. \[truncated at \d+ (bytes|lines)\]; this is the end, the first \d+", text
    )
    log = re.search(r"\[exit 5\] \(full output: (.*)\)", text)[1]
    assert Path(log).read_text() == "".join(f"{number}\n" for number in range(1, 200_001)) + "the end\n"


def test_progress_comes_while_the_command_runs(zot):
    script = Script(zot.cwd).call(("bash", {"command": "echo one; until [ -e go ]; do sleep 0.01; done; echo two"}))
    with zot.start(*zot.replay_flags(script), "--max-steps", "1", "go") as running:
        running.wait_for(ToolProgress, text="one\n")
        (zot.cwd / "go").touch()
        running.wait_for(ToolProgress, text="two\n")
        running.finish().check(Status.MAX_STEPS)


def test_a_stopped_command_is_ended_with_the_run(zot):
    script = Script(zot.cwd).call(("bash", {"command": "echo up; kill -STOP $$"}))
    with zot.start(*zot.replay_flags(script), "--timeout", "1.5", "go") as running:
        running.wait_for(ToolProgress)
        outcome = running.finish().check(Status.TIMEOUT)
    assert outcome.leftovers == []
