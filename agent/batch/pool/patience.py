"""The next thing that a run must do by itself, and the time that it has for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop, Timer


class Patience:
    """At most one wait at a time."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._timer: Timer | None = None

    def wait(self, seconds: float, give_up: Callable[[], None]) -> None:
        """Calls `give_up` after these seconds, unless `end` is called first. Ends the wait before it."""
        self.end()
        self._timer = self._loop.call_later(seconds, give_up)

    def end(self) -> None:
        """Does nothing without a wait."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
