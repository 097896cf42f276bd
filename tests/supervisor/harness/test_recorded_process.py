"""A recorded process is a worker: it shakes hands as in a run, and its lines are recorded in order."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from supervisor.extension.connection.handshake import Readiness
from supervisor.extension.lifecycle import WorkerState
from supervisor.harness.harness import Harness
from supervisor.harness.recorded_process import HandshakePhase, phase_of
from supervisor.harness.script_runner import exit_fault, find_extension
from supervisor.process.child import SpawnError
from tests.support.extension_folder import folder
from tests.support.host import PRELUDE
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from supervisor.harness.recorded_process import RecordedProcess

PATIENT = {"hello": 20.0, "ready": 20.0}


@pytest.fixture
def room() -> Iterator[Harness]:
    with Harness() as harness:
        yield harness


def started(room: Harness, tmp_path: Path, code: str, **options) -> RecordedProcess:
    """Starts an extension with this source, and waits until its handshake is over or the process has ended."""
    source = tmp_path / "x.py"
    source.write_text(PRELUDE + code)
    found = find_extension(folder(tmp_path, "x", [sys.executable, "-I", "-S", str(source)], timeouts=PATIENT))
    process = room.start(found, **options)
    assert room.wait(lambda: process.phase.is_over or not process.is_running, PATIENCE_S)
    return process


def types(process: RecordedProcess) -> list[tuple[str, str]]:
    return [(said.side.value, said.type) for said in process.said]


def test_each_state_of_a_worker_has_a_phase():
    assert [phase_of(state, Readiness.NOT_YET).value for state in WorkerState] == [
        "failed", *["waiting for its hello"] * 2, "greeted", *["failed"] * 6,
    ]  # fmt: skip
    for state in WorkerState:
        assert phase_of(state, Readiness.SAID) is HandshakePhase.READY
        assert phase_of(state, Readiness.SILENT) is phase_of(state, Readiness.LATE) is HandshakePhase.SILENT


def test_frames_that_the_worker_sends_by_itself_are_recorded(room: Harness, tmp_path: Path):
    code = """
send(type="hello", name="x")
sys.stdin.readline()
print('{"type": "ready"}\\n{"type": "notify"}', flush=True)  # one piece
list(frames())
"""
    process = started(room, tmp_path, code)
    assert process.phase is HandshakePhase.READY
    room.end(process)
    assert types(process) == [
        ("extension", "hello"), ("host", "hello_ack"), ("extension", "ready"), ("extension", "notify"),
        ("host", "shutdown"), ("extension", "shutdown_ack"),
    ]  # fmt: skip
    assert process.greeting == 2
    assert process.has_acked
    assert exit_fault(process) == ""


def test_without_a_greeting_only_the_frames_of_the_script_are_sent(room: Harness, tmp_path: Path):
    code = 'send(type="hello", name="x")\nprint(sys.stdin.readline(), file=sys.stderr)\nlist(frames())'
    process = started(room, tmp_path, code, greets=False)
    assert process.say({"type": "weather_of_tomorrow", "sun": [1.5, None]})
    assert process.say({"type": "shutdown"})
    room.end(process)
    assert types(process)[1:] == [
        ("host", "weather_of_tomorrow"), ("host", "shutdown"), ("extension", "shutdown_ack"),
    ]  # fmt: skip
    assert process.said[1].frame == {"type": "weather_of_tomorrow", "sun": [1.5, None]}
    assert process.stderr.lines() == ['{"type":"weather_of_tomorrow","sun":[1.5,null]}']


def test_a_last_line_without_its_end_is_recorded(room: Harness, tmp_path: Path):
    process = started(room, tmp_path, 'hello()\nsend(type="ready")\nprint(\'{"type": "shut\', end="", flush=True)')
    assert room.wait(lambda: not process.is_running, PATIENCE_S)
    assert process.heard[-1].frame is None
    assert process.heard[-1].text == '{"type": "shut'


def test_unknown_and_bad_frames_before_the_hello_are_passed_over_as_in_a_run(room: Harness, tmp_path: Path):
    code = 'send(type="weather")\nsend(type="register_tool")\nhello("a")\nsend(type="ready")\nlist(frames())'
    process = started(room, tmp_path, code)
    assert process.phase is HandshakePhase.READY
    assert list(process.registry.tools) == ["a"]


def test_an_exit_after_the_hello_fails_the_handshake(room: Harness, tmp_path: Path):
    process = started(room, tmp_path, "hello()\nsys.exit(4)")
    assert (process.phase, process.failure) == (HandshakePhase.FAILED, "it exited (exit 4)")


def test_an_end_after_the_handshake_does_not_change_its_phase(room: Harness, tmp_path: Path):
    process = started(room, tmp_path, 'hello()\nsend(type="ready")\nos.close(1)\nlist(sys.stdin)')
    assert room.wait(lambda: process.state is WorkerState.FAILED, PATIENCE_S)
    assert process.is_mute
    assert process.phase is HandshakePhase.READY


def test_a_shutdown_ack_that_comes_too_early_does_not_stop_the_shutdown(room: Harness, tmp_path: Path):
    process = started(room, tmp_path, 'hello()\nsend(type="shutdown_ack")\nsend(type="ready")\nlist(frames())')
    room.end(process)
    assert types(process)[-2:] == [("host", "shutdown"), ("extension", "shutdown_ack")]
    assert exit_fault(process) == ""


def test_lines_on_stderr_keep_their_indentation(room: Harness, tmp_path: Path):
    seen: list[str] = []
    code = 'sys.stderr.write("Traceback:\\n  in \\x1b[31mf\\n\\nlast")\nsys.exit(1)'
    process = started(room, tmp_path, code, on_stderr=seen.append)
    assert seen == ["Traceback:", "  in f", ""]
    assert process.stderr.lines() == ["Traceback:", "  in f", "last"]


def test_a_program_that_cannot_be_started_raises_the_reason(room: Harness, tmp_path: Path):
    with pytest.raises(SpawnError, match="no such file"):
        room.start(find_extension(folder(tmp_path, "x", ["./nix"])))
