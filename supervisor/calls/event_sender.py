"""Sends events to the extensions that observe them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire import frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.extension.extension import Extension
    from wire.frames import SessionEnd


class EventSender:
    """Sends the events of one host. `session_start` goes to each worker once."""

    def __init__(self, extensions: Sequence[Extension]) -> None:
        self._extensions = extensions
        self._session_begun = False

    def send(self, event: frames.Event) -> None:
        """Sends an event to all extensions that observe it. They get events in the order of the calls."""
        for extension in self._extensions:
            if event.event in extension.observes:
                extension.tell(event, everyone=event.event == "session_end")  # all workers got session_start

    def begin_session(self) -> None:
        """Sends `session_start` to the extensions that observe it, also to those that subscribe to it later."""
        self._session_begun = True
        for extension in self._extensions:
            self.send_session_start(extension)

    def send_session_start(self, extension: Extension) -> None:
        """Sends `session_start` to each worker that is up and has not got it yet. Does nothing before
        `begin_session`."""
        if self._session_begun and "session_start" in extension.observes:
            for worker in extension.workers:
                if worker.state.is_up and not worker.knows_session:
                    worker.knows_session = True
                    worker.requests.tell(frames.Event("session_start"))

    def end_session(self, reason: SessionEnd | None = None) -> None:
        """Sends `session_end` if the session has begun."""
        if self._session_begun:
            self.send(frames.Event("session_end", reason=reason))
