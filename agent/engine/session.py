"""The session of an engine: its conversation, and the file for it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from agent.run import cost
from agent.run.conversation import Conversation
from agent.sessions.choice import open_session
from agent.sessions.file import SessionFile, append_summary
from agent.sessions.load import SessionError, load
from agent.sessions.remove import prune
from agent.sessions.rows import Meta
from agent.transcript import now
from wire import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from agent.options import Options
    from agent.run.limits import Spending
    from agent.sessions.choice import OpenedSession
    from agent.sessions.load import LoadedSession
    from agent.transcript import Message
    from wire.frames import SessionSource


class EngineSession:
    """The conversation, in a file if sessions are kept. `say` gets lines for the user."""

    def __init__(
        self,
        options: Options,
        *,
        provider_name: str,
        version: str,
        spending: Spending,
        say: Callable[[str], None],
        opened: OpenedSession | None,
    ) -> None:
        """Resumes `opened`; with None, begins a conversation, in a new file if the options keep sessions."""
        self._home = options.home
        self._cwd = options.cwd
        self._version = version
        self._provider_name = provider_name
        self._model = options.model
        self._say = say
        self._name = _new_name()
        self.began_at = datetime.now(UTC).isoformat()
        """When this process began or resumed the session."""
        self.on_leave: Callable[[Callable[[str], None], SessionSource], None] = lambda _keep, _then: None
        """Called before another session replaces this one, with two values: a function that writes a summary to this
        session, also later; and how the next session begins."""
        self.on_begun: Callable[[str], None] = lambda _id: None
        """Called with the new id once another session has replaced this one."""
        self.conversation = Conversation(spending=spending)
        self.resumed: int | msgspec.UnsetType = msgspec.UNSET
        """The number of messages that the run began with, if it resumes a session."""
        if opened is not None:
            self._go_on(opened)
            self.resumed = len(opened.loaded.messages)
        elif options.keep_session:
            self.conversation.begin(self._new_file())

    @property
    def id(self) -> str:
        """The id of the session's file; without a file, one that no other session has."""
        return self.conversation.id or self._name

    def record(self, extensions: Iterable[str], reasoning: str | None) -> events.Session:
        """The first record of a run with these extensions and this level of reasoning."""
        return events.Session(
            schema_version=events.SCHEMA_VERSION,
            zot_version=self._version,
            id=self.id,
            provider=self._provider_name,
            model=self._model,
            cwd=self._cwd,
            extensions=tuple(extensions),
            time=now(),
            resumed=self.resumed,
            reasoning=msgspec.UNSET if reasoning is None else reasoning,
        )

    def tidy(self) -> None:
        """Removes empty session files that other runs have left, if sessions are kept."""
        if self.conversation.path is not None:
            prune(self._home, self._cwd)

    def set_model(self, model: str) -> None:
        """Notes the model of the next requests."""
        self._model = model
        self.conversation.model(self._provider_name, model)

    def begin(self, messages: Sequence[Message] = ()) -> None:
        """Begins a new conversation with these messages. If sessions are kept, it gets its own file, where the use of
        the model starts at 0, and the file of the old conversation stays; without files the use of the model goes
        on."""
        self._leave("new")
        if self.conversation.path is None:
            self._name = _new_name()
            self.conversation.replace(messages)
        else:
            self.conversation.begin(self._new_file(), usage=cost.NOTHING)
            for message in messages:
                self.conversation.append(message)
        self.on_begun(self.id)

    def resume(self, path: Path, *, fork: bool = False) -> LoadedSession:
        """Continues the session at `path`, or with `fork` a copy of it, and keeps its transcript, even if none was kept
        before. The model stays. Raises `SessionError`, or `SessionBusyError` if another run writes to the session; the
        conversation is then unchanged."""
        if path == self.conversation.path and not fork:
            return load(path)
        opened = open_session(path, home=self._home, cwd=self._cwd, fork=fork)
        for line in opened.remarks(self._cwd):
            self._say(line)
        self._leave("resume")
        self._go_on(opened)
        self.on_begun(self.id)
        return opened.loaded

    def _leave(self, then: SessionSource) -> None:
        self.began_at = datetime.now(UTC).isoformat()
        path = self.conversation.path if self.conversation.is_on_disk else None

        def keep(summary: str) -> None:
            if path is not None:
                try:
                    append_summary(path, summary)
                except SessionError as error:
                    self._say(f"the summary of a session is not kept: {error}")

        self.on_leave(keep, then)

    def _go_on(self, session: OpenedSession) -> None:
        file, loaded = session.file, session.loaded
        file.begun_by(self._version)
        file.on_error = self._say
        file.model(self._provider_name, self._model)
        self.conversation.go_on(file, loaded)

    def _new_file(self) -> SessionFile:
        meta = Meta(cwd=self._cwd, provider=self._provider_name, model=self._model, version=self._version)
        file = SessionFile.new(self._home, meta)
        file.on_error = self._say
        return file


def _new_name() -> str:
    return os.urandom(8).hex()
