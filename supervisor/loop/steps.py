"""Carries out long work in short steps, between which the loop serves descriptors, timers and signals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.loop.loop import Loop

PASS_S = 0.02
"""Seconds of work in one pass, and the rest of a step."""


class Steps:
    """Takes the steps of an iterator in passes of the loop, as many in each as `PASS_S` allows, from the next pass on.
    A step that raises ends the work, and the pass raises the error."""

    def __init__(self, loop: Loop, steps: Iterator[object]) -> None:
        self._loop = loop
        self._steps = steps
        self._are_done = False
        loop.call_later(0, self._go_on)

    def _go_on(self) -> None:
        self._are_done = True
        until = self._loop.clock() + PASS_S
        for _ in self._steps:
            if self._loop.clock() >= until:
                self._are_done = False
                self._loop.call_later(0, self._go_on)
                return

    def are_done(self) -> bool:
        return self._are_done


def run_in_steps(loop: Loop, steps: Iterator[object]) -> None:
    """Waits until all steps are done; callbacks must not call it. Raises what a step raises."""
    loop.run_until(Steps(loop, steps).are_done)
