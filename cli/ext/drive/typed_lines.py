"""Lines that a person types on a terminal. A child owns the input line, and prints above it."""

from __future__ import annotations

import json
import os
import signal
import sys
import termios
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.ext.drive.typed_commands import commands_in
from supervisor.discovery.environment import child_environment
from supervisor.process.child import Child, ExitStatus
from supervisor.process.exit_cause import StderrTail
from wire.text import valid_text

if TYPE_CHECKING:
    from supervisor.harness.harness import Harness

ENDS_S = 3.0
"""Maximum of seconds in which the child takes nothing of what it has to print before it ends."""
OUTBOX = 128 * 1024 * 1024
"""Maximum of bytes that wait for a slow terminal: all frames that a harness keeps."""
RESET = b"\x1b[0m\x1b[?7h\x1b[?25h\x1b[?2004l\r\n\x1b[J"
"""Ends colours, begins to wrap lines, shows the cursor, ends marks around a paste, and erases the rest of the input."""


def program() -> Path:
    """Returns the path of the child's program. The wheel has these programs in a folder of the package `pyzot`."""
    programs = Path(__file__).parents[3]
    package = programs.parent if programs.name == "_programs" else programs / "pyzot"
    return package / "typed_lines.py"


class TypedLines:
    """The child that owns the input line. After it has ended the terminal is as it was before."""

    def __init__(self, harness: Harness, prompt: str) -> None:
        self.lines: deque[str | None] = deque()
        """The lines that were typed and not taken yet. None is the last."""
        self.failure = ""
        """Why the input has ended, if the user did not end it."""
        self._harness = harness
        self._orders: dict[str, Any] = {"prompt": prompt}
        self._child: Child | None = None
        self._rest = b""
        self._stderr = StderrTail()
        self._has_ended = False
        """Whether the user or the drive has ended the input."""
        self._left_out = 0
        self._late: list[str] = []
        """Texts for a child that is about to exit. They are printed when it has."""

    def start(self) -> None:
        """Starts the child. Raises `SpawnError`."""
        self._modes = termios.tcgetattr(0)
        ends = [os.dup(0), os.dup(1)]
        try:
            self._child = Child(
                self._harness.loop, [sys.executable, "-P", str(program()), *map(str, ends)], cwd="/",
                env=child_environment(), on_stdout=self._take, on_stderr=self._stderr.write, on_exit=self._on_exit,
                outbox_limit=OUTBOX, pass_fds=ends, own_session=False,
            )  # fmt: skip
        finally:
            for fd in ends:
                os.close(fd)
        self._send(self._orders)

    def offer(self, completions: dict[str, str]) -> None:
        """Replaces the completions: texts, and what each does."""
        if self._orders.get("completions") != completions:
            self._orders["completions"] = dict(completions)
            self._send(self._orders)

    def print(self, text: str) -> bool:
        """Prints whole lines above the input. Returns False if there is no input line. Leaves out texts for which the
        terminal is too slow, and says so."""
        if self._child is None or self._child.stdin is None or not self._child.is_running:
            return False
        left_out = f"… {self._left_out} texts are left out: the terminal is too slow\n" if self._left_out else ""
        if self._send({"print": left_out + text}):
            self._left_out = 0
        elif self._child.stdin.is_open:
            self._left_out += 1
        else:
            self._late.append(text)
        return True

    def close(self) -> None:
        """Ends the child once it has printed all. Kills it if it takes nothing for `ENDS_S`, or at Ctrl-C."""
        child, loop = self._child, self._harness.loop
        if child is None or child.stdin is None:
            return
        self._has_ended = True
        child.stdin.end()
        queued = -1
        while child.is_running and child.stdin.queued != queued and not self._harness.is_interrupted:
            queued = child.stdin.queued
            loop.run_until(lambda: not child.is_running or self._harness.is_interrupted, loop.clock() + ENDS_S)
        if child.is_running:
            child.kill_group(signal.SIGKILL)
            loop.run_until(lambda: not child.is_running, loop.clock() + ENDS_S)

    def _send(self, order: dict[str, Any]) -> bool:
        return self._child is not None and self._child.send(json.dumps(order).encode() + b"\n")

    def _take(self, data: bytes) -> None:
        *whole, self._rest = (self._rest + data).split(b"\n")
        for said in map(json.loads, whole):
            if "typed" in said:
                self.lines += commands_in(valid_text(said["typed"]))
            elif "interrupt" in said:
                self._harness.is_interrupted = True
            else:
                self._has_ended = True
                self.lines.append(None)

    def _on_exit(self, status: ExitStatus) -> None:
        try:
            if status.code != 0:
                os.write(1, RESET)
            if termios.tcgetattr(0) != self._modes:
                termios.tcsetattr(0, termios.TCSANOW, self._modes)
        except (OSError, termios.error):
            pass  # the terminal has gone
        print(*self._late, sep="", end="", flush=True)  # noqa: T201
        if not self._has_ended:
            why = self._stderr.last_line()
            self.failure = f"the input line has ended ({status}){why and ': '}{why}"
            self.lines.append(None)
