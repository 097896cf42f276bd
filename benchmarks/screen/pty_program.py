"""A program on a terminal of its own: this process is the terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

COLUMNS, ROWS = 100, 30
READ = 1 << 16
PATIENCE_S = 60.0
END_S = 40.0
TERMINAL = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}


class PtyProgram:
    """As a context manager it ends the program by hanging up."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self.fd, inner = pty.openpty()
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *argv], cwd=cwd, env={**env, **TERMINAL}, stdin=inner, stdout=inner, stderr=inner
        )
        os.close(inner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)
        try:
            self.process.wait(END_S)
        finally:
            self.process.kill()
            self.process.wait()

    def write(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(self.fd, data) :]

    def read(self) -> bytes:
        """Waits for output of the program and returns it. Raises `RuntimeError` if the program has ended."""
        try:
            return os.read(self.fd, READ)
        except OSError as error:
            raise RuntimeError(f"{self.process.args!r} has ended") from error

    def wait_for(self, text: str) -> float:
        """Reads up to this text. Returns when it came, on the monotonic clock."""
        wanted, seen = text.encode(), b""
        deadline = time.monotonic() + PATIENCE_S
        while wanted not in seen:
            if not select.select([self.fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise RuntimeError(f"{text!r} did not come; there was {seen[-2000:]!r}")
            seen = seen[-200:] + self.read() if len(seen) > 1 << 20 else seen + self.read()
        return time.monotonic()

    def drain(self, seconds: float = PATIENCE_S) -> None:
        """Reads for some time, at most until the program ends."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.fd], [], [], left)[0]:
                try:
                    self.read()
                except RuntimeError:
                    return
