"""A child is collected when it ends, after all that it said; one that cannot be started is an error with a reason."""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.loop.loop import Loop
from supervisor.process.child import Child, ExitStatus, SpawnError
from supervisor.process.table import read_process
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Started:
    """A shell script as a child, and all that it said and its exit, in order."""

    def __init__(self, loop: Loop, script: str, **options: Any) -> None:
        self.loop = loop
        self.seen: list[Any] = []
        self.child = Child(
            loop,
            ["/bin/sh", "-c", script],
            cwd="/",
            env={"PATH": os.defpath},
            on_stdout=self.seen.append,
            on_exit=self.seen.append,
            **options,
        )

    @property
    def output(self) -> bytes:
        return b"".join(piece for piece in self.seen if isinstance(piece, bytes))

    def until_exit(self) -> ExitStatus:
        assert self.loop.run_until(lambda: not self.child.is_running, self.loop.clock() + PATIENCE_S)
        assert self.child.exit is not None
        return self.child.exit


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    assert loop.children == set()
    loop.close()


@pytest.fixture(params=["pidfd", "polled"])
def exit_is_found(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a pidfd, and by polling as on systems without one."""
    if request.param == "polled":

        def refuse(_pid: int) -> int:
            raise OSError(errno.ENOSYS, "not here")

        monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)
    elif not hasattr(os, "pidfd_open"):
        pytest.skip("no pidfd on this system")


@pytest.mark.parametrize("asked_early", [True, False])
def test_the_identity_is_known_after_the_exit(loop: Loop, asked_early: bool):
    before = read_process(os.getpid())
    started = Started(loop, "exit")
    if asked_early:
        assert started.child.identity.started >= before.identity.started
    started.until_exit()
    assert read_process(started.child.pid) is None
    assert started.child.identity.pid == started.child.pid
    assert started.child.identity.started >= before.identity.started > 0


def test_an_identity_that_cannot_be_read_now_is_read_later(loop: Loop, monkeypatch: pytest.MonkeyPatch):
    started = Started(loop, "exit")
    with monkeypatch.context() as no_descriptors:
        no_descriptors.setattr("supervisor.process.child.read_process", lambda _pid: None)
        assert started.child.identity.started == 0
    assert started.child.identity.started > 0
    started.until_exit()


@pytest.mark.usefixtures("exit_is_found")
def test_the_exit_comes_once_and_last(loop: Loop):
    started = Started(loop, "echo first; echo last; exit 3")
    assert loop.children == {started.child.pid}
    status = started.until_exit()
    assert (status.code, str(status)) == (3, "exit 3")
    assert started.output == b"first\nlast\n"
    assert started.seen[-1] is status
    assert started.child.collect()
    loop.run_until(lambda: False, loop.clock() + 0.05)
    assert started.seen.count(status) == 1


@pytest.mark.usefixtures("exit_is_found")
def test_several_children_that_end_at_once_are_all_collected(loop: Loop):
    several = [Started(loop, f"exit {code}") for code in range(10)]
    assert [started.until_exit().code for started in several] == list(range(10))


def test_a_signal_is_named(loop: Loop):
    started = Started(loop, "kill -TERM $$")
    assert str(started.until_exit()) == "signal SIGTERM"
    assert str(ExitStatus(-200, 0.0, 0)) == "signal 200"


def test_a_signal_to_the_group_reaches_the_children_of_the_child_too(loop: Loop):
    started = Started(loop, "sleep 600 & echo; wait", linger=True)
    assert loop.run_until(lambda: bool(started.seen), loop.clock() + PATIENCE_S)
    started.child.kill_group(signal.SIGKILL)
    assert started.until_exit().code == -signal.SIGKILL
    assert loop.run_until(lambda: not started.child.stdout.is_open, loop.clock() + PATIENCE_S), "no writer is left"


def test_a_child_is_spoken_to_until_it_ends(loop: Loop):
    started = Started(loop, "read line; echo heard $line")
    assert started.child.send(b"this\n")
    started.until_exit()
    assert started.output == b"heard this\n"
    assert not started.child.send(b"more\n")


def test_a_child_without_stdin_reads_nothing(loop: Loop):
    started = Started(loop, "cat; echo end", stdin=False)
    assert not started.child.send(b"x\n")
    started.until_exit()
    assert started.output == b"end\n"


def test_a_closed_stdout_is_told_before_the_exit(loop: Loop):
    mute: list[str] = []
    started = Started(
        loop, "exec >&-; read line; exit 2", on_stderr=lambda _: None, on_mute=lambda: mute.append("mute")
    )
    assert loop.run_until(lambda: mute, loop.clock() + PATIENCE_S)
    assert started.child.is_running
    started.child.send(b"\n")
    assert started.until_exit().code == 2


def test_the_exit_does_not_wait_for_what_holds_the_pipe(loop: Loop, tmp_path: Path):
    """A child in the background has inherited standard output."""
    started = Started(loop, f"sleep 600 & echo $! > {tmp_path}/pid; echo said; exit 0")
    assert started.until_exit().code == 0
    assert started.output == b"said\n"
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_with_linger_what_holds_the_pipe_can_go_on_writing(loop: Loop, tmp_path: Path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    started = Started(loop, f"(read line < {gate}; echo later) & exit 0", linger=True)
    started.until_exit()
    gate.write_text("go\n")
    assert loop.run_until(lambda: started.output == b"later\n", loop.clock() + PATIENCE_S)
    assert loop.run_until(lambda: not started.child.stdout.is_open, loop.clock() + PATIENCE_S)


def file_with(folder: Path, text: str, mode: int = 0o755) -> str:
    path = folder / "program"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


UNSTARTABLE = {
    "no file": (lambda _: "./nowhere", "no such file", False),
    "no program on PATH": (lambda _: "no-such-program", "no such program on PATH", False),
    "a folder": (str, "it is a folder", False),
    "not executable": (lambda folder: file_with(folder, "x", 0o644), "not executable (chmod +x ", False),
    "no interpreter": (
        lambda folder: file_with(folder, "#!/no/such/interpreter\n"),
        "its interpreter '/no/such/interpreter' (first line, after #!) does not exist",
        False,
    ),
    "a carriage return": (
        lambda folder: file_with(folder, "#!/bin/sh\r\n"),
        r"its interpreter '/bin/sh\r' (first line, after #!) does not exist",
        False,
    ),
    "no program": (lambda folder: file_with(folder, "text"), "not a program for this machine", False),
}


@pytest.mark.parametrize("why", UNSTARTABLE)
def test_a_program_that_cannot_be_started_is_an_error_that_says_why(loop: Loop, tmp_path: Path, why: str):
    program_in, reason, may_pass = UNSTARTABLE[why]
    program = program_in(tmp_path)
    with pytest.raises(SpawnError) as caught:
        Child(loop, [program], cwd=str(tmp_path), env=dict(os.environ), on_stdout=print, on_exit=print)
    assert str(caught.value).startswith(f"cannot start {program}: {reason}")
    assert caught.value.may_pass is may_pass


def test_a_folder_that_is_not_there_is_named(loop: Loop, tmp_path: Path):
    with pytest.raises(SpawnError, match=rf"its folder {tmp_path}/nowhere does not exist"):
        Child(loop, [sys.executable], cwd=f"{tmp_path}/nowhere", env={}, on_stdout=print, on_exit=print)


def test_a_child_in_the_group_of_the_host_is_signalled_alone(loop: Loop):
    started = Started(loop, "exec sleep 60", own_session=False)
    assert os.getpgid(started.child.pid) == os.getpgrp()
    started.child.kill_group(signal.SIGKILL)
    assert started.until_exit().code == -signal.SIGKILL
