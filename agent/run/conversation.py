"""The conversation that prompts of an engine share: transcript, use of the model, and the file that keeps both."""

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
        """Without what an earlier process has used."""
        self.transcript: list[Message] = []
        self.usage = cost.NOTHING
        """Of the whole session, what was before this run included."""
        self.fill = Fill()
        self.name = ""
        """The name of the session; "" if it has none."""
        self._unwritten: Sequence[Message] = ()
        """The last messages so far, if the file has them only with the next one."""

    @property
    def id(self) -> str:
        """The session's id; "" without a file."""
        return "" if self._session is None else self._session.id

    @property
    def path(self) -> Path | None:
        """The file, which is not there before the first message; None without one."""
        return None if self._session is None else self._session.path

    @property
    def is_on_disk(self) -> bool:
        """Whether the file has all of the conversation: it is there, and could be written so far."""
        return self._session is not None and self._session.is_on_disk

    def settle(self) -> None:
        """Makes the file of a copy, which else its first message makes. Raises `SessionError`."""
        if self._session is not None:
            self._session.settle()

    def begin(self, session: SessionFile, usage: Totals | None = None) -> None:
        """A new conversation: the file of the one so far is closed. Without `usage`, that goes on."""
        if self._session is not None:
            self._session.close()
        self._session = session
        self.name = ""
        self.transcript = []
        self.usage = self.usage if usage is None else usage
        self.fill = Fill()
        self._unwritten = ()

    def go_on(self, session: SessionFile, loaded: LoadedSession) -> None:
        """The conversation that `session` has: the file of the one so far is closed. Results that were added at its end
        are written before the next message; until then the file stays as it is."""
        self.begin(session, loaded.usage)
        self.name = loaded.name
        self.transcript = list(loaded.messages)
        self.fill = auto_compaction.fill_of_session(loaded.measured, self.transcript)
        self._unwritten = loaded.unwritten

    def model(self, provider: str, model: str) -> None:
        """Notes in the file that another model is asked from now on."""
        if self._session is not None:
            self._session.model(provider, model)

    def repair(self) -> int:
        """Makes the transcript one that the model takes, as a prompt begins. The file then has the same. Returns how
        many messages were changed, added or left out."""
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
        """Takes these messages instead of those so far. The use of the model stays. Only without a file: with one,
        another file begins (`begin`)."""
        assert self._session is None
        self.name = ""
        self.transcript = list(messages)
        self.fill = Fill()

    def compact(self, messages: Sequence[Message]) -> None:
        """Takes these messages, the first of which is a summary, instead of those so far. A file keeps those, too:
        the conversation in it is whole."""
        self.transcript = list(messages)
        self.fill = Fill(compacted=len(self.transcript))
        self._unwritten = ()
        if self._session is not None:
            self._session.compaction(messages)

    def take_back(self, count: int) -> None:
        """Takes back the messages after the first `count`. A file keeps them, too."""
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
        """Notes what the provider counted for a request and its reply, which is the last message."""
        self.fill = auto_compaction.fill_after_reply(usage, len(self.transcript))

    def used(self, reply: Totals, model: str = "", seconds: float = 0.0) -> Totals:
        """Adds what a reply of this model has used, and how long it took. Returns the sum of all replies."""
        self.spending.add(reply, model, seconds)
        self.usage = cost.add(self.usage, reply)
        if self._session is not None:
            self._session.usage(self.usage)
        return self.usage

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
