"""Signals to a running batch: each brings it one step further to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch import schedule

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable

    from agent.batch.attempts import Attempts
    from agent.batch.log import BatchLog
    from agent.batch.request import BatchControls


class BatchSignals:
    """Sets `controls`, and kills the runs at the last step."""

    def __init__(
        self, controls: BatchControls, attempts: Attempts, *, say: Callable[[str], None], log: BatchLog
    ) -> None:
        self.halt = schedule.Halt.NONE
        self._controls = controls
        self._attempts = attempts
        self._say = say
        self._log = log

    def take(self, number: signal.Signals) -> None:
        """A signal has come."""
        self.halt = halt = schedule.after_signal(self.halt, number)
        running = self._attempts.count
        self._log.warning("signal", signal=number.name, next=halt.name.lower())
        if halt is schedule.Halt.DRAIN:
            if running:
                self._say(f"zot batch: {number.name}: no new tasks start; {running} end first. Once more stops them")
            self._controls.is_draining = True
        elif halt is schedule.Halt.STOP:
            are = "task is" if running == 1 else "tasks are"
            self._say(f"zot batch: {number.name}: {running} running {are} stopped. Once more kills them")
            self._controls.is_stopping = True
        else:
            self._attempts.kill("the batch was killed")
