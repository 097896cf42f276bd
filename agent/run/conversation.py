"""The conversation that prompts of an engine share: transcript, use of the model, and the session file with both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.run import auto_compaction, cost
from agent.run.auto_compaction import Fill
from agent.run.limits import Spending
from agent.sessions.repair import repair_messages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agent.sessions.file import SessionFile
    from agent.sessions.load import LoadedSession
    from agent.transcript import Message
    from wire.events import Totals


class Conversation:
    """The messages so far. With `session`, each is on disk before the run goes on."""

    def __init__(self, session: SessionFile | None = None, spending: Spending | None = None) -> None:
        self._session = session
        self.spending = Spending() if spending is None else spending
        """The use by this process only."""
        self.transcript: list[Message] = []
        self.usage = cost.NOTHING
        """The use of the whole session, earlier runs included."""
        self.fill = Fill()
        self.name = ""
        """The name of the session; "" if it has none."""
        self._unwritten: Sequence[Message] = ()
        """The last messages so far that are written to the file only with the next message."""

    @property
    def id(self) -> str:
        """The session's id; "" without a file."""
        return "" if self._session is None else self._session.id

    @property
    def path(self) -> Path | None:
        """The path of the file, which the first message creates; None without a file."""
        return None if self._session is None else self._session.path

    @property
    def is_on_disk(self) -> bool:
        """Whether the file exists and has the whole conversation."""
        return self._session is not None and self._session.is_on_disk

    def settle(self) -> None:
        """Creates the file of a copy now; else its first message does. Raises `SessionError`."""
        if self._session is not None:
            self._session.settle()

    def begin(self, session: SessionFile, usage: Totals | None = None) -> None:
        """Begins a new conversation and closes the file of the old one. Without `usage`, the use so far goes on."""
        if self._session is not None:
            self._session.close()
        self._session = session
        self.name = ""
        self.transcript = []
        self.usage = self.usage if usage is None else usage
        self.fill = Fill()
        self._unwritten = ()

    def go_on(self, session: SessionFile, loaded: LoadedSession) -> None:
        """Resumes the conversation of `session` and closes the file of the old one. Results that a repair added at its
        end are written before the next message; until then the file stays as it is."""
        self.begin(session, loaded.usage)
        self.name = loaded.name
        self.transcript = list(loaded.messages)
        self.fill = auto_compaction.fill_of_session(loaded.measured, self.transcript)
        self._unwritten = loaded.unwritten

    def model(self, provider: str, model: str) -> None:
        """Notes in the file the model of the requests from now on."""
        if self._session is not None:
            self._session.model(provider, model)

    def repair(self) -> int:
        """Makes the transcript one that the model's API takes, at the start of a prompt, and the file with it. Returns
        the number of messages that were changed, added or left out."""
        messages, changes = repair_messages(self.transcript)
        if not changes:
            return 0
        before, self.transcript = self.transcript, messages
        self.fill = Fill()
        if self._session is not None:
            if messages[: len(before)] == before:
                self._write_the_end()
                for message in messages[len(before) :]:
                    self._session.message(message)
            else:
                self._unwritten = ()
                self._session.compaction(messages)
        return changes

    def append(self, message: Message) -> None:
        self.transcript.append(message)
        if self._session is not None:
            self._write_the_end()
            self._session.message(message)

    def _write_the_end(self) -> None:
        assert self._session is not None
        unwritten, self._unwritten = self._unwritten, ()
        for message in unwritten:
            self._session.message(message)

    def replace(self, messages: Sequence[Message]) -> None:
        """Replaces all messages by these. The use of the model stays. Only without a file: with one, `begin` starts
        another file."""
        assert self._session is None
        self.name = ""
        self.transcript = list(messages)
        self.fill = Fill()

    def compact(self, messages: Sequence[Message]) -> None:
        """Replaces all messages by these; the first one is a summary. The file keeps the old messages, too: its
        conversation is whole."""
        self.transcript = list(messages)
        self.fill = Fill(compacted=len(self.transcript))
        self._unwritten = ()
        if self._session is not None:
            self._session.compaction(messages)

    def take_back(self, count: int) -> None:
        """Drops the messages after the first `count`. The file keeps them."""
        if len(self.transcript) > count:
            self.compact(self.transcript[:count])
            self.fill = Fill()

    def summarize(self, summary: str) -> None:
        """Keeps a summary with the session, for people. The model does not see it."""
        if self._session is not None:
            self._session.summary(summary)

    def rename(self, name: str) -> None:
        """Names the session."""
        self.name = name
        if self._session is not None:
            self._session.rename(name)

    def measure(self, usage: Mapping[str, int]) -> None:
        """Notes the provider's counts for a request and its reply, which is the last message."""
        self.fill = auto_compaction.fill_after_reply(usage, len(self.transcript))

    def add_usage(self, reply: Totals, model: str = "", seconds: float = 0.0) -> Totals:
        """Adds the use and the seconds of a reply of this model. Returns the sum of all replies."""
        self.spending.add(reply, model, seconds)
        self.usage = cost.add(self.usage, reply)
        if self._session is not None:
            self._session.usage(self.usage)
        return self.usage

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
