"""Reads lines from standard input within the loop: typed at a terminal, or from a pipe or file."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Protocol

from cli.ext.drive.line_editor import LineEditor, Typed
from cli.top.keyboard import SEQUENCE_S, Unbuffered

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop


class Input(Protocol):
    lines: deque[str | Typed]
    """The lines that were read and not taken yet. `Typed.END` is the last."""

    def start(self) -> None: ...
    def close(self) -> None: ...


class LinesIn:
    """Lines from a pipe or a file. epoll refuses files, so a file is read at once."""

    def __init__(self, loop: Loop, fd: int) -> None:
        self.lines: deque[str | Typed] = deque()
        self._loop = loop
        self._fd = fd
        self._rest = b""
        self._is_watched = False

    def start(self) -> None:
        try:
            self._loop.watch(self, read=True)
            self._is_watched = True
        except PermissionError:  # epoll refuses files
            while not self.lines or self.lines[-1] is not Typed.END:
                self.on_readable(1 << 16)

    def fileno(self) -> int:
        return self._fd

    def on_readable(self, budget: int) -> None:
        try:
            data = os.read(self._fd, budget)
        except OSError:
            data = b""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if not data:
            if self._rest:
                whole.append(self._rest)
            self.close()
        self.lines += [line.decode("utf-8", "replace") for line in whole]
        if not data:
            self.lines.append(Typed.END)

    def on_writable(self) -> None:
        pass

    def close(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.watch(self)


class TerminalIn:
    """Lines that a person types with a line editor. `close` restores the terminal."""

    def __init__(self, loop: Loop, fd: int, editor: LineEditor, redraw: Callable[[], None]) -> None:
        self.lines: deque[str | Typed] = deque()
        self._loop = loop
        self._fd = fd
        self._editor = editor
        self._redraw = redraw
        self._terminal = Unbuffered(fd)
        self._is_watched = False

    def start(self) -> None:
        self._terminal.enter()
        self._loop.watch(self, read=True)
        self._is_watched = True

    def fileno(self) -> int:
        return self._fd

    def on_readable(self, budget: int) -> None:  # noqa: ARG002
        data = self._terminal.read()
        if not data:
            self._unwatch()
            self.lines.append(Typed.END)
            return
        self.lines += self._editor.feed(data)
        if self._editor.has_open_sequence:
            self._loop.call_later(SEQUENCE_S, self._editor.end_sequence)
        self._redraw()

    def on_writable(self) -> None:
        pass

    def _unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.watch(self)

    def close(self) -> None:
        self._unwatch()
        self._terminal.leave()
