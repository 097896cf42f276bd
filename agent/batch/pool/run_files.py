"""The files of one attempt: its event stream and its standard error."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.batch.journal.errors import FolderError
from agent.batch.journal.own_files import IN_RUNS, open_own

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TAIL = 4096
"""Bytes of standard error that are read for the last lines."""
LINES = 5
LINE_LENGTH = 500
"""Characters."""


class RunFilesError(OSError):
    """A file in the folder of the batch cannot be written; the text names it."""


class RunFiles:
    """Open from the start of an attempt to its end. Events are written as whole lines, as they come: a killed batch
    leaves what was written so far, and a killed run leaves no half line."""

    def __init__(self, events: Path, stderr: Path) -> None:
        """Makes the folder. Raises `RunFilesError`."""
        self._events_path = events
        self._stderr_path = stderr
        self._rest = bytearray()
        self._events = self.stderr = -1
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        try:
            self._events = open_own(events, flags, own=IN_RUNS)
            self.stderr = open_own(stderr, flags | os.O_APPEND, own=IN_RUNS)
        except (OSError, FolderError) as error:
            self.close()
            reason = f"{error.filename or events}: {error.strerror}" if isinstance(error, OSError) else str(error)
            raise RunFilesError(reason) from None

    def write(self, chunk: bytes) -> Iterator[bytes]:
        """Writes the lines that the chunk completes and returns them, LF included. Raises `RunFilesError`."""
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._rest += chunk
            return iter(())
        whole = bytes(self._rest) + chunk[:end] if self._rest else chunk[:end]
        self._rest[:] = chunk[end:]
        try:
            view = memoryview(whole)
            while view:
                view = view[os.write(self._events, view) :]
        except OSError as error:
            raise RunFilesError(f"{self._events_path}: {error.strerror}") from None
        return iter(_lines(whole))

    def close_stderr(self) -> None:
        """The process has the descriptor."""
        if self.stderr >= 0:
            os.close(self.stderr)
            self.stderr = -1

    def last_words(self) -> list[str]:
        """The last lines of standard error."""
        try:
            with open(open_own(self._stderr_path, own=IN_RUNS), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
                text = file.read(TAIL).decode("utf-8", "replace")
        except (OSError, FolderError):
            return []
        lines = (line.strip() for line in text.splitlines())
        return [line[:LINE_LENGTH] for line in lines if line.strip("^~ ")][-LINES:]

    def close(self) -> None:
        if self._events >= 0:
            os.close(self._events)
            self._events = -1
        self.close_stderr()


def _lines(whole: bytes) -> list[bytes]:
    """Only LF ends a line."""
    return [line + b"\n" for line in whole.split(b"\n")[:-1]]
