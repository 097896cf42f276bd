"""What is told of the stderr of a process that has ended: the cause of its crash, or else its last line."""

from __future__ import annotations

import os.path
import signal
from typing import TYPE_CHECKING

from supervisor.extension.crash_cause.find_cause import find_cause, last_said
from supervisor.process.stderr_tail import StderrTail

if TYPE_CHECKING:
    from supervisor.extension.crash_cause.find_cause import CrashCause

KILLED = frozenset({-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP})
"""Exit statuses of a program that others have ended: an error that it wrote before is not the cause."""

LINES_READ = 30
"""Most lines among which one is looked for that a launcher has not added."""


class LastWords:
    """The last words of one process. `str()` gives them as the end of a sentence; empty if there are none."""

    def __init__(self, folder: str) -> None:
        self.tail = StderrTail()
        self.cause: CrashCause | None = None
        """Why the program has crashed, as far as its stderr tells. Known once `ended` was called."""
        self._folder = folder

    def ended(self, code: int | None) -> None:
        """The process has ended with this exit status, or is given up, with None."""
        if code not in KILLED:
            self.cause = find_cause(self.tail.lines(), self._folder, os.path.realpath(self._folder))

    def __str__(self) -> str:
        if self.cause is not None:
            return f": {self.cause}"
        last = last_said(self.tail.shown(LINES_READ))
        return f': "{last}"' if last else ""
