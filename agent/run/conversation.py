"""What the prompts of an engine share: the transcript, the use of the model, and the file that keeps both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.run import auto_compaction, cost
from agent.run.auto_compaction import Fill
from agent.run.budget import Spending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent.sessions.file import SessionFile
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
        """Of all prompts together."""
        self.fill = Fill()

    @property
    def id(self) -> str:
        """The session's id; "" without a file."""
        return "" if self._session is None else self._session.id

    @property
    def error(self) -> str | None:
        """Why the file has not been written any further; None if it has, or if there is none."""
        return None if self._session is None else self._session.error

    def append(self, message: Message) -> None:
        self.transcript.append(message)
        if self._session is not None:
            self._session.message(message)

    def replace(self, messages: Sequence[Message]) -> None:
        """Takes these messages instead of those so far. The use of the model stays. Only without a file, which could
        not take them back."""
        assert self._session is None
        self.transcript = list(messages)
        self.fill = Fill()

    def compact(self, messages: Sequence[Message]) -> None:
        """Takes these messages, the first of which is a summary, instead of those so far. A file keeps those, too:
        the conversation in it is whole."""
        self.transcript = list(messages)
        self.fill = Fill(is_new=True)
        if self._session is not None:
            self._session.compaction(messages)

    def measure(self, usage: Mapping[str, int]) -> None:
        """Notes what the provider counted for a request and its reply, which is the last message."""
        self.fill = auto_compaction.counted(usage, len(self.transcript))

    def used(self, reply: Totals) -> Totals:
        """Adds what a reply has used. Returns the sum of all replies."""
        self.spending.add(reply)
        self.usage = cost.add(self.usage, reply)
        if self._session is not None:
            self._session.usage(self.usage)
        return self.usage

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
