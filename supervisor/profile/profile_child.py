"""Has a child make a profile for a loop, and kills it if it takes too long."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.environment import child_environment
from supervisor.process.child import Child
from supervisor.process.exit_cause import StderrTail
from supervisor.profile.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus
    from supervisor.profile.outcome import ProfileOrder

PROGRAM = (sys.executable, "-P", str(Path(__file__).with_name("profile_main.py")))
END_S = 4.0
"""Seconds from SIGTERM until the child is killed: it closes an inspector meanwhile."""
OUTPUT_LIMIT = 1 << 20


class ProfileChild:
    """A profile in the making. `marks` are further variables of its environment. `on_outcome` is called once: with the
    outcome of the child, or after `within_s` seconds with an error. Raises `SpawnError`."""

    def __init__(
        self,
        loop: Loop,
        order: ProfileOrder,
        marks: Mapping[str, str],
        *,
        within_s: float,
        on_outcome: Callable[[Outcome], None],
    ) -> None:
        self._loop = loop
        self._on_outcome: Callable[[Outcome], None] | None = on_outcome
        self._output = bytearray()
        self._stderr = StderrTail()
        self.child = Child(
            loop,
            [*PROGRAM, msgspec.json.encode(order).decode()],
            cwd="/",
            env={**child_environment(), **marks},
            on_stdout=self._on_stdout,
            on_stderr=self._stderr.write,
            on_exit=self._on_exit,
            stdin=False,
        )
        self._timer = loop.call_later(within_s, lambda: self.stop(f"it was not made within {within_s:g} s"))

    def ask_to_stop(self) -> None:
        self.stop("the host stops")

    def hint_to_stop(self) -> None:
        pass  # it has no input

    def stop(self, why: str) -> None:
        """Ends the child; the outcome is an error with this reason. Does nothing if it has ended."""
        self._tell(Outcome(error=why))
        self.child.kill_group(signal.SIGTERM)
        self._timer.cancel()
        self._timer = self._loop.call_later(END_S, lambda: self.child.kill_group(signal.SIGKILL))

    def _on_stdout(self, data: bytes) -> None:
        if len(self._output) < OUTPUT_LIMIT:
            self._output += data

    def _on_exit(self, status: ExitStatus) -> None:
        self._timer.cancel()
        try:
            self._tell(msgspec.json.decode(self._output, type=Outcome))
        except msgspec.MsgspecError:
            said = " ".join(self._stderr.shown(3))
            self._tell(Outcome(error=f"the profiler ended ({status}) {said}".rstrip()))

    def _tell(self, outcome: Outcome) -> None:
        on_outcome, self._on_outcome = self._on_outcome, None
        if on_outcome is not None:
            on_outcome(outcome)
