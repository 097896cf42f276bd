"""`cli.ext.culprit.replayed_command`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli.ext.culprit.replayed_command import read_command
from cli.os_errors import UnableError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tape(tmp_path: Path) -> str:
    (tmp_path / "run.jsonl").touch()
    return str(tmp_path / "run.jsonl")


def test_print_becomes_json_and_all_else_stays(tape: str):
    command = read_command(["/opt/bin/zot", "-p", "-e", "./x", "--replay", tape, "--", "-p", "go"])
    assert command.program == ("/opt/bin/zot",)
    assert command.flags == ("--json", "-e", "./x", "--replay", tape, "--", "-p", "go")
    assert (command.recording, command.wants_events, command.has_timeout) == (tape, False, False)


def test_a_module_is_a_program_and_values_may_be_joined(tape: str):
    command = read_command(
        ["python3.12", "-m", "pyzot", "--json", f"--replay={tape}", "--timeout", "5", "-C", "x", "go"]
    )
    assert command.program == ("python3.12", "-m", "pyzot")
    assert (command.flags[0], command.recording, command.cwd) == ("--json", tape, "x")
    assert (command.wants_events, command.has_timeout) == (True, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("vim -p --replay TAPE", "vim is not zot"),
        ("python -m pytest --replay TAPE", "python is not zot"),
        ("zot -p go", "replays no recording"),
        ("zot -p -- --replay TAPE", "replays no recording"),
        ("zot --replay TAPE go", "no run with -p or --json"),
        ("zot rpc --replay TAPE", "no run with -p or --json"),
        ("zot -p --replay missing.jsonl go", "missing.jsonl does not exist"),
        ("zot -p --host 1 --replay TAPE go", "--host"),
        ("zot -p -c --replay TAPE go", "-c: each run would write to that session"),
        ("zot -p --resume=x --replay TAPE go", "--resume: each run"),
        ("zot -p -o answer.txt --replay TAPE go", "-o: each run would write it"),
        ("zot --output-format json --replay TAPE go", "--output-format"),
    ],
)
def test_other_commands_are_refused(tape: str, words: str, said: str):
    with pytest.raises(UnableError, match=said) as refused:
        read_command([tape if word == "TAPE" else word for word in words.split()])
    assert refused.value.status.exit_code == 2
