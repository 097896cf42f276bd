"""`zot batch` as a child process. It reads nothing but its tasks, so signals tell it what to do."""

from __future__ import annotations

import signal

from ..connection.engine_process import EXIT_S, EngineProcess

KILL_RUNS_S = 8.0
"""Seconds from the signal that stops the runs to the one that kills them."""


class BatchProcess(EngineProcess):
    """Raises as `EngineProcess`. Its end is always at once: the runs are stopped, and run again another time."""

    _is_told = False
    """It was told to stop: one more signal would kill the runs."""

    def drain(self) -> None:
        """Starts no more tasks."""
        self.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """Stops the runs. A second call does nothing."""
        if not self._is_told:
            self._is_told = True
            self.send_signal(signal.SIGTERM)

    def end(self, *, at_once: bool = True) -> None:  # noqa: ARG002
        super().end(at_once=True)

    def _steps_from(self, first: float) -> list[tuple[float, signal.Signals | None]]:
        told: list[tuple[float, signal.Signals | None]] = [] if self._is_told else [(first, signal.SIGTERM)]
        self._is_told = True
        kill = first + KILL_RUNS_S
        return [*told, (kill, signal.SIGTERM), (kill + EXIT_S, signal.SIGKILL), (kill + 2 * EXIT_S, None)]
