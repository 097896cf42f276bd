"""What a batch orders from a run, and whom a run tells what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

    from agent.batch.pool.run_outcome import Attempt
    from agent.batch.pool.run_process import RunProcess
    from wire.batch import link
    from wire.batch.outcome import Outcome


class RunOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be run, and within which limits."""

    attempt: Attempt
    begin: link.Begin
    events: Path
    stderr: Path
    timeout_s: float | None = None
    """Seconds of the whole attempt, without those in which it is paused."""
    memory: int | None = None
    """Bytes that its processes may have for themselves."""


class RunListener(Protocol):
    """Whom a run tells what happens. All methods are called from the loop."""

    def run_said(self, run: RunProcess, line: bytes) -> None:
        """A line of the event stream, LF included."""

    def run_asked(self, run: RunProcess, request: link.Request) -> None: ...
    def run_cancelled(self, run: RunProcess, cancel: link.Cancel) -> None: ...
    def run_has_no_files(self, run: RunProcess, reason: str) -> None:
        """The files of the run cannot be written. The run is aborted, or does not begin."""

    def run_ended(self, run: RunProcess, outcome: Outcome) -> None:
        """Once. No process of the run is left."""
