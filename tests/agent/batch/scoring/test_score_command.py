"""`score` commands in sh and Python: their input, their variables, their bounds."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.scoring.score_command import run_score
from supervisor.cleanup.env_marks import bears_token, environment_of
from supervisor.process.table import ProcessTable

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.loop.loop import Loop
    from wire.batch.outcome import Score


def score(loop: Loop, command: str, cwd: Path, **given: Any) -> Score:
    return run_score(loop, command, cwd=str(cwd), **{"status": "ok", "text": "the answer", **given})


def test_it_runs_in_the_folder_with_the_text_and_the_status(loop: Loop, tmp_path: Path) -> None:
    (tmp_path / "made").write_text("4\n")
    command = 'cat >&2; echo $ZOT_STATUS "$ZOT_DIFF" >&2; cat made'
    found = score(loop, command, tmp_path, status="timeout", diff="/d/a.diff", text="é\ud800")
    assert found.value == 4.0
    assert found.command is not None
    assert found.command.output.splitlines() == ["é?timeout /d/a.diff", "4"]


def test_a_program_reads_the_text_as_its_input(loop: Loop, tmp_path: Path) -> None:
    program = "import json, sys; print(json.dumps({'score': len(sys.stdin.read()) / 8, 'seen': True}))"
    (tmp_path / "score.py").write_text(program)
    found = score(loop, f"{sys.executable} score.py", tmp_path, text="x" * 4_000_000)
    assert (found.value, found.values) == (500_000.0, {"seen": True})


def test_a_command_may_leave_its_input_alone(loop: Loop, tmp_path: Path) -> None:
    assert score(loop, "exec <&-; echo 0.5", tmp_path, text="x" * 4_000_000).value == 0.5
    assert score(loop, "true", tmp_path, text="x" * 4_000_000).value == 1.0


def test_warnings_are_no_score(loop: Loop, tmp_path: Path) -> None:
    found = score(loop, "echo 0.5; echo 7 >&2; exit 3", tmp_path)
    assert (found.value, found.command and found.command.exit_status) == (0.5, 3)


def test_a_flood_is_bounded(loop: Loop, tmp_path: Path) -> None:
    found = score(loop, "head -c 30000000 /dev/zero; head -c 30000000 /dev/zero >&2; echo; echo 0.5", tmp_path)
    assert found.value == 0.5
    assert found.command is not None
    assert len(found.command.output) <= 4096


def test_one_that_hangs_has_no_value(loop: Loop, tmp_path: Path) -> None:
    found = score(loop, "trap 'exit 0' TERM; echo 1; sleep 1000 & wait", tmp_path, timeout_s=0.2)
    assert (found.value, found.reason) == (None, "timed out after 0.2 s")


def test_one_that_cannot_start_has_no_value(loop: Loop, tmp_path: Path) -> None:
    assert "it could not be carried out" in score(loop, "./absent", tmp_path).reason
    assert "absent" in score(loop, "true", tmp_path / "absent").reason
    assert score(loop, "kill -9 $$", tmp_path).reason == "killed by signal 9"


def test_zero_bytes_are_no_score(loop: Loop, tmp_path: Path) -> None:
    found = score(loop, r"printf '0.5\0\n'", tmp_path)
    assert (found.value, found.command and found.command.output) == (1.0, "0.5\0\n")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc has the environments of processes")
def test_a_child_that_holds_the_output_open_delays_nothing(loop: Loop, tmp_path: Path, monkeypatch: Any) -> None:
    token = os.urandom(8).hex()
    monkeypatch.setenv("ZOT_HOST_TOKEN", token)
    assert score(loop, "sleep 1000 & echo 0.5", tmp_path).value == 0.5
    left = [pid for pid in ProcessTable.read().by_pid if bears_token(environment_of(pid), token)]
    assert len(left) == 1, "the run ends what a command has left"
    os.kill(left[0], 9)
