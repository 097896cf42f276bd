"""The answer to a request, or another event that comes once: threads wait for it, or callbacks are called."""

from __future__ import annotations

import threading

from ..errors import ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..errors import ZotError

ANSWER_S = 60.0
"""Seconds to wait for an answer that the other side sends at once."""


class PendingAnswer:
    """The answer to a request of this kind, when it comes."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.id = ""
        """The id of the request, or ""."""
        self._data: dict[str, Any] = {}
        self._error: ZotError | None = None
        self._come = threading.Event()
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.RLock()

    def give(self, data: dict[str, Any] | None = None, error: ZotError | None = None) -> None:
        """Sets the data, or the error. Only the first call counts."""
        with self._lock:
            if self._come.is_set():
                return
            self._data, self._error = data or {}, error
            self._come.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    @property
    def is_come(self) -> bool:
        return self._come.is_set()

    def on_come(self, callback: Callable[[], None]) -> None:
        """Calls `callback` when the answer has come, mostly in another thread; at once if it is there."""
        with self._lock:
            if not self._come.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def read(self) -> dict[str, Any]:
        """Returns the data of the answer that has come. Raises its error."""
        if self._error is not None:
            raise self._error.with_traceback(None)
        return self._data

    def wait(self, timeout_s: float | None) -> dict[str, Any]:
        """Waits for the data and returns them. Raises its error, and `ProtocolError` if it does not come in time."""
        if not self._come.wait(timeout_s):
            raise self.late(timeout_s)
        return self.read()

    def late(self, timeout_s: float | None) -> ProtocolError:
        """Returns the exception for a wait that was too long."""
        return ProtocolError(f"{self.kind} has not been answered for {timeout_s or 0:g} s")
