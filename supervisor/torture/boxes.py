"""Keeps the black boxes of faults that did not hold, as runs keep those of their extensions: under `$ZOT_HOME/runs`.

They have contents: their questions are made up, and the secrets of the environment are masked.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from supervisor.accounting.fall import Fall
from supervisor.traces.black_box_file import make_box, make_masking, write_box
from supervisor.traces.places import TRACE, new_id, runs_folder

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.harness.recorded_process import RecordedProcess
    from supervisor.home.config import Config


class Boxes:
    """The black boxes of one torture. `version` is that of zot."""

    def __init__(self, home: Path, config: Config, version: str) -> None:
        self._folder = runs_folder(home)
        self._id = new_id(time.time(), os.getpid())
        self._version = version
        self._masking = make_masking(config)
        self._last = 0
        self.trouble = ""
        """Why black boxes are missing; empty if none is."""

    def keep(self, fault: str, process: RecordedProcess, *, has_ended: bool, now: float) -> Path | None:
        """Writes the last frames of a process, at the time `now` of the loop's clock; None if that fails. `has_ended`:
        it had ended before the trial was closed."""
        fall = Fall("crashed" if has_ended else "hung", f"the fault {fault}", process.pid)
        text = make_box(
            process.found, process, fall, run=self._id, version=self._version, now=now, masking=self._masking,
            form="full",
        )  # fmt: skip
        trace = self._folder / f"{self._id}{TRACE}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            written = write_box(trace, process.found.manifest.name, text, self._last + 1)
        except OSError as error:
            self.trouble = f"{error.filename or self._folder}: {error.strerror}"
            return None
        if written is None:
            return None
        path, self._last = written
        return path
