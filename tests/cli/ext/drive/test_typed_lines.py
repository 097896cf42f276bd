"""`zot ext drive` in a real terminal (tmux), where a child owns the input line."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.support.extension_folder import folder
from tests.support.extension_scripts import PATIENT
from tests.support.host import PRELUDE
from tests.support.patience import PATIENCE_S
from tests.support.terminal import open_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.terminal import Terminal

SHOUT = """
send(type="hello", name="shout")
send(type="register_tool", name="shout", description="Says it loud.", schema={"type": "object"})
send(type="register_command", name="hush", description="Says nothing.")
send(type="ready")
print("a word on stderr", file=sys.stderr, flush=True)
for frame in frames():
    if frame["type"] == "tool_call":
        result(frame, frame["args"]["text"].upper())
    elif frame["type"] == "event":
        open("gate").close()  # a pipe: returns when the test opens it, too
        print("from stderr", file=sys.stderr, flush=True)
        send(type="notify", level="info", message="meanwhile")
        if frame["event"] == "turn_end":
            for number in range(frame["step"]):
                send(type="notify", level="info", message=f"note {number}")
"""


class Driven:
    """A drive in a terminal."""

    def __init__(self, terminal: Terminal, place: Path, extension: Path) -> None:
        self.terminal = terminal
        self._place = place
        self._extension = extension
        self.gate = place / "gate"
        terminal.resize(120, 40)  # so that no line of these tests is wrapped
        self.modes = terminal.modes()

    def start(self, before: str = "", after: str = "") -> psutil.Process:
        """Starts the drive, and returns its process once it has a prompt."""
        words = f"{before} {self.terminal.zot} ext drive {shlex.quote(str(self._extension))} {after}"
        self.terminal.command(f"clear; {words} & echo $! > pid; fg >/dev/null; echo status $?")
        self.terminal.wait_for(r"^zot>$")
        return psutil.Process(int((self._place / "pid").read_text()))

    def open_gate(self) -> None:
        self.gate.open("w").close()

    def ends(self, status: int) -> str:
        shown = self.terminal.wait_for(rf"^status {status}$")
        assert self.terminal.modes() == self.modes
        return shown


def input_line(drive: psutil.Process) -> psutil.Process:
    (found,) = [child for child in drive.children() if any("typed_lines" in word for word in child.cmdline())]
    return found


@pytest.fixture
def driven(zot, tmp_path) -> Iterator[Driven]:
    os.mkfifo(zot.cwd / "gate")
    (tmp_path / "shout.py").write_text(PRELUDE + SHOUT.replace('"gate"', repr(str(zot.cwd / "gate"))))
    argv = [sys.executable, "-I", "-S", str(tmp_path / "shout.py")]
    with open_terminal(zot) as terminal:
        yield Driven(terminal, zot.cwd, folder(tmp_path, "shout", argv, timeouts=PATIENT))


def test_completion_several_lines_and_history(driven):
    driven.start()
    terminal = driven.terminal
    terminal.type("to")
    terminal.wait_for(r"^ +tool +call a tool *\n +tool shout +Says it loud\. *$")
    terminal.keys("Tab", "Tab")
    terminal.wait_for(r"^zot> tool shout$")
    terminal.keys("Enter")  # closes the menu
    terminal.type(" {")
    terminal.keys("C-j")
    terminal.type('"text": "né!')
    terminal.keys("BSpace")
    terminal.type('"}')
    terminal.keys("Enter")
    terminal.wait_for(r'^zot> tool shout \{\n     "text": "né"\}\n→ tool_call .*\n← tool_result .*"NÉ"')
    terminal.wait_for(r"^zot>$")
    terminal.keys("Up")
    terminal.wait_for(r'^zot> tool shout \{\n     "text": "né"\}\Z')
    terminal.keys("C-c")
    terminal.wait_for(r"^zot>\Z")
    terminal.type("/h")
    terminal.wait_for(r"^ +/hush +Says nothing\. *$")
    terminal.keys("Escape", "C-c")
    terminal.wait_for(r"^zot>\Z")
    terminal.keys("C-d")
    assert "shutdown_ack" in driven.ends(0)


@pytest.mark.parametrize("number", [0, 300])
def test_frames_and_stderr_that_come_while_typing_leave_the_line_as_it_is(driven, number):
    driven.start()
    terminal = driven.terminal
    terminal.command(f'event turn_end {{"step": {number}}}')
    terminal.type("tool shout {")
    terminal.wait_for(r"^zot> tool shout \{\Z")
    driven.open_gate()
    last = f"note {number - 1}" if number else "meanwhile"
    shown = terminal.wait_for(rf'^← notify .*"{last}"\}}\n(.*\n)*zot> tool shout \{{\Z')
    assert shown.count("tool shout {") == 1
    if not number:
        assert "  stderr: from stderr\n" in shown
    terminal.type('"text": "two"}')
    terminal.keys("Enter")
    terminal.wait_for(r'^zot> tool shout \{"text": "two"\}\n→ tool_call .*\n← tool_result .*"TWO"')
    terminal.keys("C-d")
    driven.ends(0)


def test_a_paste_of_several_lines_is_one_command_for_each_but_an_object_stays_whole(driven):
    driven.start()
    terminal = driven.terminal
    terminal.paste('tool shout {"text": "one"}\ntool shout {\n  "text": "t{wo"\n}\nping')
    terminal.wait_for(r"^     ping\Z")
    assert "tool_call" not in terminal.screen(), "a paste is entered by nobody but the user"
    terminal.keys("Enter")
    terminal.wait_for(r"^zot> ping\n→ ping")
    for word in ('"ONE"', '"T{WO"'):
        terminal.wait_for(f"^← tool_result .*{word}")
    long = "".join(f'"{number}",\n' for number in range(10_000))
    terminal.paste('frame {"type": "odd", "all": [\n' + long + "0]}")
    terminal.wait_for(r"^zot> \[paste 1: 10002 lines\]\Z")
    terminal.keys("Enter")
    terminal.wait_for(r'→ odd +\{"all": \["0", ')
    terminal.keys("C-d")
    driven.ends(0)


def test_ctrl_c_empties_the_line_then_ends(driven):
    driven.start()
    terminal = driven.terminal
    terminal.type("pin")
    terminal.wait_for(r"^zot> pin$")
    terminal.keys("C-c")
    terminal.wait_for(r"^zot>\Z")
    terminal.keys("C-c")
    assert "shutdown_ack" in driven.ends(0)


def test_the_end_of_the_child_is_said_and_the_drive_ends_in_order(driven):
    drive = driven.start()
    driven.terminal.type("pin")
    driven.terminal.wait_for(r"^zot> pin$")
    input_line(drive).kill()
    driven.terminal.wait_for("zot ext drive: the input line has ended \\(signal SIGKILL\\)")
    assert "shutdown_ack" in driven.ends(1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_child_ends_with_the_drive_and_restores_the_terminal(driven, number):
    drive = driven.start()
    driven.terminal.type("pin")
    driven.terminal.wait_for(r"^zot> pin$")
    child = input_line(drive)
    if number == signal.SIGKILL:
        drive.kill()
    else:
        os.killpg(drive.pid, number)  # as a shell and a terminal do
    child.wait(PATIENCE_S)
    driven.terminal.wait_for(r"^status \d+")  # after SIGKILL a word that was offered may stand behind it
    assert driven.terminal.modes() == driven.modes


def test_ctrl_z_gives_the_terminal_to_the_shell_and_fg_takes_it_back(driven):
    driven.start()
    terminal = driven.terminal
    terminal.type("pin")
    terminal.wait_for(r"^zot> pin$")
    terminal.keys("C-z")
    terminal.wait_for(r"Stopped")
    assert terminal.modes() == driven.modes
    terminal.command("bg; echo behi''nd")
    terminal.wait_for(r"^behind$")
    assert terminal.modes() == driven.modes
    terminal.command("clear; fg")
    terminal.wait_for(r"^zot> pin$")
    terminal.type("g")
    terminal.keys("Enter")
    terminal.wait_for(r"^→ ping")
    terminal.keys("C-d")
    terminal.wait_for(r"^ended: exit 0")
    assert terminal.modes() == driven.modes


def test_a_resize_keeps_the_line(driven):
    driven.start()
    terminal = driven.terminal
    terminal.type('tool shout {"text": "abcdefghijklmnopqrstuvwxyz"}')
    terminal.wait_for(r'z"\}$')
    terminal.resize(40, 12)
    terminal.wait_for(r'^zot> tool shout \{"text": "abcdefghijklmn\n     opqrstuvwxyz"\}\Z')
    terminal.resize(120, 24)
    terminal.wait_for(r'^zot> tool shout \{"text": "abcdefghijklmnopqrstuvwxyz"\}\Z')
    terminal.keys("Enter")
    terminal.wait_for(r"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    terminal.keys("C-d")
    driven.ends(0)


def test_stderr_in_a_file_stays_there(driven, zot):
    driven.start(after="2> errors")
    driven.terminal.keys("C-d")
    driven.ends(0)
    said = (zot.cwd / "errors").read_text()
    assert "a word on stderr" in said
    assert "ended: exit 0" in said


def test_a_program_that_does_not_start_is_said(driven, zot):
    (zot.cwd / "shadow" / "prompt_toolkit").mkdir(parents=True)
    (zot.cwd / "shadow" / "prompt_toolkit" / "__init__.py").write_text("raise SystemExit('not this one')\n")
    path = f"{zot.cwd}/shadow:{zot.env['PYTHONPATH']}"
    terminal = driven.terminal
    terminal.command(f"clear; PYTHONPATH={path} {terminal.zot} ext drive {driven._extension}; echo status $?")
    assert "the input line has ended (exit 1): not this one" in driven.ends(1).replace("\n", "")
