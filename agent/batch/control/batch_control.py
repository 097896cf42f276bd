"""The control of a running batch from outside: its socket, and the switch that keys and requests share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.batch.control.changes import BatchChanges
from agent.batch.control.requests import BatchRequests
from agent.batch.control.server import BatchControlServer
from supervisor.home.runtime_dir import BATCH_CONTROL_SUFFIX, socket_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent.batch.control.changes import BatchParts
    from agent.batch.journal.folder import RunFolder
    from agent.batch.request import BatchView
    from supervisor.loop.loop import Loop


class BatchControl:
    """From `open` to `close`."""

    def __init__(self, loop: Loop, runtime_folder: Path) -> None:
        self._loop = loop
        self._runtime_folder = runtime_folder
        self._changes: BatchChanges | None = None
        self._server: BatchControlServer | None = None

    @property
    def socket(self) -> str:
        """The path of the socket, also before it is made."""
        return str(socket_of(self._runtime_folder, os.getpid(), BATCH_CONTROL_SUFFIX))

    def open(self, parts: BatchParts, folder: RunFolder, version: str, view: Callable[[], BatchView]) -> str:
        """Makes the socket for `zot batch ctl`. Returns a line for the user if there can be none, else ""."""
        self._changes = BatchChanges(parts)
        requests = BatchRequests(parts, self._changes, folder, version, view)
        self._server = BatchControlServer(self._loop, self._runtime_folder, requests)
        trouble = self._server.start()
        return "" if trouble is None else f"{trouble}; zot batch ctl cannot reach this batch"

    def heed_keys(self) -> None:
        """Follows the switch that pauses the batch, if a key has moved it."""
        if self._changes is not None:
            self._changes.heed_keys()

    def close(self) -> None:
        """Disconnects all clients and removes the socket. A second call does nothing."""
        if self._server is not None:
            self._server.close()
