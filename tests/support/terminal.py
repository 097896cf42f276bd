"""A real terminal: tmux with a shell in it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.zot_process import MARK, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.zot_process import Zot


LOOK_S = 0.03
"""Seconds between two looks at the screen: each one is a process."""


class Terminal:
    """A terminal of tmux with a shell in it, on a server of its own."""

    def __init__(self, zot, width: int = 80, height: int = 24) -> None:
        self._tmux = ["tmux", "-S", str(zot.folder / "tmux"), "-f", os.devnull]
        start_up = zot.folder / "shrc"
        start_up.write_text("PS1='ready> '\n")
        env = {**zot.env, "ENV": str(start_up), "TERM": "xterm", MARK: "tmux", "LC_ALL": "C.UTF-8"}
        self._run("new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(zot.cwd), "exec sh", env=env)
        self.zot = shlex.join(zot.command)
        self._folder = zot.cwd
        self._asked = 0

    def _run(self, *words: str, env: dict[str, str] | None = None) -> str:
        done = subprocess.run([*self._tmux, *words], env=env, capture_output=True, check=True, timeout=PATIENCE_S)
        return done.stdout.decode()

    def keys(self, *names: str) -> None:
        self._run("send-keys", *names)

    def type(self, text: str) -> None:
        self._run("send-keys", "-l", text)

    def command(self, text: str) -> None:
        self.type(text)
        self.keys("Enter")

    def resize(self, width: int, height: int) -> None:
        self._run("resize-window", "-x", str(width), "-y", str(height))

    def paste(self, text: str) -> None:
        """Pastes a text at once, as a terminal does from the clipboard."""
        buffer = self._folder / "pasted"
        buffer.write_text(text)
        self._run("load-buffer", str(buffer))
        self._run("paste-buffer", "-p", "-r")

    def screen(self, *flags: str) -> str:
        """The visible lines; with `-e` coloured, with `-S -` also those that have scrolled out."""
        return self._run("capture-pane", "-p", *flags).rstrip()

    def wait_for(self, pattern: str) -> str:
        """The screen, once it matches."""
        shown = ""

        def matches() -> bool:
            nonlocal shown
            shown = self.screen()
            return re.search(pattern, shown, re.MULTILINE) is not None

        try:
            wait_until(matches, pause_s=LOOK_S)
        except AssertionError:
            raise AssertionError(f"{pattern!r} did not come; the screen shows\n{shown}") from None
        return shown

    def modes(self) -> str:
        """The settings of the terminal driver, and whether the main screen shows a cursor."""
        self._asked += 1
        # The file gets its name when it is complete; the screen may still show earlier output.
        self.command(f"clear; stty -g > writing; mv writing modes{self._asked}; echo sa''id {self._asked}")
        self.wait_for(f"^said {self._asked}$")
        flags = self._run("display-message", "-p", "#{alternate_on} #{cursor_flag}")
        return (self._folder / f"modes{self._asked}").read_text() + flags

    def close_pane(self) -> None:
        """Takes the terminal away from the shell and its programs, as a closed window does."""
        self._run("new-window", "-d", "exec sh")
        self._run("kill-pane", "-t", ":0.0")

    def close(self) -> None:
        self._run("kill-server")


@contextmanager
def open_terminal(zot: Zot, width: int = 80, height: int = 24) -> Iterator[Terminal]:
    """A terminal whose shell is ready. Skips the test where there is no tmux."""
    if shutil.which("tmux") is None:
        pytest.skip("no tmux on this machine: the screen is not looked at")
    terminal = Terminal(zot, width, height)
    try:
        terminal.wait_for(r"^ready>$")
        yield terminal
    finally:
        terminal.close()
