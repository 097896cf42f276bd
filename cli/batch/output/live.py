"""Keeps the progress of a batch at the lower end of the terminal, reads keys, and restores the terminal."""

from __future__ import annotations

import os
import signal
import sys
from io import StringIO
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console

from agent.output.fd_writer import FdWriter
from cli.batch.output.progress import progress
from cli.terminal import is_in_front, is_terminal, size
from cli.top.keyboard import SUSPEND, Unbuffered

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.text import Text

    from agent.batch.request import BatchControls, BatchView
    from supervisor.loop.loop import Loop, Timer

REDRAW_S = 0.25
FLUSH_S = 0.5
"""Seconds that `end` waits for a terminal that takes nothing."""
STDIN, STDERR = 0, 2
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


class LiveView:
    """Draws `view` repeatedly until `end`; lines for a person stand above it. Nothing is drawn and no key is read
    while the batch is in the background of its shell.

    Keys come from stdin if it is a terminal, else from the process's terminal: p pauses and goes on, q drains, Q stops.
    """

    def __init__(self, loop: Loop, view: Callable[[], BatchView], controls: BatchControls, *, fd: int = STDERR) -> None:
        self._loop = loop
        self._view = view
        self._controls = controls
        self._fd = fd
        self._writer = FdWriter(loop, fd, self._on_broken, lossy=True)
        self._ascii = "utf" not in (getattr(sys.stderr, "encoding", None) or "utf-8").lower()
        self._console = Console(file=StringIO(), force_terminal=True, highlight=False, legacy_windows=False)
        self._keyboard = _BatchKeyboard(loop, self._on_keys)
        self._drawn: list[int] = []  # the cells of each line that is on the screen
        self._is_shown = False
        self._timer: Timer | None = None

    def begin(self) -> None:
        self._tick()

    def end(self) -> None:
        """Erases what was drawn, and restores the terminal. A second call does nothing."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._hide()
        self._loop.run_until(lambda: self._writer.is_flushed, self._loop.clock() + FLUSH_S)
        self._keyboard.close()
        self._writer.close()

    def say(self, line: str) -> None:
        """Writes a line above what is drawn."""
        self._put(self._erased() + line + "\n")
        self._drawn = []
        if self._is_shown:
            self._draw()

    # --- the screen ---------------------------------------------------------------------------------------

    def _tick(self) -> None:
        self._timer = self._loop.call_later(REDRAW_S, self._tick)
        in_front = is_in_front(self._fd)
        if in_front and not self._is_shown:
            self._show()
        elif not in_front and self._is_shown:  # the shell has taken the terminal, and its settings are the shell's
            self._is_shown, self._drawn = False, []
            self._keyboard.forget()
        elif self._is_shown:
            self._draw()

    def _show(self) -> None:
        self._is_shown = True
        self._keyboard.begin()
        self._put(HIDE_CURSOR)
        self._draw()

    def _hide(self) -> None:
        if self._is_shown:
            self._is_shown = False
            self._put(self._erased() + SHOW_CURSOR)
            self._drawn = []
        self._keyboard.end()

    def _draw(self) -> None:
        if not self._writer.is_flushed:
            return  # the terminal is stopped, or slow: it gets the next view
        width, height = size(self._fd)
        lines = progress(
            self._view(), width - 1, height - 1, ascii_only=self._ascii, has_keys=self._keyboard.is_reading
        )
        up = self._to_first_line(width)
        self._put(up + "\n".join(f"{self._rendered(line)}\x1b[K" for line in lines) + "\x1b[J")
        self._drawn = [cell_len(line.plain) for line in lines]

    def _rendered(self, line: Text) -> str:
        with self._console.capture() as captured:
            self._console.print(line, end="", soft_wrap=True)
        return captured.get()

    def _erased(self) -> str:
        return self._to_first_line(size(self._fd)[0]) + "\x1b[J" if self._drawn else ""

    def _to_first_line(self, width: int) -> str:
        """Moves the cursor to the first line that is drawn. A terminal that has become narrower has wrapped lines."""
        rows = sum(max(1, -(-cells // width)) for cells in self._drawn)
        return f"\r\x1b[{rows - 1}A" if rows > 1 else "\r"

    def _put(self, text: str) -> None:
        self._writer.write(text.encode("ascii" if self._ascii else "utf-8", "replace"))

    def _on_broken(self, _reason: str) -> None:
        """The terminal has hung up: the batch goes on as its signals say."""
        self._is_shown = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # --- keys ---------------------------------------------------------------------------------------------

    def _on_keys(self, data: bytes) -> None:
        controls = self._controls
        if SUSPEND in data:
            self._suspend()
            return
        for key in data.decode("ascii", "ignore"):
            if key == "p":
                controls.is_paused = not controls.is_paused
            elif key == "q":
                controls.is_draining = True
            elif key == "Q":
                controls.is_draining = controls.is_stopping = True
        self._draw()

    def _suspend(self) -> None:
        """Ctrl-Z: restores the terminal and stops the processes of the command line; after `fg` it is drawn again."""
        self._hide()
        os.killpg(os.getpgrp(), signal.SIGTSTP)


class _BatchKeyboard:
    """Passes typed bytes on, from `begin` to `end`."""

    def __init__(self, loop: Loop, on_keys: Callable[[bytes], None]) -> None:
        self.is_reading = False
        self._loop = loop
        self._on_keys = on_keys
        self._opened: int | None = None
        self._fd = self._source()
        self._terminal = Unbuffered(self._fd, suspend_is_key=True)

    def _source(self) -> int:
        """A terminal to read from; -1 for none."""
        if is_terminal(STDIN):
            return STDIN
        try:
            self._opened = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            return -1
        return self._opened

    def begin(self) -> None:
        if self._fd >= 0 and not self.is_reading and is_in_front(self._fd):
            self._terminal.enter()
            self._loop.watch(self, read=True)
            self.is_reading = True

    def end(self) -> None:
        """Restores the terminal."""
        if self.is_reading:
            self._unwatch()
            if is_in_front(self._fd):  # else the shell has set it, and would stop this process
                self._terminal.leave()

    def forget(self) -> None:
        """Ends without touching the terminal."""
        if self.is_reading:
            self._unwatch()
            self._terminal.forget()

    def _unwatch(self) -> None:
        self.is_reading = False
        self._loop.watch(self)

    def close(self) -> None:
        self.end()
        if self._opened is not None:
            os.close(self._opened)
            self._opened = None

    def fileno(self) -> int:
        return self._fd

    def on_readable(self, budget: int) -> None:  # noqa: ARG002
        if not is_in_front(self._fd):
            self.forget()
        elif data := self._terminal.read():
            self._on_keys(data)
        else:
            self._unwatch()

    def on_writable(self) -> None:
        pass
