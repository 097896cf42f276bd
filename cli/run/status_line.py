"""Shows on one line of the terminal what `zot -p` is doing."""

from __future__ import annotations

import os
import shutil

from cli.terminal import is_screen
from wire import events
from wire.text import counted, printable

ERASE = "\r\x1b[2K"


class StatusLine:
    """Rewrites the last line of a terminal. Does nothing without a terminal, or with `TERM=dumb`."""

    def __init__(self, fd: int = 2) -> None:
        self._fd = fd
        self._shown = False
        self._step = 0
        self._on = is_screen(fd)

    def show(self, record: events.Record) -> None:
        match record:
            case events.Session(extensions=names):
                self._write(counted(len(names), "extension") if names else "starting")
            case events.TurnStart(step=step):
                self._step = step
                self._write(f"turn {step}: waiting for the model")
            case events.Retry(attempt=attempt, of=of, wait_s=wait, reason=reason):
                self._write(f"turn {self._step}: {reason}; try {attempt} of {of} in {_seconds(wait)}")
            case events.CompactStart():
                self._write("compacting the conversation")
            case events.AssistantStart():
                self._write(f"turn {self._step}: the model is answering")
            case events.ToolCall(name=name, args=args):
                self._write(f"turn {self._step}: {name} {bytes(args).decode('utf-8', 'replace')}")
            case events.Result():
                self.clear()

    def clear(self) -> None:
        """Erases the line; to be called before other output to the terminal."""
        if self._shown:
            self._shown = False
            self._put(ERASE)

    def _write(self, text: str) -> None:
        if self._on:
            width = shutil.get_terminal_size().columns
            self._shown = True
            self._put(ERASE + printable(text)[: width - 1])

    def _put(self, text: str) -> None:
        try:
            os.write(self._fd, text.encode("utf-8", "replace"))
        except OSError:
            self._on = False


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 1 else f"{value:.1f} s"
