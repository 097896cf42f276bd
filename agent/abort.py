"""Ends a run early: because of a signal, the timeout, or a reader of stdout that left."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire.exit_codes import Status


class Abort:
    """Only the first request counts. The callbacks wake what waits; they must not wait themselves."""

    def __init__(self) -> None:
        self.status: Status | None = None
        self.reason = ""
        self.at_once = False
        """Whether children are killed without being asked to stop: a second signal came."""
        self._callbacks: list[Callable[[str], None]] = []

    @property
    def requested(self) -> bool:
        return self.status is not None

    def is_requested(self) -> bool:
        return self.status is not None

    def on_request(self, callback: Callable[[str], None]) -> None:
        """Calls back with the reason, at once if it has already been requested."""
        self._callbacks.append(callback)
        if self.requested:
            callback(self.reason)

    def request(self, status: Status, reason: str) -> None:
        if self.requested:
            return
        self.status = status
        self.reason = reason
        for callback in self._callbacks:
            callback(reason)
