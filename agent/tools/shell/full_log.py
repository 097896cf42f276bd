"""Keeps the whole output of a command in a file when the result shows only its end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.tools.shell.output_window import OutputExtent
from supervisor.home.safe_files import write_all

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 64 << 20


class FullLog:
    """A file `zot-bash-<12 hex>.log` (0600) in `directory`, made when the output exceeds what a result shows.

    It holds the output from the first byte, up to `max_bytes` (64 MiB by default); its last line says how much more
    there was. zot's file of that name holds only what the result shows. An error of the disk does not fail the command:
    the file is removed, `path` is None and `error` says why. Nothing here deletes the files later.
    """

    def __init__(self, directory: Path, max_bytes: int = MAX_BYTES) -> None:
        self.path: Path | None = None
        """The path of the log; None before it is made."""
        self.error: OSError | None = None
        self._directory = directory
        self._max_bytes = max_bytes
        self._written = 0
        self._extent = OutputExtent()
        self._head = bytearray()
        self._descriptor: int | None = None

    def feed(self, chunk: bytes) -> None:
        """Takes the next chunk of the output. An error of the disk goes to `error`."""
        self._extent.add(chunk)
        if self.error:
            return
        try:
            if self._descriptor is None:
                self._head += chunk
                if not self._extent.exceeds_window:
                    return
                self._open()
                chunk = bytes(self._head)
                self._head.clear()
            self._append(chunk)
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Finish the file. Nothing may be fed afterwards; closing again does nothing."""
        self._head.clear()
        if self._descriptor is None:
            return
        try:
            if unwritten := self._extent.bytes - self._written:
                write_all(self._descriptor, f"\n... [log full; {unwritten} more bytes were not kept]\n".encode())
        except OSError as error:
            self._give_up(error)
            return
        os.close(self._descriptor)
        self._descriptor = None

    def _open(self) -> None:
        path = self._directory / f"zot-bash-{os.urandom(6).hex()}.log"
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self.path = path

    def _append(self, data: bytes) -> None:
        assert self._descriptor is not None
        data = data[: self._max_bytes - self._written]
        write_all(self._descriptor, data)
        self._written += len(data)

    def _give_up(self, error: OSError) -> None:
        self.error = error
        self._head.clear()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            self.path = None
