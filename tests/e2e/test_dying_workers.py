"""Processes of the product are killed during their work."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import sys
import termios
from pathlib import Path

import pytest

from tests.support.messages_server import stall_midway, text_reply, tool_reply
from tests.support.replay_script import Script
from tests.support.zot_process import check_transcript, wait_until
from wire.events import TextDelta
from wire.exit_codes import Status


@pytest.mark.slow
def test_the_model_worker_is_killed_between_requests_and_in_the_middle_of_a_reply(zot, server):
    """After the first kill the worker is restarted; at the second, half a reply is shown already, so the run ends."""
    server.add(tool_reply([("bash", {"command": "echo up > up; until [ -e go ]; do sleep 0.01; done"})]))
    server.add(stall_midway(text_reply("Hello there"), after=4))
    with zot.start("--json", "--base-url", server.base_url, "go", cold=True) as running:
        wait_until((zot.cwd / "up").exists)
        first = running.child("agent/model/worker/worker_main.py")
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not Path("/proc", str(first)).exists())
        (zot.cwd / "go").touch()
        running.wait_for(TextDelta)
        second = running.child("agent/model/worker/worker_main.py")
        assert second != first
        os.kill(second, signal.SIGKILL)
        outcome = running.finish().check(Status.ERROR)
    assert outcome.result.reason == "the model worker ended (signal SIGKILL)"
    assert outcome.result.text == "Hello "
    check_transcript(zot.session_rows())


def test_the_file_worker_is_killed_in_the_middle_of_a_call_and_the_next_call_works(zot):
    (zot.cwd / "a.txt").write_text("alpha\n")
    waits = ("bash", {"command": "until [ -e go ]; do sleep 0.01; done"})
    script = Script(zot.cwd).call(waits, ("read", {"path": "a.txt"}), ("read", {"path": "a.txt"}))
    with zot.start(*zot.replay_flags(script), "--max-steps", "1", "go") as running:
        worker = running.child("agent/tools/file_worker/main.py")
        os.kill(worker, signal.SIGSTOP)
        (zot.cwd / "go").touch()
        wait_until(lambda: has_input(worker))
        os.kill(worker, signal.SIGKILL)
        outcome = running.finish().check(Status.MAX_STEPS)
    assert outcome.tool_texts()[1:] == ["read: the file worker ended (signal SIGKILL)", "alpha\n"]
    check_transcript(zot.session_rows())


def has_input(pid: int) -> bool:
    """Whether a pipe that a process reads holds bytes; they stay there. The worker may have moved its stdin already."""
    return any(waiting_bytes(fd) for fd in Path(f"/proc/{pid}/fd").iterdir())


def waiting_bytes(fd: Path) -> int:
    if not os.readlink(fd).startswith("pipe:") or fd.lstat().st_mode & stat.S_IWUSR:
        return 0
    copy = os.open(fd, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return int.from_bytes(fcntl.ioctl(copy, termios.FIONREAD, bytes(4)), sys.byteorder)
    finally:
        os.close(copy)
