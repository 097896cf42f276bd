"""The events of one prompt, from the thread that reads them to the one that wants them."""

from __future__ import annotations

import threading
from collections import deque

from .errors import UnreadError
from .events import Done, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .errors import ZotError
    from .record import Event

UNREAD_LIMIT = 64 * 1024 * 1024
"""Bytes of events that may wait for the program. Beyond them the prompt is aborted."""


class PromptStream:
    """Events wait here until they are taken. `on_change` is called, in the reading thread, after each change."""

    def __init__(self) -> None:
        self.id = ""
        """The engine's id of the prompt; "" before it has answered."""
        self.result: Result | None = None
        self.is_over = False
        """The last event has come, or none will."""
        self.on_change: Callable[[], None] | None = None
        self._waiting: deque[Event] = deque()
        self._bytes = 0
        self._failure: ZotError | None = None
        self._changed = threading.Condition()

    def put(self, event: Event) -> bool:
        """Adds an event. Returns False once too much is unread: then the prompt is to be aborted."""
        with self._changed:
            if self._failure is not None:
                return True
            self._waiting.append(event)
            self._bytes += len(event.raw)
            if isinstance(event, Result):
                self.result = event
            if isinstance(event, Done):
                self.is_over = True
            is_too_much = self._bytes > UNREAD_LIMIT
            if is_too_much:
                self._fail(UnreadError(f"more than {UNREAD_LIMIT >> 20} MiB of events were left unread"))
            self._notify()
        return not is_too_much

    def fail(self, error: ZotError) -> None:
        """No event follows; `take` raises this error after those that wait."""
        with self._changed:
            if not self.is_over:
                self._fail(error)
                self.is_over = True
                self._notify()

    def _fail(self, error: ZotError) -> None:
        self._failure = error

    def _notify(self) -> None:
        self._changed.notify_all()
        if self.on_change is not None:
            self.on_change()

    def take(self, *, wait: bool = True) -> Event | None:
        """The next event. None at the end, or if none waits and `wait` is False. Raises the error that ended it."""
        with self._changed:
            while wait and not (self._waiting or self.is_over or self._failure):
                self._changed.wait()
            if self._waiting:
                event = self._waiting.popleft()
                self._bytes -= len(event.raw)
                return event
            if self._failure is not None:
                raise self._failure
            return None

    def wait_over(self) -> None:
        """Waits until no event follows; drops those that come."""
        while not self.is_over:
            self.take()
