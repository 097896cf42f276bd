"""The batch's own log, `RUNDIR/batch.log`: what a person needs afterwards, as JSON lines.

Of `agent` only this module imports structlog.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agent.batch.journal.errors import FolderError
from agent.batch.journal.rundir_files import open_rundir_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class BatchLog:
    """Appends to the file from `open` to `close`. A line that cannot be written is lost: the journal has what counts;
    `trouble` has the reason."""

    def __init__(self, path: Path) -> None:
        self.trouble = ""
        self._path = path
        self._fd = -1
        self._logger: Any = None

    def open(self) -> None:
        import structlog

        try:
            self._fd = open_rundir_file(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except (OSError, FolderError) as error:
            self.trouble = f"{self._path}: {error.strerror}" if isinstance(error, OSError) else str(error)
            return
        self._logger = structlog.wrap_logger(
            _Sink(self),
            processors=[_with_time, structlog.processors.add_log_level, structlog.processors.JSONRenderer()],
            wrapper_class=structlog.BoundLogger,
            context_class=dict,
        )

    def info(self, event: str, **fields: Any) -> None:
        if self._logger is not None:
            self._logger.info(event, **fields)

    def warning(self, event: str, **fields: Any) -> None:
        if self._logger is not None:
            self._logger.warning(event, **fields)

    def error(self, event: str, **fields: Any) -> None:
        if self._logger is not None:
            self._logger.error(event, **fields)

    def write(self, line: str) -> None:
        try:
            os.write(self._fd, line.encode("utf-8", "replace") + b"\n")
        except OSError as error:
            self.trouble = self.trouble or f"{self._path}: {error.strerror}"

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._logger = None


class BatchNotices:
    """Tells the user of news about the batch, and logs them. With `is_quiet` advice is logged only."""

    def __init__(self, say: Callable[[str], None], log: BatchLog, *, is_quiet: bool) -> None:
        self._say = say
        self._log = log
        self._is_quiet = is_quiet

    def notice(self, line: str) -> None:
        self._say(f"zot batch: {line}")
        self._log.warning("notice", message=line)

    def advise(self, line: str) -> None:
        if self._is_quiet:
            self._log.warning("notice", message=line)
        else:
            self.notice(line)


class _Sink:
    """A logger for structlog, which writes to a `BatchLog`."""

    def __init__(self, log: BatchLog) -> None:
        self.info = self.warning = self.error = log.write


def _with_time(_logger: Any, _method: str, event: Any) -> Any:
    return {"time": utc_now(), **event}


def utc_now() -> str:
    """The time as a batch writes it: RFC 3339, in UTC, with milliseconds."""
    return _text(datetime.now(UTC))


def utc_text(seconds: float) -> str:
    """A time in seconds since 1970, as a batch writes it."""
    return _text(datetime.fromtimestamp(seconds, UTC))


def _text(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
