"""The children behave as other tests rely on, where those tests could pass without it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.conversation import Conversation
from tests.support.extension_folder import child_argv
from tests.support.patience import PATIENCE_S

HERE = Path(__file__).parent


def python(stem: str, *argv: str | Path) -> Conversation:
    return Conversation(*child_argv(stem, *argv))


@pytest.mark.parametrize("goodbye", ["shutdown", "EOF"])
def test_a_child_greets_by_its_name_and_ends_when_told(goodbye: str):
    """The others end in the same function."""
    with python("dies_in_call") as child:
        assert child.frames_up_to("ready")[0]["name"] == "dies_in_call"
        if goodbye == "shutdown":
            child.send("shutdown")
            assert child.frame() == {"type": "shutdown_ack"}
        child.close_stdin()
        assert child.exit_code() == 0


@pytest.mark.parametrize("language", ["py", "sh", "js", "c"])
def test_echo_answers_alike_in_every_language(language: str, compiled):
    if language == "js" and not shutil.which("node"):
        pytest.skip("no node here")
    commands = {"py": [sys.executable, "-I", "-S"], "sh": ["/bin/sh"], "js": ["node"], "c": []}
    program = compiled("echo") if language == "c" else HERE / f"echo.{language}"
    with Conversation(*commands[language], program, "parrot") as child:
        hello, subscribe, tool, _ready = child.frames_up_to("ready")
        assert (hello["name"], subscribe["intercept"], tool["name"]) == ("parrot", ["tool_call"], "echo")
        child.send("event_intercept", id="7", event="tool_call", tool_id="t", tool_name="bash", tool_args={"id": "9"})
        assert child.frame() == {"type": "event_intercept_response", "id": "7"}
        for call_id, text in enumerate(["", 'q"\\ {}[], \n\té', "x" * 200_000]):
            assert child.call("echo", str(call_id), text=text) == text
        child.send("shutdown")
        assert child.frame() == {"type": "shutdown_ack"}
        assert child.exit_code() == 0


def test_ignores_shutdown_ends_by_sigkill_only():
    with python("ignores_shutdown") as child:
        child.frames_up_to("ready")
        child.send("shutdown")
        child.process.terminate()
        assert child.call("echo", text="still here") == "still here"
        child.close_stdin()
        with pytest.raises(subprocess.TimeoutExpired):
            child.process.wait(0.2)


@pytest.mark.parametrize(("stem", "same_session"), [("grandchild", True), ("daemon_grandchild", False)])
def test_a_grandchild_outlives_its_parent(stem: str, same_session: bool, tmp_path: Path):
    with python(stem, tmp_path / "pid") as child:
        child.frames_up_to("ready")
        sleeper = int((tmp_path / "pid").read_text())
        try:
            assert (os.getsid(sleeper) == os.getsid(child.process.pid)) is same_session
            child.send("shutdown")
            assert child.exit_code() == 0
        finally:
            os.kill(sleeper, signal.SIGKILL)


def test_fork_bomb_makes_50_processes_in_two_sessions():
    with python("fork_bomb") as child:
        child.frames_up_to("ready")
        child.call("fork")
        bomb = psutil.Process(child.process.pid)
        below: list[psutil.Process] = []
        while len(below) < 50:
            assert child.process.poll() is None
            below = bomb.children(recursive=True)
        assert len(below) == 50
        assert {os.getsid(process.pid) for process in below} - {os.getsid(child.process.pid)}
        for process in (*below, bomb):
            process.kill()
        psutil.wait_procs(below, timeout=PATIENCE_S)  # their parents are dead as well: they are ours by now
