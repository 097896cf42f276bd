"""Items that wait for the program: the reading thread puts them in, a thread of the program takes them out."""

from __future__ import annotations

import threading
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..errors import ZotError


class Inbox:
    """Items in the order of their arrival. The lock is never held during a call of the program's code."""

    def __init__(self) -> None:
        self.is_over = False
        """Whether no more items come."""
        self._waiting: deque[Any] = deque()
        self._failure: ZotError | None = None
        self._changed = threading.Condition()
        self._callbacks: list[Callable[[], None]] = []

    def fail(self, error: ZotError) -> None:
        """Ends the items; `take` raises this error after the waiting ones."""
        with self._changed:
            if self.is_over:
                return
            self._failure = self._failure or error
            self.is_over = True
            callbacks = self._notify()
        for callback in callbacks:
            callback()

    def finish(self) -> None:
        """Ends the items; `take` returns None after the waiting ones."""
        with self._changed:
            self.is_over = True
            callbacks = self._notify()
        for callback in callbacks:
            callback()

    def take(self, *, wait: bool = True) -> Any:
        """Returns the next item; None at the end, or without `wait` if no item waits. Raises the error that ended
        it."""
        with self._changed:
            while wait and not self._is_ready:
                self._changed.wait()
            if self._waiting:
                return self._next()
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            return None

    def on_ready(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once, when `take` need not wait: at once, or in the reading thread."""
        with self._changed:
            if not self._is_ready:
                self._callbacks.append(callback)
                return
        callback()

    @property
    def is_drained(self) -> bool:
        """Whether no item waits and no more come."""
        return self.is_over and not self._waiting  # in this order: no item is added once it is over

    @property
    def _is_ready(self) -> bool:
        return bool(self._waiting or self.is_over or self._failure)

    def _next(self) -> Any:
        return self._waiting.popleft()

    def _notify(self) -> list[Callable[[], None]]:
        """Wakes the threads that wait. Returns the callbacks, to be called without the lock."""
        self._changed.notify_all()
        callbacks, self._callbacks = self._callbacks, []
        return callbacks
