"""The lines of a run's files: read as they grow, printed as they are, or shown to a person."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from wire.batch.outcome import Outcome

POLL_S = 0.2
"""Seconds between two reads of a file that grows."""
BLOCK = 64 * 1024
LINE_LIMIT = 16 << 20
"""Maximum part of a line in memory, in bytes."""


def lines_of(path: Path, is_over: Callable[[], bool]) -> Iterator[bytes]:
    """The lines of a file of a run, each with its LF if it has one; one that is too long comes in pieces. At its end
    they go on until `is_over`. Raises `FolderError`, `OSError`."""
    from agent.batch.journal.rundir_files import IN_RUNS, open_rundir_file

    rest = b""
    with open(open_rundir_file(path, depth=IN_RUNS), "rb") as file:
        while True:
            was_over = is_over()  # before the read, so that the last bytes are read, too
            while data := file.read(BLOCK):
                *whole, rest = (rest + data).split(b"\n")
                yield from (line + b"\n" for line in whole)
                if len(rest) > LINE_LIMIT:
                    yield rest
                    rest = b""
            if was_over:
                break
            sys.stdout.flush()
            time.sleep(POLL_S)
    if rest:
        yield rest


def print_raw(line: bytes) -> bool:
    """Prints the piece; on a terminal without control characters. Returns whether it is the last record of a run."""
    if sys.stdout.isatty():
        line = printable(line.decode("utf-8", "replace")).encode("utf-8", "replace")
    sys.stdout.buffer.write(line)
    return line.startswith(b'{"type":"done"')


class PersonLog:
    """Shows records to a person."""

    def __init__(self) -> None:
        from cli.run.run_view import RunPrinter

        self._view = RunPrinter()
        self._broken: list[str] = []
        self._view.on_broken = self._broken.append
        self._status = ""
        """In the last `result` record."""

    def begin(self, outcome: Outcome, *, is_first: bool) -> None:
        """Shows which attempt follows, and how it ended: its failed check first. Raises `OSError`."""
        title = printable(f"--- {outcome.id}: {outcome.status.value}, attempt {outcome.attempt}")
        self._view.title(title if is_first else f"\n{title}")
        self._view.outcome(outcome, "")
        self._raise_if_broken()

    def show(self, line: bytes) -> bool:
        """Shows the record of a line. Returns whether it is the last one of the run. Raises `OSError`."""
        import msgspec

        from wire import events

        try:
            record = events.decode(line)
        except msgspec.DecodeError:  # cut by a crash, or of a newer version
            return False
        if isinstance(record, events.Result):
            self._status = record.status
            self._view.costs(record)
        else:
            self._view.show(record)
        self._raise_if_broken()
        return isinstance(record, events.Done)

    def end(self, outcome: Outcome) -> None:
        """Shows how the attempt ended. Raises `OSError`."""
        self._view.outcome(outcome, self._status)
        self._raise_if_broken()

    def _raise_if_broken(self) -> None:
        if self._broken:
            raise BrokenPipeError if not self._broken[0] else OSError(self._broken[0])
