"""Sends the state of this process to a service manager: systemd's sd_notify, one datagram of `NAME=value` lines.

Sending never waits and never raises. While the queue of the manager is full, the newest value of each name is kept and
sent again, so a start that the manager waits for is told late and not lost.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping
    from typing import Self

    from supervisor.loop.loop import Loop, Timer

SOCKET = "NOTIFY_SOCKET"
WATCHDOG_USEC = "WATCHDOG_USEC"
WATCHDOG_PID = "WATCHDOG_PID"
RETRY_S = 0.25
"""Seconds between two attempts while the queue of the manager is full."""
SHORTEST_PING_S = 0.01
FULL = frozenset({errno.EAGAIN, errno.ENOBUFS})
PHASES = frozenset({"READY", "RELOADING", "STOPPING"})
"""Names of which only the newest counts."""


class NotifyAddress(NamedTuple):
    """How to reach the service manager, and how often it wants a sign of life."""

    socket: str = ""
    """A path, or `@` and the name of an abstract socket; empty without a manager."""
    ping_s: float | None = None
    """Seconds between two signs of life: half of the time after which the manager takes the process as hanging. None
    if it does not watch."""

    @classmethod
    def take(cls, environ: MutableMapping[str, str], pid: int) -> Self:
        """Reads the variables of sd_notify and removes them, so that no child takes itself for the service."""
        values = {name: environ.pop(name, "") for name in (SOCKET, WATCHDOG_USEC, WATCHDOG_PID)}
        return cls(values[SOCKET], ping_interval(values, pid))


def ping_interval(values: Mapping[str, str], pid: int) -> float | None:
    """Half of `WATCHDOG_USEC` in seconds; None if it is no positive number, or meant for another process."""
    usec, meant = values.get(WATCHDOG_USEC, ""), values.get(WATCHDOG_PID, "")
    if not (usec.isascii() and usec.isdecimal() and len(usec) < 20 and int(usec)) or meant not in ("", str(pid)):
        return None
    return max(SHORTEST_PING_S, int(usec) / 2_000_000)


class NotifySocket:
    """Sends to one manager. `on_error` gets a line for the user, once, if the manager has taken nothing yet: one that
    has gone since then, as `zot host -d` does, is no fault."""

    def __init__(self, loop: Loop, address: str, on_error: Callable[[str], None]) -> None:
        self._loop = loop
        self._address = address
        self._on_error = on_error
        self._is_silent = False
        self._kept: dict[str, str] = {}
        """Values that the full queue did not take, by name, oldest first."""
        self._timer: Timer | None = None

    def send(self, values: Mapping[str, str]) -> None:
        """Sends these values."""
        if PHASES & values.keys():
            for name in PHASES & self._kept.keys():
                del self._kept[name]
        self._kept |= values
        self._flush()

    def ping(self) -> None:
        """Sends a sign of life. A full queue drops it: the manager has others to read first."""
        if not self._kept:
            self._write("WATCHDOG=1")

    def ping_every(self, seconds: float | None) -> None:
        """Sends a sign of life now and after each `seconds`; never if they are None."""
        if seconds is not None:
            self.ping()
            self._loop.call_later(seconds, lambda: self.ping_every(seconds))

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._write("\n".join(f"{name}={value}" for name, value in self._kept.items())):
            self._kept.clear()
        else:
            self._timer = self._loop.call_later(RETRY_S, self._flush)

    def _write(self, text: str) -> bool:
        """Returns False if the queue is full. Opens a socket for each datagram: few are sent, and after a fork or a
        restart of the manager none is stale."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.sendto(text.encode("utf-8", "replace"), self._destination())
        except OSError as error:
            if error.errno in FULL:
                return False
            self._fail(error.strerror or str(error))
        self._is_silent = True
        return True

    def _destination(self) -> bytes:
        if self._address.startswith("@"):
            return b"\0" + os.fsencode(self._address[1:])
        if not self._address.startswith("/"):
            raise OSError("neither an absolute path nor @NAME")
        return os.fsencode(self._address)

    def _fail(self, reason: str) -> None:
        if not self._is_silent:
            self._on_error(f"the service manager is not told of this host: {SOCKET}={self._address}: {reason}")
