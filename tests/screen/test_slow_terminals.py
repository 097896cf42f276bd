"""A terminal that takes 20 kB a second, such as a bad connection: no key is lost, and leaving works."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.screen.screen import last_text
from tests.support.messages_server import text_reply
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot

RATE = 20_000
"""Bytes a second."""
SLICE = 1000
TYPED = "".join(chr(ord("a") + number % 26) + " " * (number % 7 == 6) for number in range(300)) + "end"


class SlowTerminal:
    """A program on a terminal that reads slowly."""

    def __init__(self, argv: list[str], **popen: object) -> None:
        self._fd, inner = pty.openpty()
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *argv],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            **popen,  # type: ignore[call-overload]
        )
        os.close(inner)
        self.shown = bytearray()

    def read(self) -> bool:
        """Reads a little, at the speed of the terminal. Returns False once the program has ended."""
        if select.select([self._fd], [], [], 0.05)[0]:
            try:
                self.shown += os.read(self._fd, SLICE)
            except OSError:
                return False
            time.sleep(SLICE / RATE)
        return True

    def read_until(self, text: bytes) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.shown:
            assert self.read(), self.shown[-2000:]
            assert time.monotonic() < deadline, self.shown[-2000:]

    def type(self, text: str) -> None:
        """Types one key after another, and reads meanwhile."""
        for key in text:
            os.write(self._fd, key.encode())
            self.read()

    def end(self) -> int:
        """Reads to the end. Returns the exit status."""
        while self.read():
            pass
        os.close(self._fd)
        return self.process.wait(PATIENCE_S)


@pytest.mark.slow
def test_no_key_is_lost_while_a_long_text_is_shown(zot: Zot, server: MessagesServer):
    server.add(text_reply("A line of the model, with *words*.\n\n" * 2000), text_reply("received"))
    argv = [*zot.command, "--base-url", server.base_url, "--api-key", "k", "-m", "claude-haiku-4-5"]
    terminal = SlowTerminal(argv, cwd=zot.cwd, env={**zot.env, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
    terminal.read_until(b"$0.0000")
    terminal.type("go\r")
    terminal.read_until(b"A line of the model")
    terminal.type(f"{TYPED}\r")
    terminal.read_until(b"received")
    assert last_text(server.requests[-1]) == TYPED
    terminal.type("/exit\r")
    assert terminal.end() == 0
