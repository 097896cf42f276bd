"""The events of one prompt, or of a compaction."""

from __future__ import annotations

from ..errors import RefusedError, UnreadError
from ..events import CompactDone, Done, Error, Result, TurnEnd
from .inbox import Inbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..events import AnyEvent

UNREAD_LIMIT = 64 * 1024 * 1024
"""Maximum size in bytes of the events that wait for the program. With more, the prompt is aborted."""


class PromptStream(Inbox):
    """The events, until the program takes them."""

    def __init__(self) -> None:
        super().__init__()
        self.id = ""
        """The engine's id of the prompt; "" before its answer."""
        self.result: Result | None = None
        self.is_cancelled = False
        """Whether it was aborted: it ends soon, and another prompt may be sent."""
        self._is_left = False
        self._bytes = 0

    def put(self, event: AnyEvent) -> bool:
        """Adds an event. Returns False once, when too much is unread: then the caller aborts the prompt."""
        is_too_much = False
        with self._changed:
            if isinstance(event, Result):
                self.result = event
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

    def leave(self) -> None:
        """Drops all later events: the program takes no more. Takes no lock, for finalizers."""
        self._is_left = True

    def drop(self) -> None:
        """Drops waiting and later events."""
        self.leave()
        with self._changed:
            self._drop()

    def wait_over(self) -> None:
        """Waits until no more events follow."""
        with self._changed:
            while not self.is_over:
                self._changed.wait()

    def on_over(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once, when no more events follow."""
        with self._changed:
            if not self.is_over:
                self._callbacks.append(lambda: self.on_over(callback))
                return
        callback()

    def _next(self) -> AnyEvent:
        event: AnyEvent = super()._next()
        self._bytes -= len(event.raw)
        return event

    def _drop(self) -> None:
        self._waiting.clear()
        self._bytes = 0


class Summary:
    """Adds up the events of one compaction."""

    def __init__(self) -> None:
        self._summary: str | None = None
        self._reason = "the compaction has ended without a summary"

    def add(self, event: AnyEvent) -> None:
        match event:
            case Error(message):
                self._reason = message
            case TurnEnd(stop="aborted"):
                self._reason = event.error or "aborted"
            case CompactDone(summary):
                self._summary = summary
            case _:
                return

    def text(self) -> str:
        """Returns the summary. Raises `RefusedError` with the reason if it is missing."""
        if self._summary is None:
            raise RefusedError(self._reason)
        return self._summary
