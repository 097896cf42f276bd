"""How many tokens the last request of a session had, worked out from the running totals in its file. Pure.

The difference of two rows of totals is one request only if it has one reply. This program writes the totals before the
reply; other writers write them after it, after the results of its calls, or once for several requests, which is of no
use here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.sessions.rows import TOKENS
from wire.events import Totals

if TYPE_CHECKING:
    from agent.transcript import Message

SEVERAL = 2
"""Replies, or an unknown number of them."""


class RequestTokens(msgspec.Struct, frozen=True):
    tokens: int
    """Tokens of a request and its reply, as the provider counted them."""
    messages: int
    """The number of messages of the request and its reply, from the first one of the conversation on."""


class TokenMeter:
    """Follows the rows of a file, in their order."""

    def __init__(self) -> None:
        self.last: RequestTokens | None = None
        """Of the last request that is known by itself, since the last compaction."""
        self._totals = Totals(0, 0, 0, 0)
        self._replies = 0
        """Since the last totals, without the one that these are of."""
        self._reply_at = 0
        """The number of messages with the last of these replies."""
        self._after = ""
        """The role of the last message."""
        self._due: int | None = None
        """The next message is the reply that the last totals are of, if the model says it: their tokens, or 0."""

    def message(self, message: Message, count: int) -> None:
        """`count`: the messages of the conversation, with this one."""
        due, self._due = self._due, None
        self._after = message.role
        if message.role != "assistant":
            return
        if due is None:
            self._replies, self._reply_at = self._replies + 1, count
        elif due:
            self.last = RequestTokens(due, count)

    def totals(self, totals: Totals) -> None:
        spent = {name: getattr(totals, name) - getattr(self._totals, name) for name in TOKENS}
        tokens = sum(spent.values()) if any(spent[name] for name in spent if name != "output") else 0
        replies = self._replies
        self._totals, self._replies, self._due = totals, 0, None
        if min(spent.values()) < 0:
            self.last, tokens = None, 0
        if self._after == "user" or (self._after == "tool" and not replies):
            self._due = 0 if replies else tokens
        elif replies == 1 and tokens:
            self.last = RequestTokens(tokens, self._reply_at)

    def compaction(self, role: str) -> None:
        """Other messages take the place of all before, the last one with this role; "" without messages."""
        self.last, self._after, self._due = None, role, None
        self._replies = SEVERAL if self._replies else 0

    def lost(self) -> None:
        """A row that cannot be read, which may have been a reply: the next difference counts for nothing."""
        self._replies, self._due = SEVERAL, None
