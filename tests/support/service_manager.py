"""A service manager: a datagram socket to which a host tells its state."""

from __future__ import annotations

import select
import socket
import time
from typing import TYPE_CHECKING, Self

from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class ServiceManager:
    """Listens at the path. `told` has each datagram, as values by name, but for the signs of life."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[dict[str, str]] = []
        self.pings = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def take(self, within_s: float = 0.0) -> bool:
        """Takes one datagram; False if none comes."""
        if not select.select([self._socket], [], [], within_s)[0]:
            return False
        values = dict(line.split("=", 1) for line in self._socket.recv(65536).decode().split("\n"))
        if values == {"WATCHDOG": "1"}:
            self.pings += 1
        else:
            self.told.append(values)
        return True

    def take_all(self) -> None:
        while self.take():
            pass

    def wait_for(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert self.take(max(0.0, deadline - time.monotonic())), f"in vain; {self.told}"

    def wait_told(self, **values: str) -> dict[str, str]:
        """The first datagram with these values."""
        self.wait_for(lambda: any(values.items() <= each.items() for each in self.told))
        return next(each for each in self.told if values.items() <= each.items())

    @property
    def phases(self) -> list[str]:
        """READY, RELOADING and STOPPING in the order in which they came."""
        return [name for each in self.told for name in each if name in ("READY", "RELOADING", "STOPPING")]
