"""Arguments and result text of the `bash` tool."""

import signal
from pathlib import Path

import pytest

from agent.tools.bash import MAX_TIMEOUT_S, BashCall, ShellExit, decode_call, human_duration, result_text
from agent.tools.outcome import ToolError
from agent.tools.shell.output_window import OutputWindow, Tail


def test_arguments() -> None:
    assert decode_call({"command": "ls"}) == BashCall("ls", 600)
    assert decode_call({"command": "ls", "timeout": 5, "extra": 1}) == BashCall("ls", 5)
    assert decode_call({"command": "ls", "timeout": -1}) == BashCall("ls", 600)
    assert decode_call({"command": "ls", "timeout": 10**30}) == BashCall("ls", MAX_TIMEOUT_S)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({}, "command is required"),
        ({"command": None}, "command is required"),
        ({"command": ["ls"]}, "invalid args: command must be a string, not an array"),
        ({"command": "ls", "timeout": "5"}, "invalid args: timeout must be an integer, not a string"),
        ({"command": "a\0"}, "command must not contain a NUL character"),
    ],
)
def test_arguments_that_are_wrong(args: dict[str, object], message: str) -> None:
    with pytest.raises(ToolError) as caught:
        decode_call(args)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0s"),
        (0.04, "0.0s"),
        (1.25, "1.2s"),
        (59.94, "59.9s"),
        (60, "1m0s"),
        (185.9, "3m5s"),
        (3599, "59m59s"),
        (7384, "2h3m"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def test_results_in_zots_form() -> None:
    ok = ShellExit(0, 0.04)
    assert result_text("true", Tail(""), ok) == "$ true\n\n[exit 0]  Took 0.0s"
    assert result_text("ls", Tail("a\nb\n"), ok) == "$ ls\n\na\nb\n\n[exit 0]  Took 0.0s"
    assert result_text("ls", Tail("a"), ShellExit(2, 61)) == "$ ls\n\na\n\n[exit 2]  Took 1m1s"


def test_a_truncated_result_says_what_is_missing_and_where_it_is() -> None:
    window = OutputWindow()
    window.feed(b"x\n" * 5_000)
    assert result_text("yes", window.tail(), ShellExit(0, 1), Path("/t/zot-bash-1.log")) == (
        "$ yes\n\n" + "x\n" * 2_000 + "... [truncated at 2000 lines]; this is the end, "
        "the first 6000 bytes (3000 lines) are not shown\n\n[exit 0] (full output: /t/zot-bash-1.log)  Took 1.0s"
    )
    window = OutputWindow()
    window.feed(b"x" * 51_201)
    text = result_text("yes", window.tail(), ShellExit(0, 1))
    assert text.endswith(
        "x\n... [truncated at 51200 bytes]; this is the end, the first 1 bytes are not shown\n\n[exit 0]  Took 1.0s"
    )


def test_the_log_of_a_complete_output_is_not_named() -> None:
    assert "full output" not in result_text("ls", Tail("a"), ShellExit(0, 1), Path("/t/log"))


@pytest.mark.parametrize(
    ("ending", "trailer"),
    [
        (
            ShellExit(-signal.SIGKILL, 5, timed_out_after_s=5),
            "timed out after 5s, killed by SIGKILL\n[exit -1]  Took 5.0s",
        ),
        (ShellExit(0, 5, timed_out_after_s=5), "timed out after 5s\n[exit 0]  Took 5.0s"),
        (ShellExit(-signal.SIGTERM, 1, cancelled=True), "cancelled, killed by SIGTERM\n[exit -1]  Took 1.0s"),
        (ShellExit(-signal.SIGSEGV, 1), "killed by SIGSEGV\n[exit -1]  Took 1.0s"),
        (ShellExit(-200, 1), "killed by signal 200\n[exit -1]  Took 1.0s"),
    ],
)
def test_the_result_names_an_early_end(ending: ShellExit, trailer: str) -> None:
    assert result_text("x", Tail(""), ending) == f"$ x\n\n{trailer}"
    assert ending.is_error


@pytest.mark.parametrize(
    ("ending", "is_error"), [(ShellExit(0, 1), False), (ShellExit(1, 1), True), (ShellExit(0, 1, cancelled=True), True)]
)
def test_errors(ending: ShellExit, is_error: bool) -> None:
    assert ending.is_error == is_error
