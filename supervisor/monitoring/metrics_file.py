"""Writes the metrics of a host into a file, which is replaced as a whole: `--metrics FILE`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.home.safe_files import replacement
from supervisor.monitoring.metrics import pieces, render
from supervisor.monitoring.rotated_file import StatsFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from supervisor.loop.loop import Loop, Timer
    from wire.stats import Stats

MODE = 0o644
"""Mode of the file, with any umask: the collector is usually another user."""
BETWEEN_PIECES_S = 0.005
"""Seconds between two pieces, for the host's other work."""


class MetricsFile:
    """A file that is replaced by each write, so that a collector sees either the whole old file or the whole new one.
    `on_error` gets a line for the user. Raises `StatsFileError` if the file cannot be written the first time."""

    def __init__(
        self, loop: Loop, path: Path, first: Stats, *, openmetrics: bool, on_error: Callable[[str], None]
    ) -> None:
        self._loop = loop
        self._path = path
        self._openmetrics = openmetrics
        self._on_error = on_error
        self._pieces: Iterator[bytes] = iter(())
        self._made: list[bytes] = []
        self._spent_s = 0.0
        self._timer: Timer | None = None
        self.cost_s = 0.0
        """Processor seconds of the last whole write."""
        try:
            self._replace(render(first, openmetrics=openmetrics))
        except OSError as error:
            raise StatsFileError(f"--metrics {path}: {error.strerror}") from None

    @property
    def is_busy(self) -> bool:
        """Whether a write is under way."""
        return self._timer is not None

    def begin(self, stats: Stats) -> None:
        """Begins to write these figures; does nothing while a write is under way."""
        if not self.is_busy:
            self._pieces = pieces((stats,), openmetrics=self._openmetrics)
            self._made = []
            self._spent_s = 0.0
            self._make_piece()

    def write(self, stats: Stats) -> None:
        """Writes these figures now, and cancels a write that is under way."""
        self._cancel()
        self._put(render(stats, openmetrics=self._openmetrics))

    def _make_piece(self) -> None:
        began = time.process_time()
        self._timer = None
        piece = next(self._pieces, None)
        if piece is None:
            self._put(b"".join(self._made))
            self.cost_s = self._spent_s + time.process_time() - began
            return
        self._made.append(piece)
        self._spent_s += time.process_time() - began
        self._timer = self._loop.call_later(BETWEEN_PIECES_S, self._make_piece)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _put(self, text: bytes) -> None:
        try:
            self._replace(text)
        except OSError as error:
            self._on_error(f"cannot write {self._path}: {error.strerror}")

    def _replace(self, text: bytes) -> None:
        """Renames a new file to the path. A symlink stays and leads to the new file. Raises `OSError`, also for a
        device or a pipe, which must not be replaced."""
        path = Path(os.path.realpath(self._path))
        if path.exists() and not path.is_file():
            raise OSError(0, "not a regular file, and metrics are written by replacing the file")
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
        with replacement(path, is_durable=False, sibling=unfinished) as file:
            os.fchmod(file.fileno(), MODE)
            file.write(text)
