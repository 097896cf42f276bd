"""Tells extensions of the events that they observe, and of the start and the end of the session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from wire import frames
from wire.dialects.table import find_dialect
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.extension.extension import Extension
    from wire.dialects.base import HostInfo


class Observers:
    """The observers of one host. Each event that any of them gets has the id of the session, the working folder, and
    its number among all events of this host, whatever its sender has written there."""

    def __init__(self, extensions: Sequence[Extension], host: HostInfo) -> None:
        self.session_id = valid_text(host.session_id) or os.urandom(8).hex()
        self._extensions = extensions
        self._cwd = valid_text(host.cwd)
        self.on_switch: list[Callable[[str], None]] = []
        """Called with the id of the next session, between the end of the one and the start of the other."""
        self._sequence = 0
        self._has_begun = False

    def tell(self, event: frames.Event) -> None:
        """Sends an event to all extensions that observe it. They get events in the order of the calls."""
        self._sequence += 1
        stamped = None
        for extension in self._extensions:
            if event.event in extension.observes:
                stamped = stamped or self._stamp(event)
                extension.tell(stamped, everyone=event.event == "session_end")  # all workers got session_start

    def _stamp(self, event: frames.Event) -> frames.Event:
        return replace(event, session_id=self.session_id, cwd=self._cwd, sequence=self._sequence)

    def begin_session(self) -> None:
        """Sends `session_start` to the extensions that observe it, also to those that subscribe to it later."""
        self._has_begun = True
        for extension in self._extensions:
            self.tell_start(extension)

    def tell_start(self, extension: Extension) -> None:
        """Sends `session_start` to each worker that is up and has not got it yet. Does nothing before
        `begin_session`."""
        if self._has_begun and "session_start" in extension.observes:
            for worker in extension.workers:
                if worker.state.is_up and not worker.knows_session:
                    worker.knows_session = True
                    self._sequence += 1
                    worker.requests.tell(self._stamp(frames.Event("session_start")))

    def switch_session(self, session_id: str) -> None:
        """Ends the session for its observers and begins another one. Extensions that restart with the session are not
        told of its end: their processes end with it."""
        if self._has_begun:
            self._sequence += 1
            ended = self._stamp(frames.Event("session_end", reason="session_switch"))
            for extension in self._extensions:
                dialect = find_dialect(extension.manifest.dialect)
                if "session_end" in extension.observes and not dialect.is_reloaded_with_session:
                    extension.tell(ended, everyone=True)
        self.session_id = valid_text(session_id)
        for callback in self.on_switch:
            callback(self.session_id)
        for extension in self._extensions:
            for worker in extension.workers:
                worker.knows_session = False
            self.tell_start(extension)

    def end_session(self, reason: frames.SessionEnd | None) -> None:
        """Sends `session_end`, once. Does nothing before `begin_session`."""
        if self._has_begun:
            self._has_begun = False
            self.tell(frames.Event("session_end", reason=reason))
