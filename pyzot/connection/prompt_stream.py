"""The events of one prompt, from the thread that reads them to the one that wants them."""

from __future__ import annotations

import threading
from collections import deque

from ..errors import UnreadError
from ..events import Done, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..errors import ZotError
    from ..record import Event

UNREAD_LIMIT = 64 * 1024 * 1024
"""Bytes of events that may wait for the program. Beyond them the prompt is aborted."""


class PromptStream:
    """Events wait here until they are taken."""

    def __init__(self) -> None:
        self.id = ""
        """The engine's id of the prompt; "" before it has answered."""
        self.result: Result | None = None
        self.is_over = False
        """The last event has come, or none will."""
        self.is_cancelled = False
        """It was aborted: it ends soon, and another prompt may be sent."""
        self._is_left = False
        self._waiting: deque[Event] = deque()
        self._bytes = 0
        self._failure: ZotError | None = None
        self._changed = threading.Condition()
        self._callbacks: list[Callable[[], None]] = []

    # --- in the reading thread --------------------------------------------------------------------------------

    def put(self, event: Event) -> bool:
        """Adds an event. Returns False once, when too much is unread: then the prompt is to be aborted."""
        with self._changed:
            if isinstance(event, Result):
                self.result = event
            is_too_much = False
            if self._failure is None and not self._is_left:
                self._waiting.append(event)
                self._bytes += len(event.raw)
                if is_too_much := self._bytes > UNREAD_LIMIT:
                    self._failure = UnreadError(f"more than {UNREAD_LIMIT >> 20} MiB of events were left unread")
                    self._drop()
            if isinstance(event, Done):
                self.is_over = True
            callbacks = self._notify()
        for callback in callbacks:
            callback()
        return not is_too_much

    def fail(self, error: ZotError) -> None:
        """No event follows; `take` raises this error after those that wait."""
        with self._changed:
            if self.is_over:
                return
            self._failure = self._failure or error
            self.is_over = True
            callbacks = self._notify()
        for callback in callbacks:
            callback()

    def _notify(self) -> list[Callable[[], None]]:
        self._changed.notify_all()
        callbacks, self._callbacks = self._callbacks, []
        return callbacks

    def _drop(self) -> None:
        self._waiting.clear()
        self._bytes = 0

    # --- in the thread of the program -------------------------------------------------------------------------

    def take(self, *, wait: bool = True) -> Event | None:
        """The next event. None at the end, or if none waits and `wait` is False. Raises the error that ended it."""
        with self._changed:
            while wait and not self._is_ready:
                self._changed.wait()
            if self._waiting:
                event = self._waiting.popleft()
                self._bytes -= len(event.raw)
                return event
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

    def leave(self) -> None:
        """Nobody takes events any more: those that come are dropped. Takes no lock, for finalizers."""
        self._is_left = True

    def wait_over(self) -> None:
        """Waits until no event follows; drops those that come."""
        self.leave()
        with self._changed:
            self._drop()
            while not self.is_over:
                self._changed.wait()

    def on_over(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once, when no event follows, and drops those that come."""
        self.leave()
        with self._changed:
            self._drop()
        self._call_over(callback)

    def _call_over(self, callback: Callable[[], None]) -> None:
        with self._changed:
            if not self.is_over:
                self._callbacks.append(lambda: self._call_over(callback))
                return
        callback()

    @property
    def _is_ready(self) -> bool:
        return bool(self._waiting or self.is_over or self._failure)
