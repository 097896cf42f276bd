"""Ends a run early: because of a signal, the timeout, or a reader of stdout that left."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire.exit_codes import Status


class Abort:
    """A request to end the run early; the first one counts. Its callbacks wake code that waits; they must not wait."""

    def __init__(self) -> None:
        self.requested = False
        self.status: Status | None = None
        self.reason = ""
        self.at_once = False
        """Whether the run kills its children without asking them to stop: after a second signal, or a defect."""
        self._callbacks: list[Callable[[str], None]] = []

    def is_requested(self) -> bool:
        return self.requested

    def on_request(self, callback: Callable[[str], None]) -> None:
        """Calls `callback` with the reason when the abort is requested; at once if it has been requested already."""
        self._callbacks.append(callback)
        if self.requested:
            callback(self.reason)

    def request(self, status: Status, reason: str) -> None:
        """Requests the abort and calls the callbacks. A second request does nothing."""
        if self.requested:
            return
        self.requested = True
        self.status = status
        self.reason = reason
        for callback in self._callbacks:
            callback(reason)
