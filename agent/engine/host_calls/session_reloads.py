"""Reloads extensions when another session replaces the engine's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.dialects.table import find_dialect

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.output.event_writer import EventWriter
    from agent.run.conversation import Conversation
    from supervisor.extension.extension import Extension
    from supervisor.reload.reloader import Reloader
    from supervisor.supervisor import Supervisor
    from wire.frames import SessionSource

    Leave = Callable[[Callable[[str], None], SessionSource], None]


class SessionReloads:
    """Begins these reloads, and lets a prompt wait for them."""

    def __init__(self, supervisor: Supervisor, reloader: Reloader, leave: Leave, conversation: Conversation) -> None:
        """`leave` asks the guards about the end of the old session."""
        self._supervisor = supervisor
        self._conversation = conversation
        self._ask = leave
        self._reloader = reloader
        self._open = 0
        self._left_at: float | None = None
        """When the last session was left; None if none was."""

    def leave(self, keep: Callable[[str], None], then: SessionSource) -> None:
        """Another session replaces this one: extensions whose dialect wants that are reloaded. Does not wait."""
        self._ask(keep, then)
        if self._patience_s() is None:
            return
        self._open += 1
        self._left_at = self._supervisor.loop.clock()
        self._reloader.reload_with_session(lambda _outcomes: self._end())

    def begun(self, session: str) -> None:
        """This session has begun in the place of the one that was left."""
        self.offer_again()
        self._supervisor.observers.switch_session(session)

    def offer_again(self) -> None:
        """The model is offered the deferred tools that results of the conversation have activated, and no others."""
        names = [name for message in self._conversation.transcript for name in message.added_tools]
        self._supervisor.registrations.begin_conversation(names)

    def wait(self, event_writer: EventWriter) -> None:
        """Waits until the extensions are ready or have failed, at most as long as a run waits at their start."""
        if self._open and (patience_s := self._patience_s()) is not None:
            event_writer.wait(lambda: not self._open, self._supervisor.loop.clock() + patience_s)

    def is_left(self, extension: Extension, since: float) -> bool:
        """Whether the extension's worker, started at `since`, belongs to an earlier session. A worker that could not be
        replaced belongs to the current one."""
        is_reloaded = find_dialect(extension.manifest.dialect).is_reloaded_with_session
        if self._left_at is None or since > self._left_at or not is_reloaded:
            return False
        return bool(self._open) or extension.lead.started_at > self._left_at

    def _end(self) -> None:
        self._open -= 1

    def _patience_s(self) -> float | None:
        """The longest wait in seconds; None if no extension is reloaded with the session."""
        dialects = [find_dialect(each.manifest.dialect) for each in self._supervisor.extensions]
        return max((each.settle_s for each in dialects if each.is_reloaded_with_session), default=None)
