"""The steps of a trial, and the two ways in which one ends early. Pure."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from supervisor.harness.recorded_process import RecordedProcess


class Wait(NamedTuple):
    """The trial of a fault goes on when `is_over` holds, or after `seconds`."""

    is_over: Callable[[], bool]
    seconds: float


Steps = Generator[Wait, bool, None]
"""The steps of a trial. Each wait gives back whether it ended in time."""


class NotHeldError(Exception):
    """The extension does not do what a good one does; the text says in plain words what it does. `process` is the one
    that does it; None for the last one of the trial."""

    def __init__(self, text: str, process: RecordedProcess | None = None) -> None:
        super().__init__(text)
        self.process = process


class NotApplicableError(Exception):
    """The fault cannot be provoked with this extension; the text says why."""
