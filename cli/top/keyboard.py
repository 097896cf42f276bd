"""Reads single keys from a terminal, and restores the terminal."""

from __future__ import annotations

import os
import re
import termios
import tty

SEQUENCE_S = 0.05
"""Seconds. An escape character that nothing follows within this time is the Escape key."""
SUSPEND = b"\x1a"
"""The byte of Ctrl-Z in a terminal that makes no signal of it."""
_NAMES = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "H": "home",
    "F": "end",
    "1~": "home",
    "7~": "home",
    "4~": "end",
    "8~": "end",
    "5~": "pageup",
    "6~": "pagedown",
}
_CONTROLS = {"\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace", "\x15": "erase", "\x1b": "escape"}
_TOKEN = re.compile(r"\x1b[\[O](?P<sequence>[0-9;]*[A-Za-z~])|(?P<open>\x1b(?:[\[O][0-9;]*)?$)|(?P<one>.)", re.DOTALL)


class Keys:
    """Turns the bytes of a terminal into keys: characters, and names of other keys (`up`, `enter`)."""

    def __init__(self) -> None:
        self._rest = b""

    @property
    def has_open_sequence(self) -> bool:
        return bool(self._rest)

    def feed(self, data: bytes) -> list[str]:
        text = (self._rest + data).decode("utf-8", "ignore")
        self._rest = b""
        found = []
        for token in _TOKEN.finditer(text):
            if token["open"]:
                self._rest = token["open"].encode()
            elif token["one"]:
                found.append(_CONTROLS.get(token["one"], token["one"]))
            elif name := _NAMES.get(_essence(token["sequence"])):
                found.append(name)
        return [key for key in found if len(key) > 1 or key.isprintable()]

    def end_sequence(self) -> list[str]:
        """Ends an open sequence after `SEQUENCE_S`; returns the Escape key if there was one."""
        rest, self._rest = self._rest, b""
        return ["escape"] if rest else []


def _essence(sequence: str) -> str:
    """The sequence without its modifiers, such as Shift or Ctrl."""
    return sequence.split(";")[0] + "~" * (";" in sequence) if sequence[-1] == "~" else sequence[-1]


class Unbuffered:
    """A terminal that, from `enter` to `leave`, passes on each key at once and does not echo it. Ctrl-C and Ctrl-Z stay
    signals; with `suspend_is_key` Ctrl-Z is the key `SUSPEND`."""

    def __init__(self, fd: int, *, suspend_is_key: bool = False) -> None:
        self._fd = fd
        self._suspend_is_key = suspend_is_key
        self._before: list[object] | None = None

    def enter(self) -> None:
        if self._before is None:
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd, termios.TCSADRAIN)
            if self._suspend_is_key:
                modes = termios.tcgetattr(self._fd)
                modes[6][termios.VSUSP] = os.fpathconf(self._fd, "PC_VDISABLE").to_bytes(1, "big")
                termios.tcsetattr(self._fd, termios.TCSADRAIN, modes)

    def leave(self) -> None:
        """Restores the terminal. A second call does nothing."""
        if self._before is not None:
            before, self._before = self._before, None
            try:
                termios.tcsetattr(self._fd, termios.TCSADRAIN, before)  # type: ignore[arg-type]
            except termios.error:
                pass  # the terminal has hung up

    def forget(self) -> None:
        """Ends like `leave`, but does not restore the terminal: another program has changed it since."""
        self._before = None

    def read(self) -> bytes:
        """The bytes of the pressed keys; empty at the end of input."""
        try:
            return os.read(self._fd, 1024)
        except OSError:
            return b""
